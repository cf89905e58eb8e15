"""Metal kernels from Python: checked, run, counted."""

import numpy as np
import pytest

import wootz
from wootz import softmetal

TWICE = """
#include <metal_stdlib>
using namespace metal;

kernel void twice(device float *x, constant uint &count, uint i [[thread_position_in_grid]]) {
    if (i < count) x[i] *= 2;
}

kernel void beyond(device float *x, uint i [[thread_position_in_grid]]) {
    x[i + 1] = 1;
}

kernel void shared_sum(const device float *x, device float *out, threadgroup float *space,
                       uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    space[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        float sum = 0;
        for (uint k = 0; k < n; ++k) sum += space[k];
        out[0] = sum;
    }
}

constant float factor [[function_constant(0)]];
kernel void scale(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= factor; }
"""


def test_running_leaves_the_given_arrays_and_returns_new_ones():
    x = np.array([1, 2, 3], np.float32)
    result = softmetal.run(TWICE, "twice", x, 3, grid=3)
    assert result.ok and result.reports == []
    np.testing.assert_array_equal(result["x"], [2, 4, 6])
    np.testing.assert_array_equal(x, [1, 2, 3])
    assert result.counters.threads == 3 and result.counters.device_bytes_written == 12
    assert result.seconds >= 0 and result.raise_for_error() is result


def test_the_checker_finds_what_a_gpu_would_not_say():
    result = softmetal.run(TWICE, "beyond", np.zeros(4, np.float32), grid=4)
    assert not result.ok
    (report,) = [each for each in result.reports if each.kind == "out_of_bounds"][:1]
    assert report.kernel == "beyond" and report.line == 10 and report.thread == (3, 0, 0)
    with pytest.raises(wootz.KernelError, match="bounds"):
        result.raise_for_error()


def test_threadgroup_memory_and_constants():
    x = np.arange(8, dtype=np.float32)
    result = softmetal.run(TWICE, "shared_sum", x, np.zeros(1, np.float32), groups=1, threads=8, threadgroup={0: 32})
    assert result["out"].tolist() == [28.0] and "x" not in result.outputs and result.counters.barriers == 1
    scaled = softmetal.run(TWICE, "scale", x=x, grid=8, constants={"factor": 3.0})
    np.testing.assert_array_equal(scaled["x"], x * 3)


def test_libraries_list_and_check_their_kernels(tmp_path):
    path = tmp_path / "kernels.metal"
    path.write_text(TWICE)
    library = softmetal.Device().library(path)
    assert set(library.functions) == {"twice", "beyond", "shared_sum", "scale"}
    bindings = library.bindings("twice")
    assert [b.name for b in bindings if b.kind != "builtin"] == ["x", "count"]
    assert softmetal.check(path, "twice").ok
    wrong = tmp_path / "wrong.metal"
    wrong.write_text("kernel void f(device float *x) { x[0] = nonsense; }")
    found = softmetal.check(wrong)
    assert not found.ok and "nonsense" in found.errors["f"]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: softmetal.run(TWICE, "none", x, grid=1),
        lambda x: softmetal.run(TWICE, "twice", x, grid=1),
        lambda x: softmetal.run(TWICE, "twice", x, 3, 4, grid=1),
        lambda x: softmetal.run(TWICE, "twice", x, 3),
        lambda x: softmetal.run(TWICE, "twice", x, -1, grid=1),
        lambda x: softmetal.run(TWICE, "twice", x, y=3, grid=1),
        lambda x: softmetal.run(TWICE, "twice", x, 3, grid=(1, 2, 3, 4)),
        lambda x: softmetal.run(TWICE, "scale", x, grid=1, constants={"factor": "text"}),
        lambda x: softmetal.Device(family="gameboy"),
        lambda x: softmetal.Device(time_limit=-1),
        lambda x: softmetal.run(3, "twice", x, grid=1),
    ],
)
def test_bad_input_is_an_exception_of_ours(call):
    with pytest.raises(wootz.Error):
        call(np.zeros(3, np.float32))


def test_source_that_does_not_compile_is_a_kernel_error():
    with pytest.raises(wootz.KernelError, match="program.metal"):
        softmetal.run("kernel void f(device float *x) { x[0] = nonsense; }", "f", np.zeros(1, np.float32), grid=1)


def test_the_fixture_runs_kernels_and_fails_on_findings(softmetal):
    assert softmetal(TWICE, "twice", np.ones(2, np.float32), 2, grid=2)["x"].tolist() == [2, 2]
    with pytest.raises(pytest.fail.Exception, match="bounds"):
        softmetal(TWICE, "beyond", np.zeros(2, np.float32), grid=2)

"""The compute API on every backend that this machine has: the usage scenarios, memory, coherence, bad input."""

import gc
import threading

import numpy as np
import pytest

import wootz
from wootz import compute
from wootz.compute import UnifiedBuffer

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32".split()

MSL_SCALE = """
#include <metal_stdlib>
using namespace metal;
kernel void scale(const device float *x [[buffer(0)]], const device float *factor [[buffer(1)]],
                  device float *out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    out[i] = x[i] * factor[0];
}
"""

WGSL_SCALE = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> factor: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&out)) { out[id.x] = x[id.x] * factor[0]; }
}
"""

SOURCES = {"msl": MSL_SCALE, "wgsl": WGSL_SCALE}


def test_basic_computation(backend):
    a = backend.copy_to_device(np.array([1, 2, 3], np.float32))
    b = backend.copy_to_device(np.array([4, 5, 6], np.float32))
    c = a + b
    assert c.device == backend.device
    np.testing.assert_array_equal(backend.copy_to_host(c), [5, 7, 9])
    backend.synchronize()


def test_prebuilt_kernels(backend):
    a = backend.copy_to_device(np.array([1, 2, 3], np.float32))
    b = backend.copy_to_device(np.array([4, 5, 6], np.float32))
    np.testing.assert_array_equal(backend.copy_to_host(compute.get_vector_add_kernel()(a, b)), [5, 7, 9])
    x = np.random.default_rng(1).normal(size=(20, 20)).astype(np.float32)
    product = compute.get_matrix_multiply_kernel()(backend.copy_to_device(x), backend.copy_to_device(x))
    np.testing.assert_allclose(backend.copy_to_host(product), x @ x, atol=1e-4)
    roots = compute.get_elementwise_kernel("sqrt")(backend.copy_to_device(np.array([1, 4, 9], np.float32)))
    np.testing.assert_allclose(backend.copy_to_host(roots), [1, 2, 3], rtol=1e-6)
    for name in "add sub mul div sqrt exp log sin cos abs square negative".split():
        assert compute.get_elementwise_kernel(name) is not None
    with pytest.raises(ValueError, match="transmogrify"):
        compute.get_elementwise_kernel("transmogrify")


def test_compiling_a_function(backend):
    traced = []

    def gaussian(x):
        traced.append(1)
        return wootz.exp(-wootz.square(x))

    kernel = backend.compile_kernel(gaussian)
    x = np.linspace(-3, 3, 100).astype(np.float32)
    for _ in range(3):
        result = kernel(x)
        assert result.device == backend.device
    assert len(traced) == 1
    np.testing.assert_allclose(backend.copy_to_host(result), np.exp(-(x**2)), rtol=1e-5, atol=1e-6)


def test_execution_with_timing_and_results(backend):
    def distance(a, b):
        return wootz.sqrt(wootz.square(a) + wootz.square(b)), a - b

    a, b = (np.random.default_rng(seed).normal(size=1000).astype(np.float32) for seed in (1, 2))
    result = backend.execute_kernel(distance, (1,), (1,), backend.copy_to_device(a), backend.copy_to_device(b))
    assert result.success and result.error is None and result.execution_time_ms > 0
    assert result.clock == ("host" if backend.device.last_run_seconds() is None else "device")
    assert backend.backend_type.value != "metal" or result.clock == "device"
    np.testing.assert_allclose(backend.copy_to_host(result.results[0]), np.hypot(a, b), rtol=1e-5)
    np.testing.assert_allclose(backend.copy_to_host(result.results[1]), a - b, rtol=1e-6, atol=1e-7)


def test_a_kernel_as_source(backend):
    if backend.language is None:
        with pytest.raises(wootz.KernelError):
            backend.compile_kernel(MSL_SCALE, "scale(float32, float32) -> float32")
        return
    kernel = backend.compile_kernel(SOURCES[backend.language], "scale(float32, float32) -> float32")
    x = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(kernel(x, 3.0).numpy(), x * 3)
    out = backend.allocate_zeros((100,), np.float32)
    result = backend.execute_kernel(kernel, (100,), (64,), backend.copy_to_device(x), 2.0, out)
    assert result.success, result.error
    np.testing.assert_array_equal(backend.copy_to_host(out), x * 2)
    np.testing.assert_array_equal(backend.copy_to_host(result.results[0]), x * 2)


def test_source_that_is_wrong_says_so(backend):
    if backend.language is None:
        pytest.skip("this backend takes no source")
    with pytest.raises(wootz.KernelError, match="signature"):
        backend.compile_kernel(SOURCES[backend.language], "nonsense")
    broken = backend.compile_kernel("this is no program", "scale(float32) -> float32")
    result = backend.execute_kernel(broken, (4,), (4,), np.zeros(4, np.float32))
    assert not result.success and isinstance(result.error, wootz.Error) and str(result.error)
    kernel = backend.compile_kernel(SOURCES[backend.language], "scale(float32, float32) -> float32")
    wrong = backend.execute_kernel(kernel, (4,), (4,), np.zeros(4, np.int32), 1.0)
    assert isinstance(wrong.error, TypeError)
    assert isinstance(backend.execute_kernel(kernel, (4,), (4,)).error, ValueError)


def test_memory_management(backend):
    before = backend.get_memory_info()
    assert set(before) == {"allocated", "buffer_count", "cache_memory", "peak_memory"}
    arrays = [backend.allocate((1000,), np.float32) for _ in range(10)]
    during = backend.get_memory_info()
    assert during["buffer_count"] == before["buffer_count"] + 10
    assert during["allocated"] == before["allocated"] + 40_000 and during["peak_memory"] >= 40_000
    live = backend.device.memory()["live"]
    for array in arrays:
        backend.free(array)
    after = backend.get_memory_info()
    assert (after["buffer_count"], after["allocated"]) == (before["buffer_count"], before["allocated"])
    assert backend.device.memory()["live"] <= live - 40_000
    with pytest.raises(ValueError):
        backend.free(arrays[0])
    with pytest.raises(ValueError):
        backend.free(wootz.ones(3))
    backend.clear_cache()
    assert backend.get_memory_info()["cache_memory"] == 0
    kept = backend.allocate_zeros((5,), "int32")
    assert backend.get_memory_info()["buffer_count"] == before["buffer_count"] + 1
    del kept
    gc.collect()
    assert backend.get_memory_info()["buffer_count"] == before["buffer_count"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_there_and_back(backend, dtype):
    if backend.device.refuses(dtype) is not None:
        with pytest.raises(wootz.UnsupportedError, match=dtype):
            backend.copy_to_device(np.zeros(2, dtype))
        return
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    np.testing.assert_array_equal(backend.copy_to_host(backend.copy_to_device(x)), x)
    assert backend.allocate_zeros((2, 3), dtype).tolist() == np.zeros((2, 3), dtype).tolist()


def test_float64_is_refused_or_converted_only_when_asked(backend):
    x = np.array([1.5, 2.5])
    if backend.device.refuses("float64") is None:
        assert backend.copy_to_device(x).dtype == wootz.float64
        return
    with pytest.raises(wootz.UnsupportedError, match="float64"):
        backend.copy_to_device(x)
    converting = type(backend)(convert_float64=True)
    assert converting.copy_to_device(x).dtype == wootz.float32


def test_failures_are_in_the_result(backend):
    class Mine(Exception):
        pass

    def broken(x):
        raise Mine("inside")

    result = backend.execute_kernel(broken, (1,), (1,), np.ones(2, np.float32))
    assert not result.success and isinstance(result.error, Mine) and result.results == ()
    with pytest.raises(Mine):
        result.raise_for_error()
    mismatch = backend.execute_kernel(lambda a, b: a @ b, (1,), (1,), np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
    assert isinstance(mismatch.error, wootz.ShapeError)
    for wrong in (3, None):
        with pytest.raises(TypeError):
            backend.execute_kernel(wrong, (1,), (1,))
    with pytest.raises(TypeError):
        backend.compile_kernel(3)
    with pytest.raises(TypeError):
        backend.copy_to_host(np.ones(2))


def test_functions_are_cached_while_they_live(backend):
    traced = []

    def make(factor):
        def kernel(x):
            traced.append(factor)
            return x * factor

        return kernel

    x = np.ones(2, np.float32)
    # Functions that die make room at the same address for others, which must not inherit their kernels.
    for factor in range(1, 30):
        result = backend.execute_kernel(make(float(factor)), (1,), (1,), x).raise_for_error()
        assert result.results[0].tolist() == [factor, factor]
    keep = make(2.0)
    traced.clear()
    for _ in range(3):
        backend.execute_kernel(keep, (1,), (1,), x).raise_for_error()
    assert len(traced) == 1


def test_backends_say_what_they_are():
    for kind in (compute.CpuBackend, compute.MetalBackend, compute.WebGpuBackend):
        made = kind()
        assert made.device_id == 0 and made.device_count == int(made.is_available) and kind.__name__ in repr(made)
        if not made.is_available:
            with pytest.raises(wootz.BackendNotAvailableError):
                made.allocate((1,), "float32")
        with pytest.raises(ValueError):
            kind(7)
    assert any(isinstance(each, compute.CpuBackend) for each in compute.available_backends())


# --- the unified buffer -----------------------------------------------------------------------------------------------


def test_unified_buffer(backend):
    buffer = UnifiedBuffer((1000,), dtype=np.float32, backend=backend).allocate()
    values = np.random.default_rng(3).normal(size=1000).astype(np.float32)
    buffer.host[:] = values
    buffer.mark_host_dirty()
    np.testing.assert_array_equal((buffer.device + 1).numpy(), values + 1)
    buffer.device = buffer.device * 2
    assert buffer.state.value == "device dirty"
    np.testing.assert_array_equal(buffer.host_read, values * 2)
    assert buffer.state.value == "clean"


def test_no_write_through_a_held_view_is_lost(backend):
    buffer = UnifiedBuffer((4,), backend=backend)
    view = buffer.host
    for step in range(3):
        view[:] = step
        # Nobody said that the host side was written.
        assert buffer.device.tolist() == [step] * 4
    del view
    gc.collect()
    assert buffer.device.tolist() == [2] * 4 and buffer.state.value == "clean"


def test_the_host_view_shows_what_the_device_wrote(backend):
    buffer = UnifiedBuffer((3,), backend=backend)
    with buffer.host_write() as view:
        view[:] = [1, 2, 3]
    buffer.update(lambda x: x + 1)
    assert buffer.host.tolist() == [2, 3, 4]
    with pytest.raises(ValueError):
        view[0] = 9  # the block is over
    with pytest.raises(ValueError):
        buffer.host_read[0] = 9


def test_writes_on_both_sides_are_an_error_not_a_guess(backend):
    buffer = UnifiedBuffer((3,), backend=backend)
    view = buffer.host
    buffer.device = buffer.device + 1
    view[0] = 7
    with pytest.raises(ValueError, match="both"):
        buffer.host
    fresh = UnifiedBuffer((3,), backend=backend)
    fresh.device = fresh.device + 1
    with pytest.raises(ValueError, match="both"):
        fresh.mark_host_dirty()


def test_a_dead_buffer_and_wrong_values_are_refused(backend):
    buffer = UnifiedBuffer((3,), backend=backend)
    with pytest.raises(ValueError):
        buffer.device = wootz.ones(4)
    with pytest.raises(TypeError):
        buffer.device = wootz.ones(3, dtype="int32")
    with pytest.raises(TypeError):
        buffer.device = np.ones(3)
    if backend.backend_type.value != "metal":
        with pytest.raises(ValueError):
            buffer.metal
    buffer.free()
    for use in (lambda: buffer.host, lambda: buffer.device, buffer.synchronize, buffer.mark_host_dirty, buffer.free):
        with pytest.raises(wootz.BufferError, match="freed"):
            use()
    assert "freed" in repr(buffer)


def test_threads_keep_a_buffer_coherent(backend):
    buffer = UnifiedBuffer((8,), dtype="int32", backend=backend)

    def host():
        for _ in range(25):
            with buffer.host_write() as view:
                view += 1

    def device():
        for _ in range(25):
            buffer.update(lambda x: x + 1)

    threads = [threading.Thread(target=each) for each in (host, device, host, device)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert buffer.host_read.tolist() == [100] * 8 and buffer.device.tolist() == [100] * 8

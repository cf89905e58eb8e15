"""What an ordinary program stumbles over: each was wrong, silent or unhelpful once."""

import errno
import io
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import wootz as wz
from oracle import check

MODEL = pathlib.Path(__file__).parents[2] / "llm" / "tests" / "golden" / "tiny-llama.model"


def script(text, **environment):
    program = textwrap.dedent(text)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )


# NumPy scalars keep their type and value.


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64])
def test_numpy_scalars_keep_their_type(kind):
    value = kind(1)
    for made in (wz.asarray(value), wz.full(2, value), wz.asarray([value, value]), wz.full_like(wz.asarray([value]), value)):
        assert made.dtype.name == np.dtype(kind).name
    assert wz.asarray([value, 1]).tolist() == [1, 1]


def test_numpy_integers_keep_their_value():
    big = np.int64(16777217)
    check(wz.arange(big, np.int64(16777220)), np.arange(16777217, 16777220))
    check(wz.full(2, big), np.full(2, 16777217))
    check(wz.arange(2**60 + 1, 2**60 + 4), np.arange(2**60 + 1, 2**60 + 4))
    assert (wz.ones(2) * np.float32(2)).dtype == wz.float32 and (wz.ones(2) * np.float64(2)).dtype == wz.float32


# compile sees the state of each call.


def test_a_compiled_function_draws_new_numbers_at_each_call():
    @wz.compile
    def noisy(x):
        return x + wz.random.uniform((64,)), wz.random.normal((64,))

    x = wz.zeros(64)
    first, second = noisy(x), noisy(x)
    for a, b in zip(first, second):
        assert not np.array_equal(np.asarray(a), np.asarray(b))
    assert not np.array_equal(np.asarray(first[0]), np.asarray(first[1]))
    assert 0 <= np.asarray(first[0]).min() and np.asarray(first[0]).max() < 1
    wz.random.seed(5)
    a = noisy(x)
    wz.random.seed(5)
    b = noisy(x)
    check(a[0], np.asarray(b[0]))
    fixed = wz.compile(lambda x: x + wz.random.uniform((64,), seed=3))
    check(fixed(x), np.asarray(fixed(x)))


def test_a_compiled_function_sees_assignments_to_what_it_captured():
    weights = wz.asarray([1.0, 2.0])
    lazy = wz.ones(2) * 3
    f = wz.compile(lambda x: x * weights + lazy)
    assert f(wz.ones(2)).tolist() == [4.0, 5.0]
    weights[0] = 10.0
    assert f(wz.ones(2)).tolist() == [13.0, 5.0]
    weights += 1
    lazy -= 3
    for _ in range(3):
        assert f(wz.ones(2)).tolist() == [11.0, 3.0]


def test_a_compiled_function_may_not_assign_to_what_it_captured():
    state = wz.zeros(2)

    @wz.compile
    def step(x):
        local = x * 2
        local[0] = 5.0
        local += 1
        return local

    assert step(wz.ones(2)).tolist() == [6.0, 3.0]

    @wz.compile
    def leak(x):
        state[0] = 1.0
        return x

    with pytest.raises(wz.ArgumentError, match="return the new value"):
        leak(wz.ones(2))
    assert state.tolist() == [0.0, 0.0]


def test_compile_decorates_methods():
    class Layer:
        def __init__(self, weight):
            self.weight = weight

        @wz.compile
        def __call__(self, x, scale=1.0):
            return x * self.weight * scale

    one, two = Layer(wz.asarray([1.0, 2.0])), Layer(wz.asarray([3.0, 4.0]))
    for _ in range(2):
        assert one(wz.ones(2)).tolist() == [1.0, 2.0]
        assert two(wz.ones(2), scale=2.0).tolist() == [6.0, 8.0]
    one.weight = wz.asarray([7.0, 7.0])
    assert one(wz.ones(2)).tolist() == [7.0, 7.0]
    one.weight[0] = 1.0
    assert one(wz.ones(2)).tolist() == [1.0, 7.0]


def test_numbers_are_parameters_of_compiled_functions():
    traces = []

    @wz.compile
    def scaled(x, rate, shift=0):
        traces.append(1)
        return (x * rate + shift) / (1.0 + x), rate

    x = wz.asarray([1.0, 3.0])
    for i in range(50):
        result, rate = scaled(x, i / 7, shift=i)
        assert rate == i / 7 and type(rate) is float
        check(result, ((np.float32([1, 3]) * np.float32(i / 7) + i) / np.float32([2, 4])).astype(np.float32))
    assert len(traces) == 1
    half = wz.asarray([1.0, 3.0], dtype="float16")
    check(scaled(half, 0.1)[0], (np.float16([1, 3]) * np.float16(0.1) / np.float16([2, 4])).astype(np.float16), rtol=1e-3)


def test_a_compiled_function_that_looks_at_a_number_is_traced_for_each():
    traces = []

    @wz.compile
    def power(x, n, axis, flag=True, decay=0.5):
        traces.append(1)
        for _ in range(n):
            x = x * 2
        rate = decay * 2
        return x.sum(axis) * rate if flag and decay < 1 else x.sum(axis)

    x = wz.ones((2, 3))
    assert power(x, 1, 0).tolist() == [4.0] * 3
    assert power(x, 2, 1).tolist() == [12.0] * 2
    assert power(x, 2, 1, decay=0.25).tolist() == [6.0] * 2
    assert power(x, 2, 1, decay=2.0).tolist() == [12.0] * 2
    assert power(x, 1, 0).tolist() == [4.0] * 3
    assert len(traces) == 4
    assert wz.compile(lambda x, n: x**n)(wz.asarray([3.0]), 2).tolist() == [9.0]
    with pytest.raises(wz.ArgumentError, match="does not fit int8"):
        wz.compile(lambda x, n: x + n)(wz.ones(2, dtype="int8"), 300)


def test_other_numbers_take_no_more_memory():
    done = script(
        """
        import resource, wootz as wz
        f = wz.compile(lambda x, s: x * s)
        x = wz.ones(8)
        for i in range(200):
            f(x, float(i))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(3000):
            f(x, i * 0.5)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """
    )
    assert done.returncode == 0 and int(done.stdout) < 4000, done.stdout + done.stderr


def test_a_compiled_function_inside_of_another():
    inner = wz.compile(lambda x, s: x * s + 1)
    outer = wz.compile(lambda x, s: inner(x, s) + inner(x, 2.0))
    assert outer(wz.ones(2), 3.0).tolist() == [7.0, 7.0]
    assert outer(wz.ones(2), 4.0).tolist() == [8.0, 8.0]


# Nothing wraps silently.


def test_numbers_that_do_not_fit_are_refused():
    small = wz.zeros(3, dtype="int8")
    for value in (300, -129, np.int64(300)):
        with pytest.raises(wz.ArgumentError, match="does not fit int8"):
            small[0] = value
    small[0] = -128
    small[1] = 2.9
    assert small.tolist() == [-128, 2, 0]
    with pytest.raises(wz.ArgumentError, match="does not fit uint8"):
        wz.random.integers(0, 300, (4,), dtype=wz.uint8)
    draw = np.asarray(wz.random.integers(0, 256, (20000,), dtype=wz.uint8, seed=1))
    assert draw.min() == 0 and draw.max() == 255


def test_numbers_that_do_not_fit_are_refused_wherever_they_come_from():
    small = wz.asarray([1, 2, 3], dtype="int8")
    for change in (
        lambda x: x.__setitem__(slice(None), [300, 1, 2]),
        lambda x: x.__setitem__(slice(0, 2), (300, 1)),
        lambda x: x.at[0].add(300),
        lambda x: x.at[0].set(300),
        lambda x: wz.pad(x, 1, constant_values=300),
        lambda x: wz.pad(x, 1, constant_values=(0, 300)),
    ):
        with pytest.raises(wz.ArgumentError, match="300 does not fit int8"):
            change(small)
    assert small.tolist() == [1, 2, 3]
    check(wz.pad(wz.asarray([1]), 1, constant_values=2**60 + 1), np.asarray([2**60 + 1, 1, 2**60 + 1]))


def test_comparisons_with_numbers_beyond_the_dtype():
    for dtype, values in (("int8", [-128, 0, 127]), ("uint8", [0, 7, 255]), ("int64", [-(2**63), 2**63 - 1]), ("uint64", [0, 2**64 - 1])):
        ours, theirs = wz.asarray(values, dtype=dtype), np.asarray(values, dtype=dtype)
        for number in (300, -300, -1, 2**63, 2**64, -(2**63) - 1, 10**30):
            for compare in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
                check(getattr(ours, compare)(number), getattr(theirs, compare)(number))
    check(wz.less(wz.asarray([1], dtype="int8"), 300), np.asarray([True]))


def test_names_of_dtypes_mean_what_they_mean_in_numpy():
    for name in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "?", "e", "d", "b", "B", "h", "H", "i", "I", "q", "Q", "<i4", "=f8", "|u1", "int", "double"):
        assert wz.asarray([1], dtype=name).dtype.name == np.dtype(name).name, name
    assert wz.asarray([1], dtype="float").dtype == wz.float32 and wz.DType("i16") == wz.int16 and wz.DType("bf16") == wz.bfloat16
    for name in ("f3", "x4", ">i4", "c8", "U5", ""):
        with pytest.raises(wz.DTypeError, match="is not a dtype"):
            wz.DType(name)


def test_nan_and_stacks_as_in_numpy():
    values = np.asarray([np.nan, 1, np.nan, 1, -np.inf, np.nan])
    for options in ({}, {"return_counts": True}, {"return_inverse": True}, {"equal_nan": False}):
        ours, theirs = wz.unique(wz.asarray(values), **options), np.unique(values, **options)
        for a, b in zip(ours if isinstance(ours, tuple) else [ours], theirs if isinstance(theirs, tuple) else [theirs]):
            np.testing.assert_array_equal(np.asarray(a), b)
    x = np.arange(24.0).reshape(2, 3, 4)
    for ours, theirs in (
        (wz.diagonal(wz.asarray(x)), np.diagonal(x)), (wz.trace(wz.asarray(x)), np.trace(x)), (wz.asarray(x).diagonal(1), x.diagonal(1)),
        (wz.asarray(x).trace(axis1=1, axis2=2), x.trace(axis1=1, axis2=2)), (wz.linalg.diagonal(wz.asarray(x)), np.linalg.diagonal(x)),
    ):
        check(ours, theirs)


# Files.


def test_large_npy_files_are_mapped(tmp_path):
    values = np.arange(6_000_000, dtype=np.float32).reshape(2000, 3000)
    for name, array in {"c": values, "fortran": np.asfortranarray(values), "swapped": values.astype(">f4")}.items():
        np.save(tmp_path / f"{name}.npy", array)
        loaded = wz.load(tmp_path / f"{name}.npy")
        check(loaded[::97, 5], values[::97, 5])
        check(loaded.sum(axis=1)[:3], values.sum(axis=1)[:3], rtol=1e-4)
    np.save(tmp_path / "big.npy", np.zeros(40_000_000, np.float32))
    done = script(
        f"""
        import resource, wootz as wz
        wz.ones(3).eval()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        x = wz.load({str(tmp_path / "big.npy")!r})
        print(float(x[39_999_999]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """
    )
    value, grown = done.stdout.split()
    assert float(value) == 0.0 and int(grown) < 40_000, done.stdout + done.stderr


@pytest.mark.parametrize("format", [".npy", ".npz", ".safetensors"])
def test_file_objects(format):
    x = wz.asarray([[1.0, 2.0], [3.0, 4.0]])
    file = io.BytesIO()
    wz.save(file, x if format == ".npy" else {"a": x, "b": x * 2}, format=format)
    file.seek(0)
    loaded = wz.load(file)
    check(loaded if format == ".npy" else loaded["b"] / 2, np.asarray(x))
    file = io.BytesIO()
    np.save(file, np.asarray(x))
    file.seek(0)
    check(wz.load(file), np.asarray(x))
    with pytest.raises(wz.ArgumentError, match="unknown file format"):
        wz.load(io.BytesIO(b"something else"))
    with pytest.raises(wz.ConversionError, match="'rb'"):
        wz.load(io.StringIO("text"))


def test_gguf_files_load_as_arrays(tmp_path):
    import gguf

    path = tmp_path / "x.gguf"
    writer = gguf.GGUFWriter(path, "test")
    rows = np.random.default_rng(1).normal(size=(3, 64)).astype(np.float32)
    writer.add_uint32("test.count", 7)
    writer.add_array("test.names", ["a", "b"])
    writer.add_tensor("plain", rows)
    writer.add_tensor("half", rows.astype(np.float16))
    coded = gguf.quants.quantize(rows, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("coded", coded, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    arrays, metadata = wz.load_gguf(path, return_metadata=True)
    assert metadata["test.count"] == 7 and metadata["test.names"] == ["a", "b"]
    check(arrays["plain"], rows)
    check(wz.load(path)["half"], rows.astype(np.float16))
    check(arrays["coded"], gguf.quants.dequantize(coded, gguf.GGMLQuantizationType.Q8_0), rtol=1e-6)


def test_missing_files_are_what_python_expects(tmp_path):
    for load in (wz.load, wz.load_npy):
        with pytest.raises(FileNotFoundError) as caught:
            load(tmp_path / "none.npy")
        assert isinstance(caught.value, wz.FileError) and caught.value.errno == errno.ENOENT
        assert caught.value.filename.endswith("none.npy")
    with pytest.raises(FileNotFoundError):
        wz.load(tmp_path / "none.gguf")
    with pytest.raises(FileNotFoundError):
        wz.save(tmp_path / "no folder" / "x.npy", wz.ones(2))
    with pytest.raises(OSError):
        wz.load_npy(tmp_path)


# Errors say what was wrong.


def test_errors_of_arrays_speak_python():
    x = wz.ones(3)
    for make in (lambda: x * "a", lambda: "a" * x, lambda: x + "a"):
        with pytest.raises(wz.ConversionError, match="text cannot be combined with an array"):
            make()
    with pytest.raises(wz.OutOfRangeError, match="index 10 .*axis 0 with extent 3"):
        x[[10]]
    with pytest.raises(wz.OutOfRangeError, match="index -4"):
        x[wz.asarray([0, -4])]
    with pytest.raises(wz.OutOfRangeError, match="index 7 .*axis 1 with extent 4"):
        wz.ones((2, 4))[:, [0, 7]]
    with pytest.raises(wz.OutOfRangeError, match="index 5"):
        x[5]
    with pytest.raises(wz.DTypeError, match="float32"):
        wz.ones(3) & 1
    with pytest.raises(wz.ShapeError):
        wz.eye(-1)
    with pytest.raises(wz.ArgumentError, match="seed must be an integer from 0"):
        wz.random.uniform((2,), seed=-1)
    with pytest.raises(wz.ArgumentError):
        wz.random.seed(-1)
    assert (wz.ones(2) == "a") is False


def test_save_says_what_a_file_holds(tmp_path):
    wz.save(tmp_path / "a.npz", wz.ones(2))
    assert np.load(tmp_path / "a.npz")["arr_0"].tolist() == [1.0, 1.0]
    with pytest.raises(wz.ConversionError, match="dict of arrays"):
        wz.save(tmp_path / "a.safetensors", wz.ones(2))
    with pytest.raises(wz.ConversionError, match="single array"):
        wz.save(tmp_path / "a.npy", {"a": wz.ones(2)})


def test_bfloat16_of_other_libraries():
    import jax.numpy as jnp
    import ml_dtypes

    theirs = jnp.asarray([1.0, 2.5, -3.0], dtype=jnp.bfloat16)
    assert wz.asarray(theirs).dtype == wz.bfloat16 and wz.asarray(theirs).tolist() == [1.0, 2.5, -3.0]
    assert wz.asarray(np.asarray([1.5], ml_dtypes.bfloat16)).dtype == wz.bfloat16
    assert wz.full(2, ml_dtypes.bfloat16(1.5)).dtype == wz.bfloat16


def test_errors_of_models_are_ours():
    from wootz import llm

    model = llm.load(MODEL)
    with pytest.raises(wz.ConversionError, match="messages"):
        model.chat("text")
    for options in ({"top_k": -1}, {"seed": -1}, {"temperature": -1.0}, {"max_tokens": -1}, {"top_k": "many"}):
        with pytest.raises(wz.Error):
            list(model.generate("a", **options))
    with pytest.raises(wz.ConversionError, match="bytes"):
        model.generate(b"hi")
    with pytest.raises(wz.Error):
        model.generate([1, "x"])
    with pytest.raises(wz.Error):
        model.generate([-1])
    with pytest.raises(FileNotFoundError):
        llm.load("/no/such/model.gguf")


# Ctrl-C is heard.


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
@pytest.mark.parametrize(
    "prepare, work",
    [
        ("x = wz.random.uniform((12_000_000,), seed=1).eval()", "wz.sort(x).eval()"),
        ("x = wz.random.uniform((12_000_000,), seed=1).eval()", "wz.unique_values(x)"),
        ("x = wz.random.uniform((30_000_000,), seed=1).eval()", "(x ** x).sum().item()"),
        (
            "import random",
            "y = wz.ones((64, 64))\nfor i in range(60_000): y = (y + y.T) * 0.5 if i % 3 else y + random.random()\ny.eval()",
        ),
    ],
)
def test_ctrl_c_is_heard_within_moments(prepare, work):
    done = script(
        f"""
import os, signal, sys, threading, time, wootz as wz
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs without it
{prepare}
def interrupt():
    global sent
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.1, interrupt).start()
try:
    {work.replace(chr(10), chr(10) + "    ")}
    while time.perf_counter() - sent < 10 if "sent" in globals() else True: time.sleep(0.01)
    print("late")
except KeyboardInterrupt:
    heard = time.perf_counter() - sent
    start = time.process_time()
    time.sleep(0.3)
    print(heard, time.process_time() - start)
"""
    )
    assert done.returncode == 0, done.stdout + done.stderr
    heard, busy_afterwards = map(float, done.stdout.split())
    assert heard < 1.0
    # Kernels stop too; only a plan is still finished.
    assert busy_afterwards < 0.1 or "y.eval()" in work


# Small habits.


def test_processes_draw_different_numbers():
    draws = {script("import wootz as wz; print(wz.random.uniform((4,)).tolist())").stdout for _ in range(2)}
    assert len(draws) == 2


def test_lists_beside_arrays():
    x = wz.ones(3)
    assert (x == [1, 1, 1]).tolist() == [True] * 3
    assert (x + [1, 2, 3]).dtype == wz.float32 and (x + [1, 2, 3]).tolist() == [2.0, 3.0, 4.0]
    assert ([1, 2, 3] - x).tolist() == [0.0, 1.0, 2.0] and (x < (0, 2, 1)).tolist() == [False, True, False]
    assert (wz.ones(2, dtype="int8") * [3, 4]).dtype == wz.int8
    x += [1, 1, 1]
    assert x.tolist() == [2.0] * 3


def test_running_sums_are_flat_without_an_axis():
    values = np.arange(6).reshape(2, 3)
    check(wz.asarray(values).cumsum(), values.cumsum())
    check(wz.asarray(values).cumprod(1), values.cumprod(1))


def test_formats_are_for_numbers():
    assert f"{wz.asarray(0.35487):.1f}" == "0.4" and f"{wz.ones(2)}" == "[1. 1.]"
    with pytest.raises(TypeError, match="for a number"):
        f"{wz.ones(3):.2f}"


def test_without_an_axis_the_flat_array_is_meant():
    x = wz.asarray([[3.0, 1.0], [2.0, 5.0]])
    values, places = wz.top_k(x, 2, axis=None)
    assert values.tolist() == [5.0, 3.0] and places.tolist() == [3, 0]
    wz.put_along_axis(x, [3, 0], [7.0, 8.0], axis=None)
    assert x.tolist() == [[8.0, 1.0], [2.0, 7.0]]

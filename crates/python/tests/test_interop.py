"""Zero-copy exchange, proven by address."""

import array as python_array
import gc
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given

import wootz
from oracle import ALL, arrays, check


def address(x):
    return x.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", ALL)
def test_numpy_shares_memory_both_ways(dtype):
    x = np.arange(12).astype(dtype).reshape(3, 4)
    ours = wootz.asarray(x)
    assert ours.data_ptr == address(x)
    for back in (ours.numpy(), np.asarray(ours), np.from_dlpack(ours), np.asarray(memoryview(ours))):
        assert address(back) == address(x) and not back.flags.writeable
        np.testing.assert_array_equal(back, x)
    assert wootz.from_dlpack(x).data_ptr == address(x)
    assert wootz.from_dlpack(ours).data_ptr == address(x)


@given(arrays(ALL))
def test_any_layout_is_shared(x):
    ours = wootz.asarray(x)
    check(ours, x)
    if x.size:
        assert ours.data_ptr == address(x)
        # The step of an axis of extent 1 means nothing, and buffers give another one for it.
        assert [s for s, n in zip(ours.strides, x.shape) if n > 1] == [s for s, n in zip(x.strides, x.shape) if n > 1]
        assert address(np.asarray(ours)) == address(x)
    check(wootz.from_dlpack(np.array(x)), x)


def test_copies_are_made_when_asked_for():
    x = np.arange(4.0)
    copied = wootz.asarray(x, copy=True)
    assert copied.data_ptr != address(x) and wootz.array(x).data_ptr != address(x)
    x[0] = 9
    assert copied.tolist() == [0, 1, 2, 3]
    assert wootz.asarray(x, copy=False).data_ptr == address(x)
    mine = wootz.from_dlpack(x, copy=True)
    assert mine.data_ptr != address(x)
    writable = mine.numpy(copy=True)
    writable[0] = 1
    assert mine.tolist()[0] == 9
    assert np.array(copied, copy=True).flags.writeable and np.asarray(copied, dtype=np.float32).dtype == np.float32
    for wrong in (lambda: wootz.asarray([1, 2], copy=False), lambda: wootz.asarray(x, dtype="float32", copy=False)):
        with pytest.raises(ValueError):
            wrong()


def test_memory_lives_as_long_as_somebody_sees_it():
    ours = wootz.asarray(np.arange(1000.0) + 1)
    view = (ours * 2).numpy()
    capsule = (ours * 3).__dlpack__(max_version=(1, 0))
    unused = (ours * 4).__dlpack__()
    del ours
    gc.collect()
    for _ in range(50):
        wootz.random.normal((1000,), dtype="float64").eval()
    assert view[:3].tolist() == [2, 4, 6]
    del capsule, unused
    gc.collect()


def test_other_exporters_of_buffers():
    assert wootz.asarray(python_array.array("d", [1, 2])).tolist() == [1, 2]
    assert wootz.asarray(memoryview(b"\x01\x02")).dtype == wootz.uint8
    x = np.arange(6, dtype=">i4")
    with pytest.raises(TypeError):
        wootz.asarray(x)
    with pytest.raises(TypeError):
        wootz.asarray(np.array(["a"]))
    with pytest.raises(TypeError):
        wootz.asarray(np.zeros(2, complex))
    assert memoryview(wootz.asarray([1, 2])).readonly
    with pytest.raises(ValueError):
        np.asarray(wootz.asarray([1.0]))[0] = 2


def test_fields_and_misaligned_memory_are_copied():
    record = np.zeros(3, dtype=[("a", "u1"), ("b", "f4")])
    record["b"] = [1, 2, 3]
    assert wootz.asarray(record["b"]).tolist() == [1, 2, 3]
    raw = np.zeros(9, np.uint8)
    odd = raw[1:].view(np.float32)
    assert wootz.asarray(odd).tolist() == [0, 0]


def test_numpy_functions_take_arrays():
    x = wootz.asarray([1.0, 4.0, 9.0])
    assert np.sum(np.asarray(x)) == 14
    assert isinstance(np.ones(3, np.float32) + x, wootz.Array)
    assert isinstance(np.float32(2) * x, wootz.Array)


def test_dlpack_says_what_it_cannot_do():
    x = wootz.asarray([1.0])
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError):
        wootz.from_dlpack([1])

    class Wrong:
        def __dlpack__(self, **_):
            return 1

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(TypeError):
        wootz.from_dlpack(Wrong())
    capsule = x.__dlpack__()

    class Once:
        def __dlpack__(self, **_):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    assert wootz.from_dlpack(Once()).tolist() == [1.0]
    with pytest.raises(TypeError):
        wootz.from_dlpack(Once())


def test_torch_shares_memory():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; JAX stands in for it")
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    ours = wootz.from_dlpack(tensor)
    assert ours.data_ptr == tensor.data_ptr()
    back = torch.from_dlpack(ours + 1)
    assert back.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert torch.from_dlpack(ours).data_ptr() == tensor.data_ptr()


def test_jax_shares_memory():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    theirs = jax.numpy.arange(64, dtype="float32")
    ours = wootz.from_dlpack(theirs)
    assert ours.data_ptr == theirs.unsafe_buffer_pointer()
    assert (ours * 2).tolist() == [2.0 * i for i in range(64)]
    back = jax.dlpack.from_dlpack((ours + 1).eval())
    assert back.tolist() == [i + 1.0 for i in range(64)]


def test_bfloat16_goes_through_dlpack_and_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    theirs = np.array([1, 2.5, -3], ml_dtypes.bfloat16)
    ours = wootz.asarray(theirs)
    assert ours.dtype == wootz.bfloat16 and ours.tolist() == [1, 2.5, -3]
    assert ours.numpy().dtype == theirs.dtype


def test_files(tmp_path):
    x = wootz.arange(6, dtype="float32").reshape(2, 3)
    wootz.save(tmp_path / "x.npy", x.T)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x.numpy().T)
    for ending in ("npz", "safetensors"):
        wootz.save(tmp_path / f"x.{ending}", {"x": x, "y": x > 2})
        found = wootz.load(tmp_path / f"x.{ending}")
        check(found["x"], x.numpy())
        check(found["y"], x.numpy() > 2)
    np.save(tmp_path / "n.npy", np.arange(4))
    check(wootz.load(tmp_path / "n.npy"), np.arange(4))
    with pytest.raises(OSError):
        wootz.load(tmp_path / "none.npy")
    (tmp_path / "bad.npy").write_bytes(b"nonsense")
    with pytest.raises(ValueError):
        wootz.load(tmp_path / "bad.npy")


def test_the_package_works_without_numpy():
    program = (
        "import sys; sys.modules['numpy'] = None; import wootz; x = wootz.asarray([1.0, 2.0]);"
        "assert (x + 1).tolist() == [2.0, 3.0] and str(x)\n"
        "try: x.numpy()\nexcept TypeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "NumPy" in done.stdout, done.stderr

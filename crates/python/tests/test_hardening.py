"""What must be an exception, or right, and never the end of the process."""

import ctypes
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import wootz as wz


def test_objects_that_contain_or_give_themselves_are_refused():
    contains = []
    contains.append(contains)
    mixed = [np.ones(2)]
    mixed.append(mixed)

    class Own:
        def __array__(self, *_, **__):
            return self

    for endless in (contains, mixed, [contains, np.ones(1)], Own(), [Own()]):
        with pytest.raises(wz.Error):
            wz.asarray(endless)


def test_a_copy_that_is_the_array_itself_is_refused():
    class Stubborn(np.ndarray):
        def copy(self, *_):
            return self

    packed = np.zeros(4, dtype=[("a", "u1"), ("b", "<f4")])["b"]
    assert packed.strides == (5,)
    with pytest.raises(wz.Error):
        wz.asarray(packed.view(Stubborn))
    np.testing.assert_array_equal(np.asarray(wz.asarray(packed)), packed)


class DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Producer:
    """A library that says what it likes about its memory."""

    def __init__(self, shape, strides, data=True):
        self.memory = np.arange(16, dtype=np.float32)
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = (ctypes.c_int64 * max(len(strides), 1))(*strides)
        address = self.memory.ctypes.data if data else None
        self.tensor = DlTensor(address, 1, 0, len(shape), 2, 32, 1, self.shape, self.strides, 0, None, None)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def test_dlpack_shapes_and_strides_that_overflow_are_refused():
    good = Producer((2, 2), (2, 1))
    np.testing.assert_array_equal(np.asarray(wz.from_dlpack(good)), [[0, 1], [2, 3]])
    for shape, strides in [
        ((2**40, 2**40), (1, 1)),
        ((3, 3), (2**62, 2**62)),
        ((3,), (-(2**63),)),
        ((2**61,), (4,)),
        ((1,) * 40, (1,) * 40),
    ]:
        with pytest.raises(wz.Error):
            wz.from_dlpack(Producer(shape, strides))
    with pytest.raises(wz.Error):
        wz.from_dlpack(Producer((2,), (1,), data=False))


def test_shapes_that_no_memory_has_are_refused_by_every_op():
    one = wz.asarray([1], dtype=wz.uint8)
    with pytest.raises(wz.Error):
        wz.broadcast_to(one, (2**62,)).astype(wz.float32).eval()
    with pytest.raises(wz.Error):
        wz.broadcast_to(one, (2**59,)).astype(wz.float64).eval()


def test_products_of_empty_intermediates():
    for device in wz.devices():
        s = wz.argsort(wz.zeros((0,), device=device))
        assert int(s @ s) == 0 and int(wz.tensordot(s, s, axes=1)) == 0
        assert wz.sort(wz.zeros((2, 0), device=device), axis=1).sum(axis=1).tolist() == [0.0, 0.0]


def test_an_index_beyond_the_signed_numbers_is_out_of_range():
    x = wz.asarray([1.0, 2.0, 3.0])
    with pytest.raises(wz.Error):
        x[wz.asarray([2**64 - 1], dtype=wz.uint64)].tolist()


def script(text, **environment):
    program = textwrap.dedent(text)
    environment = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env=environment)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("device", ["metal", "webgpu"])
def test_a_forked_child_is_refused_the_gpu_of_its_parent(device):
    if device not in [d.name for d in wz.devices()]:
        pytest.skip(f"no {device} device here")
    done = script(
        f"""
        import os, wootz as wz
        x = wz.ones((64,), device="{device}")
        assert float((x + 1).sum()) == 128
        child = os.fork()
        if child == 0:
            try:
                (x + 2).sum().eval()
            except wz.Error as error:
                os._exit(7 if "forked" in str(error) and float((wz.ones(4, device="cpu") * 3).sum()) == 12 else 8)
            os._exit(9)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert done.returncode == 7, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
@pytest.mark.parametrize(
    "work", ["x.tolist()", "x.tobytes()", "wz.nonzero(x)", "pickle.dumps(x)", "wz.save(path, x)"]
)
def test_memory_that_the_host_lacks_is_an_exception(work, tmp_path):
    done = script(
        f"""
        import pickle, resource, wootz as wz
        x = wz.ones((300_000_000,), dtype=wz.uint8, device="cpu")
        x.eval()
        path = {str(tmp_path / "x.npy")!r}
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 100_000_000, size + 100_000_000))
        try:
            {work}
        except (MemoryError, wz.Error) as error:
            print(type(error).__name__)
        """
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr


def test_planning_many_views_is_quick_and_right():
    x = np.arange(16.0, dtype=np.float32).reshape(4, 4) / 16
    lazy, expected = wz.asarray(x), x.copy()
    for _ in range(200):
        lazy, expected = (lazy + lazy.T) * 0.5, (expected + expected.T) * 0.5
    np.testing.assert_allclose(np.asarray(lazy), expected, rtol=1e-5)


def test_numbers_that_do_not_fit_are_errors_of_ours():
    x = wz.ones((3, 4))
    for wrong in (
        lambda: wz.reshape(x, (2**40, 2**40, -1)),
        lambda: wz.reshape(x, (2**62, 4, -1)),
        lambda: wz.eye(-2),
        lambda: wz.eye(3, k=2**70),
        lambda: wz.tensordot(x, x, axes=-1),
        lambda: wz.roll(x, 2**70),
        lambda: wz.tril(x, k=2**70),
        lambda: x[2**70],
        lambda: wz.zeros((2**70,)),
        lambda: wz.arange(0, 2**70),
    ):
        with pytest.raises(wz.Error):
            wrong()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_forked_while_threads_work_are_right():
    done = script(
        """
        import os, threading, time, wootz as wz
        x, stop = wz.ones((16, 16)), False

        def work():
            i = 0
            while not stop:
                i += 1
                (x * float(i % 7) + x).sum().eval()
                wz.zeros((i % 50 + 1, 3)).sum().eval()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        wrong = []
        for i in range(100):
            child = os.fork()
            if child == 0:
                os._exit(0 if float((wz.ones(1000 + i % 3) + i).sum()) == (1000 + i % 3) * (1 + i) else 3)
            end = time.monotonic() + 60
            while True:
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended or time.monotonic() > end:
                    break
                time.sleep(0.001)
            if not ended or status:
                wrong.append((i, status))
                os.kill(child, 9) if not ended else None
        stop = True
        for thread in threads:
            thread.join()
        print("wrong:", wrong)
        """
    )
    assert done.returncode == 0 and done.stdout.strip() == "wrong: []", done.stdout + done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_multiprocessing_by_fork_works_on_the_cpu_and_is_refused_elsewhere():
    done = script(
        """
        import multiprocessing, wootz as wz
        devices = [d.name for d in wz.devices() if d.name != "cpu"]
        for device in devices:
            assert float(wz.ones(4, device=device).sum()) == 4

        def work(i):
            found = [float((wz.ones((64, 64), device="cpu") @ wz.ones((64, 64), device="cpu")).sum())]
            for device in devices:
                try:
                    found.append(float((wz.ones(30, device=device) + i).sum()))
                except wz.Error as error:
                    found.append("forked" in str(error))
            return found

        with multiprocessing.get_context("fork").Pool(3) as pool:
            for found in pool.map(work, range(12)):
                assert found == [64.0**3] + [True] * len(devices), found
        """
    )
    assert done.returncode == 0, done.stderr


def test_the_module_is_light():
    module = pathlib.Path(wz._native.__file__).read_bytes()
    assert b"\0.debug_info\0" not in module, "debug information is shipped"
    # Of a release, 26 MB; the build that is tested carries its checks besides.
    assert len(module) < 33e6, f"{len(module) / 1e6:.1f} MB"

"""Many threads on the same objects: with the interpreter's lock, and without it where the build has none."""

import sys
import sysconfig
import threading

import numpy as np
import pytest

import wootz

THREADS = 8


def together(work):
    """Runs `work(n)` on several threads that start at once, and raises what any of them raised."""
    start, failures = threading.Barrier(THREADS), []

    def each(n):
        try:
            start.wait()
            work(n)
        except BaseException as error:  # noqa: BLE001 - it is raised below
            failures.append(error)

    threads = [threading.Thread(target=each, args=(n,)) for n in range(THREADS)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    if failures:
        raise failures[0]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has its lock")
def test_the_package_needs_no_interpreter_lock():
    assert not sys._is_gil_enabled()


def test_threads_share_lazy_arrays():
    x = wootz.asarray(np.arange(1000, dtype=np.float32))
    for _ in range(20):
        lazy = (x * 2 + 1).sum()
        seen = [None] * THREADS
        together(lambda n: seen.__setitem__(n, float(lazy)))
        assert seen == [1_000_000.0] * THREADS


def test_no_assignment_of_a_thread_is_lost():
    counts = wootz.zeros((THREADS, 4))

    def work(n):
        for i in range(50):
            counts[n, i % 4] += 1.0

    together(work)
    assert counts.sum(axis=1).tolist() == [50.0] * THREADS


def test_threads_share_a_compiled_function():
    traced = []

    @wootz.compile
    def f(x, y):
        traced.append(x.shape)
        return x @ y + 1

    def work(n):
        for i in range(1, 12):
            size = 1 + (n + i) % 5
            result = f(wootz.ones((size, 3)), wootz.ones((3, size)))
            assert result.tolist() == [[4.0] * size] * size

    together(work)
    # Two threads may trace one signature at the same time, and no more often than that.
    assert set(traced) == {(size, 3) for size in range(1, 6)} and len(traced) <= THREADS * 5


def test_threads_may_fail_each_for_itself():
    def work(n):
        for _ in range(50):
            with pytest.raises(wootz.ShapeError, match=f"{n + 2}"):
                (wootz.ones(n + 2) + wootz.ones(n + 20)).eval()

    together(work)

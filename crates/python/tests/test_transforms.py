"""compile, eval, explain; threads, signals, and errors out of traced functions."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import wootz
from oracle import check


def test_a_compiled_function_is_traced_once_for_each_signature():
    traced = []

    @wootz.compile
    def f(x, y, scale=2.0):
        traced.append(x.shape)
        return {"sum": (x + y) * scale, "both": (x, [y])}

    a, b = wootz.ones((2, 3)), wootz.ones((2, 3))
    for _ in range(3):
        result = f(a, b)
        assert result["sum"].tolist() == [[4.0] * 3] * 2 and isinstance(result["both"][1], list)
    assert len(traced) == 1
    f(a, b, scale=3.0)
    f(wootz.ones(4), np.ones(4, np.float32))
    assert len(traced) == 3 and f.__name__ == "f" and "compiled f" in repr(f)
    assert "step" in f.explain(a, b).lower() or len(f.explain(a, b)) > 20


def test_a_compiled_function_sees_new_values_each_time():
    double = wootz.compile(lambda x: x * 2)
    for value in range(5):
        assert double(wootz.full(3, value)).tolist() == [value * 2] * 3
    captured = wootz.asarray([1.0, 2.0])
    shifted = wootz.compile(lambda x: x + captured)
    assert shifted(wootz.ones(2)).tolist() == [2.0, 3.0]


def test_a_compiled_function_follows_its_arguments_to_other_devices():
    other = [device for device in wootz.devices() if device != wootz.default_device()]
    if not other:
        pytest.skip("there is one device")
    double = wootz.compile(lambda x: x * 2)
    for device in [wootz.default_device(), other[0], wootz.default_device()]:
        result = double(wootz.asarray([1.0, 2.0], device=device))
        assert result.tolist() == [2.0, 4.0] and result.device == device


def test_work_is_started_and_whoever_reads_waits():
    for device in wootz.devices():
        x = wootz.ones((64, 64), device=device)
        y = x @ x
        z = (y + 1).sum()
        assert wootz.eval_async(y, z) is None
        assert float(z) == 64 * 64 * 65 and y.tolist()[3][5] == 64.0
        beyond = wootz.take(x, wootz.asarray([99], device=device), axis=0)
        with pytest.raises(wootz.OutOfRangeError):
            wootz.eval_async(beyond)
            beyond.tolist()
        assert float((y + 2).sum()) == 64 * 64 * 66, "other work goes on"


def test_exceptions_of_traced_functions_come_out_as_they_are():
    class Mine(Exception):
        pass

    @wootz.compile
    def broken(x):
        raise Mine("inside")

    for _ in range(2):
        with pytest.raises(Mine, match="inside"):
            broken(wootz.ones(2))

    with pytest.raises(wootz.ShapeError):
        wootz.compile(lambda x: x @ x)(wootz.ones((2, 3)))
    with pytest.raises(ValueError):
        wootz.compile(lambda x: x.item())(wootz.ones(1))
    with pytest.raises(TypeError):
        wootz.compile(3)
    with pytest.raises(TypeError):
        wootz.compile(lambda x, y: x)(wootz.ones(1), {1, 2})


def test_calls_of_other_kinds_may_follow_each_other():
    add = wootz.compile(lambda x, y: x + y)
    x = wootz.asarray([1.0, 2.0])
    for _ in range(2):
        assert add(x, x).tolist() == [2.0, 4.0]
        assert add(x, 3).tolist() == [4.0, 5.0]
        assert add(x, np.ones(2, np.float32)).tolist() == [2.0, 3.0]
        assert add(x[::-1], x).tolist() == [3.0, 3.0]
        assert add(y=x, x=wootz.ones((3, 2))).shape == (3, 2)


def test_values_that_are_no_arrays_pass_through_a_compiled_function():
    assert wootz.compile(lambda x, n: (x + n, n, None))(wootz.ones(1), 4)[1:] == (4, None)


def test_eval_takes_structures_and_explain_shows_the_plan():
    x = wootz.ones((8, 8)) * 2
    y, z = x.exp(), x @ x
    wootz.eval([y, {"z": z}], (x,))
    assert x.is_evaluated and y.is_evaluated and z.is_evaluated
    wootz.eval()
    text = wootz.explain((wootz.random.normal((16, 16), seed=1) * 3).exp().sum(axis=1))
    assert "sum" in text or "reduce" in text
    assert isinstance((x + 1).explain(), str)


def test_threads_compute_at_once_and_right():
    results, errors = {}, []

    def work(seed):
        try:
            for _ in range(20):
                x = wootz.random.normal((64, 64), seed=seed)
                results[seed] = ((x @ x).tanh().sum() + x[0, 0]).item()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors
    for seed in range(8):
        x = wootz.random.normal((64, 64), seed=seed)
        # How many threads share a sum decides the order of its additions.
        assert results[seed] == pytest.approx(((x @ x).tanh().sum() + x[0, 0]).item(), abs=1e-3)


def test_assignments_from_threads_are_not_lost():
    x = wootz.zeros(400, dtype="int64")

    def work(start):
        for i in range(start, 400, 8):
            x[i] = i
            x.__iadd__(0)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert x.tolist() == list(range(400))


def test_compiled_functions_are_shared_by_threads():
    f = wootz.compile(lambda x: (x * x).sum())
    found = []

    def work(n):
        for _ in range(10):
            found.append(f(wootz.full((n + 1,), 2.0)).item() == 4.0 * (n + 1))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 60 and all(found)


def test_other_threads_run_while_an_evaluation_does():
    x = wootz.random.normal((900, 900), seed=0).eval()
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    time.sleep(0.01)
    start = time.perf_counter()
    product = x @ x @ x @ x @ x
    product.eval()
    end = time.perf_counter()
    stop.set()
    thread.join()
    inside = [each for each in ticks if start < each < end]
    assert len(inside) >= 3, f"{len(inside)} ticks in {end - start:.3f} s"


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
@pytest.mark.parametrize("work", ["long_work(x).eval()", "wootz.compile(long_work)(x)"])
def test_ctrl_c_interrupts_a_long_evaluation(work):
    program = """
import os, signal, sys, threading, time, wootz
x = wootz.random.normal((2000, 2000), seed=0).eval()

def long_work(x):
    y = x
    for _ in range(60):
        y = (y @ x) * 0.01
    return y

threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    WORK
    print("finished", time.perf_counter() - start)
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - start)
    print((wootz.ones(3) + 1).tolist())
    start = time.process_time()
    time.sleep(0.3)
    print("busy" if time.process_time() - start > 0.1 else "at rest")
"""
    program = program.replace("WORK", work)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.startswith("interrupted"), done.stdout + done.stderr
    assert "[2.0, 2.0, 2.0]" in done.stdout and done.stdout.endswith("at rest\n"), done.stdout


@pytest.mark.parametrize("interruptibly", [False, True])
def test_a_panic_is_an_exception_and_the_process_lives_on(interruptibly, capfd):
    with pytest.raises(wootz.InternalError, match="on purpose") as caught:
        wootz._native._panic("on purpose", interruptibly)
    assert isinstance(caught.value, RuntimeError) and isinstance(caught.value, wootz.Error)
    assert (wootz.ones(2) + 1).tolist() == [2.0, 2.0]


def test_devices():
    names = [device.name for device in wootz.devices()]
    assert "cpu" in names and wootz.Device("cpu").kind == "cpu"
    x = wootz.ones(3, device="cpu")
    check(x.to_device("cpu") + 1, np.full(3, 2, np.float32))
    assert wootz.Device("cpu").memory()["limit"] > 0 and wootz.Device("cpu").facts["threads"]
    with pytest.raises(ValueError):
        wootz.Device("toaster")
    with pytest.raises(TypeError):
        wootz.ones(3, device=5)
    wootz.Device("cpu").trim()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_computes_without_its_parents_threads():
    program = """
import os, wootz
x = wootz.random.normal((400, 400), seed=0)
total = (x @ x).sum().item()
child = os.fork()
if child == 0:
    same = abs((x @ x + 0).sum().item() - total) < 1e-1 * abs(total) + 1
    os._exit(0 if same else 1)
_, status = os.waitpid(child, 0)
print("child", os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "child 0", done.stdout + done.stderr

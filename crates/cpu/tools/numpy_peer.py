"""The NumPy side of examples/versus_numpy: reads `repeats case` per line, runs the case that often,
answers the seconds per run.

Outputs are preallocated wherever NumPy lets us, so that page faults are not counted against it.
"""
import sys
import time
import numpy as np

rng = np.random.default_rng(1)
cache = {}


def data(*shape):
    if shape not in cache:
        cache.clear()
        cache[shape] = [rng.standard_normal(shape, dtype=np.float32) for _ in range(2)] + [
            np.empty(shape, dtype=np.float32)
        ]
    return cache[shape]


def softmax(x, out):
    np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, out.sum(axis=-1, keepdims=True), out=out)


def job(name):
    kind, _, size = name.partition(" ")
    if kind == "matmul":
        a, b, c = data(int(size), int(size))
        return lambda: np.matmul(a, b, out=c)
    if kind == "matmul_f64":
        a, b, c = (m.astype(np.float64) for m in data(int(size), int(size)))
        return lambda: np.matmul(a, b, out=c)
    if kind == "gemv":
        n = int(size)
        a, b, _ = data(n, n)
        v, o = b[0].copy(), np.empty(n, dtype=np.float32)
        return lambda: np.matmul(a, v, out=o)
    if kind == "softmax":
        a, _, c = data(1024, 4096)
        return lambda: softmax(a, c)
    if kind.startswith("sum_axis"):
        a, _, _ = data(4096, 4096)
        o = np.empty(4096, dtype=np.float32)
        return lambda: np.sum(a, axis=int(kind[-1]), out=o)
    if kind == "transpose":
        a, _, c = data(4096, 4096)
        return lambda: np.copyto(c, a.T)
    a, b, c = data(10_000_000)
    return {
        "exp": lambda: np.exp(a, out=c),
        "sin": lambda: np.sin(a, out=c),
        "tanh": lambda: np.tanh(a, out=c),
        "add": lambda: np.add(a, b, out=c),
        "sum": lambda: np.sum(a),
        "max": lambda: np.max(a),
        "argmax": lambda: np.argmax(a),
        "copy": lambda: np.copyto(c, a),
    }[kind]


current, run = None, None
for line in sys.stdin:
    repeats, _, name = line.strip().partition(" ")
    repeats = int(repeats)
    if name != current:
        current, run = name, job(name)
        run()
    run()
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    print((time.perf_counter() - start) / repeats, flush=True)

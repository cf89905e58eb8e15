"""What Python costs: Wootz beside NumPy, in turns, on the same data.

Each ratio is the time of Wootz over that of NumPy, the best of many rounds each. `python bench/python_overhead.py [--json]`
"""

import argparse
import json
import time

import numpy as np

import wootz


def once(function, repeats):
    """The time of one call, in seconds, over some calls."""
    start = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - start) / repeats


def side_by_side(ours, theirs, repeats, seconds=2.0):
    """The shortest times of both, in turns for as long as a busy machine may need to come to rest."""
    times = [float("inf"), float("inf")]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, function in enumerate((ours, theirs)):
            times[i] = min(times[i], once(function, repeats))
    return times


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def cases():
    device = "cpu"
    a16, b16 = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    wa, wb = wootz.asarray(a16, device=device), wootz.asarray(b16, device=device)
    yield "one add of 16 elements, evaluated", lambda: (wa + wb).eval(), lambda: a16 + b16, 2000
    la, lb = a16.tolist(), b16.tolist()
    yield (
        "two arrays of 16 from lists, one add",
        lambda: (wootz.asarray(la, device=device) + wootz.asarray(lb, device=device)).eval(),
        lambda: np.asarray(la, np.float32) + np.asarray(lb, np.float32),
        1000,
    )
    add = wootz.compile(lambda a, b: a + b)
    yield "one add of 16 elements, compiled", lambda: add(wa, wb), lambda: a16 + b16, 1000
    a1000, b1000 = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    wa1000, wb1000 = wootz.asarray(a1000, device=device), wootz.asarray(b1000, device=device)
    yield "one add of 1000 elements, evaluated", lambda: (wa1000 + wb1000).eval(), lambda: a1000 + b1000, 2000
    yield "sum of 1000 elements", lambda: wa1000.sum().eval(), lambda: a1000.sum(), 1000
    yield "a slice, x[10:500]", lambda: wa1000[10:500], lambda: a1000[10:500], 2000
    yield "an element, float(x[7])", lambda: float(wa1000[7]), lambda: float(a1000[7]), 2000
    generator = np.random.default_rng(0)
    for n in (64, 256):
        m, k = (generator.normal(size=(n, n)).astype(np.float32) for _ in range(2))
        wm, wk = wootz.asarray(m, device=device), wootz.asarray(k, device=device)
        yield f"product of {n} x {n}", lambda a=wm, b=wk: (a @ b).eval(), lambda a=m, b=k: a @ b, 100
    x, y = (generator.normal(size=10_000_000).astype(np.float32) for _ in range(2))
    wx, wy = wootz.asarray(x, device=device), wootz.asarray(y, device=device)
    yield (
        "exp(-(x*x + y*y)) * x / (1 + |y|), 10M",
        lambda: (wootz.exp(-(wx * wx + wy * wy)) * wx / (1 + wy.abs())).eval(),
        lambda: np.exp(-(x * x + y * y)) * x / (1 + np.abs(y)),
        1,
    )
    rows = generator.normal(size=(1024, 4096)).astype(np.float32)
    wrows = wootz.asarray(rows, device=device)
    yield "softmax of 1024 x 4096", lambda: wrows.softmax().eval(), lambda: softmax(rows), 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to take turns, for each case")
    options = parser.parse_args()
    results = []
    for name, ours, theirs, repeats in cases():
        mine, other = side_by_side(ours, theirs, repeats, options.seconds)
        results.append({"case": name, "wootz_us": mine * 1e6, "numpy_us": other * 1e6, "ratio": mine / other})
    if options.json:
        print(json.dumps(results, indent=2))
        return
    print(f"{'case':<40} {'wootz us':>10} {'numpy us':>10} {'ratio':>7}")
    for each in results:
        print(f"{each['case']:<40} {each['wootz_us']:>10.2f} {each['numpy_us']:>10.2f} {each['ratio']:>7.2f}")


if __name__ == "__main__":
    main()

"""Everyday programs, the same text over NumPy and over Wootz, timed in turns.

``python bench/everyday.py [NAME ...]`` or ``wootz bench --suite everyday`` prints how many times as fast as NumPy each one is. Each
program is a function of a module and of arrays made there; ``crates/python/tests/test_everyday.py`` compares their values.
"""

import argparse
import json
import sys
import time

import numpy as np

RNG = np.random.default_rng(0)


def f32(*shape):
    return RNG.normal(size=shape).astype(np.float32)


PROGRAMS = {}


def program(**inputs):
    """Registers a program under its name, with a function that makes its inputs."""

    def register(function):
        PROGRAMS[function.__name__.strip("_")] = (function, inputs)
        return function

    return register


@program(points=lambda: RNG.random((500_000, 2)).astype(np.float32))
def pi(xp, points):
    return 4.0 * xp.mean(((points * points).sum(1) <= 1.0).astype(xp.float32))


@program(a=lambda: f32(600, 3), b=lambda: f32(600, 3))
def pairwise_distances(xp, a, b):
    return xp.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(-1))


@program(q=lambda: f32(200_000, 2))
def short_rows_2(xp, q):
    return (q * q).sum(1)


@program(q=lambda: f32(100_000, 8))
def short_rows_8(xp, q):
    return (q * q).sum(1)


@program(x=lambda: f32(1_000_000))
def square(xp, x):
    return x**2


@program(x=lambda: RNG.random(1_000_000) < 0.3)
def nonzero(xp, x):
    return xp.nonzero(x)[0]


@program(a=lambda: RNG.integers(0, 256, 1_000_000).astype(np.uint8), b=lambda: RNG.integers(0, 256, 1_000_000).astype(np.uint8))
def add_bytes(xp, a, b):
    return a + b


@program(a=lambda: f32(20_000, 4, 4), b=lambda: f32(20_000, 4, 4))
def small_products(xp, a, b):
    return a @ b


@program(x=lambda: RNG.integers(-(10**6), 10**6, 1_000_000).astype(np.int32))
def divide_integers(xp, x):
    return x // 7


@program(x=lambda: f32(1_000_000))
def argmax(xp, x):
    return xp.argmax(x)


@program(x=lambda: f32(1_000_000))
def sort(xp, x):
    return xp.sort(x)


@program(x=lambda: f32(1_000_000), index=lambda: RNG.integers(0, 1_000_000, 1_000_000))
def gather(xp, x, index):
    return xp.take(x, index)


@program(x=lambda: RNG.integers(0, 1000, 1_000_000).astype(np.int32))
def unique(xp, x):
    return xp.unique(x)


@program(board=lambda: (RNG.random((512, 512)) < 0.3).astype(np.uint8))
def life(xp, board):
    for _ in range(3):
        rows = board + xp.roll(board, 1, 0) + xp.roll(board, -1, 0)
        around = rows + xp.roll(rows, 1, 1) + xp.roll(rows, -1, 1) - board
        board = ((around == 3) | ((board == 1) & (around == 2))).astype(xp.uint8)
    return board


@program(a=lambda: f32(16), b=lambda: f32(16))
def small_add(xp, a, b):
    return a + b


@program(a=lambda: f32(1000), b=lambda: f32(1000))
def medium_add(xp, a, b):
    return a + b


@program(x=lambda: f32(1000))
def write_elements(xp, x):
    x = xp.array(x)
    for i in range(300):
        x[i] = i * 0.5
    return x


@program(x=lambda: f32(200, 300), row=lambda: f32(300))
def write_rows(xp, x, row):
    x = xp.array(x)
    for i in range(200):
        x[i] = row
    return x


@program(x=lambda: f32(1000))
def iterate(xp, x):
    return sum([float(v) for v in x])


@program(points=lambda: f32(20_000, 4), centres=lambda: f32(16, 4))
def k_means(xp, points, centres):
    for _ in range(3):
        distances = ((points[:, None, :] - centres[None]) ** 2).sum(-1)
        nearest = xp.argmin(distances, 1)
        member = (nearest[:, None] == xp.arange(16)).astype(xp.float32)
        centres = (member.T @ points) / (member.sum(0)[:, None] + 1e-6)
    return centres


@program(x=lambda: f32(1, 256), w1=lambda: f32(256, 1024) / 16, w2=lambda: f32(1024, 256) / 32)
def mlp_row(xp, x, w1, w2):
    return xp.maximum(x @ w1, 0) @ w2


@program(c=lambda: (RNG.random((300, 400)) * 3 - 2).astype(np.float32), d=lambda: (RNG.random((300, 400)) * 3 - 1.5).astype(np.float32))
def mandelbrot(xp, c, d):
    re, im, count = c * 0, d * 0, c * 0
    for _ in range(12):
        re, im = re * re - im * im + c, 2 * re * im + d
        inside = (re * re + im * im) < 4.0
        count = count + inside
        re, im = xp.where(inside, re, 2.0), xp.where(inside, im, 2.0)
    return count


@program(x=lambda: f32(600, 600))
def blur(xp, x):
    for _ in range(3):
        x = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[1:-1, 1:-1]) * 0.2
    return x


@program(p=lambda: f32(300, 3), m=lambda: RNG.random(300).astype(np.float32))
def n_body(xp, p, m):
    d = p[None, :, :] - p[:, None, :]
    inverse = ((d * d).sum(-1) + 0.01) ** -1.5
    return (d * (inverse * m)[:, :, None]).sum(1)


@program(x=lambda: f32(200_000))
def histogram(xp, x):
    return xp.histogram(x, 50, (-4, 4))[0]


@program(text=lambda: RNG.integers(97, 123, 300_000).astype(np.int64))
def letter_counts(xp, text):
    counts = xp.bincount(text - 97, minlength=26)
    pairs = xp.bincount((text[:-1] - 97) * 26 + text[1:] - 97, minlength=676)
    return counts / counts.sum(), pairs.max()


@program(x=lambda: f32(4000, 64), v=lambda: f32(64))
def power_iteration(xp, x, v):
    x = x - x.mean(0)
    for _ in range(10):
        v = x.T @ (x @ v)
        v = v / xp.sqrt((v * v).sum())
    return abs(v)


@program(data=lambda: f32(4000, 32), query=lambda: f32(50, 32))
def nearest_neighbours(xp, data, query):
    distances = (query * query).sum(1)[:, None] + (data * data).sum(1) - 2.0 * (query @ data.T)
    return xp.sort(distances, 1)[:, :5]


@program(x=lambda: f32(400, 400), kernel=lambda: f32(3, 3))
def convolution(xp, x, kernel):
    total = 0
    for i in range(3):
        for j in range(3):
            total = total + x[i : i + 398, j : j + 398] * kernel[i, j]
    return total


@program(x=lambda: f32(500_000))
def running_statistics(xp, x):
    total = xp.cumsum(x)
    window = (total[100:] - total[:-100]) / 100.0
    return window.mean(), window.std(), window.max()


@program(values=lambda: f32(50_000), rows=lambda: RNG.integers(0, 1000, 200_000), columns=lambda: RNG.integers(0, 50_000, 200_000))
def sparse_product(xp, values, rows, columns):
    return xp.bincount(rows, xp.take(values, columns), 1000)


@program(x=lambda: f32(300_000))
def standardise(xp, x):
    return (x - x.mean()) / x.std()


@program(x=lambda: f32(512, 1000))
def softmax_rows(xp, x):
    e = xp.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def made(xp, name):
    """The program and its inputs in a module."""
    global RNG
    RNG = np.random.default_rng(7)
    function, inputs = PROGRAMS[name]
    return function, {key: xp.asarray(make()) for key, make in inputs.items()}


def runner(xp, name):
    """A function that runs the program to its end."""
    function, inputs = made(xp, name)
    if xp is np:
        return lambda: function(np, **inputs)
    xp.eval(inputs)

    def run():
        result = function(xp, **inputs)
        xp.eval(result)
        return result

    return run


def ratio(wz, name, seconds=0.4):
    """How many times as fast as NumPy, and the microseconds of both: the best of turns."""
    ours, theirs = runner(wz, name), runner(np, name)
    best = [float("inf"), float("inf")]
    for run in (ours, theirs):
        run()
    started = time.perf_counter()
    turns = 0
    while turns < 5 or time.perf_counter() - started < seconds:
        # In changing order, because whoever comes second may find what the first has left in the caches.
        for i, run in ((0, ours), (1, theirs))[:: 1 if turns % 2 else -1]:
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
        turns += 1
    return best[1] / best[0], best[0] * 1e6, best[1] * 1e6


def main():
    parser = argparse.ArgumentParser(prog="everyday", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs to run [default: all]")
    parser.add_argument("--filter", default="", help="only programs whose name contains this text")
    parser.add_argument("--seconds", type=float, default=0.4, help="seconds for each program [default: 0.4]")
    parser.add_argument("--least", type=float, help="fail if a program is below this ratio")
    parser.add_argument("--json", action="store_true", help="print figures instead of a table")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in PROGRAMS]
    if unknown:
        sys.exit(f"everyday: no program is called {unknown[0]!r}; there are {', '.join(PROGRAMS)}")
    try:
        import wootz as wz
    except ImportError as error:
        sys.exit(f"everyday: {error}; the module has to be installed for {sys.executable}")

    names = [name for name in options.names or PROGRAMS if options.filter in name]
    results = []
    for name in names:
        times, ours, theirs = ratio(wz, name, options.seconds)
        results.append({"name": name, "ratio": times, "wootz_us": ours, "numpy_us": theirs})
        if not options.json:
            print(f"{name:<20} {times:6.2f}   {ours:10.1f} µs, NumPy {theirs:10.1f} µs", flush=True)
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        print(f"{len(names)} programs")
    below = [each["name"] for each in results if options.least is not None and each["ratio"] < options.least]
    if below:
        sys.exit(f"slower than {options.least} times NumPy: {', '.join(below)}")


if __name__ == "__main__":
    main()

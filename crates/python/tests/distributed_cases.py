"""Run on every rank by test_distributed.py: each collective against NumPy on what mpi4py says the other ranks have."""

import os
import sys

import ml_dtypes
import numpy as np
from mpi4py import MPI

import wootz
from wootz import distributed as dist

FULL = os.environ.get("WOOTZ_FULL") == "1"
DTYPES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
# Around what goes along with the header (16 KiB), and around nothing.
SHAPES = [(), (1,), (7,), (4, 3, 5), (4100, 4), (12, 1024)] + ([(0,), (60_000, 4), (1 << 20,)] if FULL else [])

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def values(name, shape, of):
    """What a rank has: small integers, so that sums are exact in every dtype, and a NaN among floats."""
    rng = np.random.default_rng([of, len(shape), sum(shape), DTYPES.index(name)])
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    signed = not name.startswith("u")
    x = rng.integers(-10 if signed else 0, 25, shape).astype(numpy_dtype(name))
    if "float" in name and x.size > 3:
        x.reshape(-1)[of % x.size] = np.nan
    return x


def same(got, expected, what):
    got = np.asarray(got) if got.dtype != wootz.bfloat16 else np.frombuffer(got.tobytes(), ml_dtypes.bfloat16).reshape(got.shape)
    assert got.shape == expected.shape, f"{what}: {got.shape} instead of {expected.shape}"
    assert got.dtype == expected.dtype, f"{what}: {got.dtype} instead of {expected.dtype}"
    equal = np.array_equal(got.astype(np.float64), expected.astype(np.float64), equal_nan=True)
    assert equal, f"{what}: {got} instead of {expected}"


def array_of(x, name):
    if name == "bfloat16":
        return wootz.asarray(x.astype(np.float32)).astype(wootz.bfloat16)
    return wootz.asarray(x)


def check(name, shape):
    own = values(name, shape, rank)
    every = comm.allgather(own)  # as mpi4py moves them, not as this rank imagines them
    x = array_of(own, name)
    sum_of = np.logical_or.reduce(every) if name == "bool" else sum(e.astype(np.float64) for e in every)
    dtype = numpy_dtype(name)
    wide = [e.astype(np.float64) for e in every]
    what = f"{name}{list(shape)} on {size} ranks"
    with np.errstate(all="ignore"):
        expected = np.asarray(sum_of)
        if name.startswith(("uint", "int")):
            expected = np.asarray(sum(e.astype(np.int64) for e in every))
        same(dist.all_sum(x), expected.astype(dtype), f"all_sum {what}")
        same(dist.all_max(x), np.asarray(np.maximum.reduce(wide)).astype(dtype), f"all_max {what}")
        same(dist.all_min(x), np.asarray(np.minimum.reduce(wide)).astype(dtype), f"all_min {what}")
        joined = np.stack(every) if shape == () else np.concatenate(every)
        same(dist.all_gather(x), joined, f"all_gather {what}")
        for root in {0, size - 1}:
            same(dist.broadcast(x, root), every[root], f"broadcast {what}")
        if shape and shape[0] % size == 0 and size > 1:
            part = shape[0] // size
            scattered = expected.astype(dtype)[rank * part : (rank + 1) * part]
            same(dist.sum_scatter(x), scattered, f"sum_scatter {what}")
    if size > 1 and own.size:
        # Round the ring: even ranks send first.
        to, source = (rank + 1) % size, (rank - 1) % size
        like = array_of(values(name, shape, 99), name)
        if rank % 2 == 0:
            same(dist.send(x, to), own, f"send {what}")
            got = dist.recv_like(like, source)
        else:
            got = dist.recv(shape, x.dtype, source)
            wootz.eval(got)
            wootz.eval(dist.send(x, to))
        same(got, every[source], f"recv {what}")


def graphs():
    """Collectives among other ops: lazy, fused around, compiled, in order."""
    x = wootz.asarray(np.arange(6, dtype=np.float32) + rank)
    y = (dist.all_sum(x * 2.0) + 1.0).sum()
    assert size == 1 or "all_sum of" in wootz.explain(y), wootz.explain(y)
    total = sum(np.arange(6) * 2.0 + 2.0 * r for r in range(size))
    assert abs(float(y) - float((total + 1).sum())) < 1e-3
    assert dist.init().traffic()["operations"] > 0 or size == 1
    whole = wootz.asarray(np.arange(35, dtype=np.float32).reshape(7, 5))
    for axis in (0, 1):
        part = dist.shard(whole, axis)
        assert size == 1 or part.local.shape[axis] < whole.shape[axis]
        same(dist.gather(part * 3.0), np.arange(35, dtype=np.float32).reshape(7, 5) * 3, "gather")
    half = dist.init().split(rank % 2)
    assert half.size() == len(range(rank % 2, size, 2)) and half.rank() == rank // 2
    same(dist.all_sum(wootz.asarray([rank]), group=half), np.asarray([sum(range(rank % 2, size, 2))]), "a part of the ranks")
    dist.barrier()


def refused(words, work):
    try:
        work()
    except wootz.errors.ArgumentError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def sharded(rows):
    """Sharded arrays against NumPy on whole ones; there may be fewer rows than ranks."""
    rng = np.random.default_rng(rows)
    a, b = (rng.integers(-9, 10, (rows, 5)).astype(np.float32) for _ in range(2))
    w, row, column = (rng.integers(1, 10, shape).astype(np.float32) for shape in ((5, 6), (5,), (rows, 1)))
    for axis in (0, -1):
        x, y = (dist.shard(wootz.asarray(v), axis) for v in (a, b))
        assert x.shape == a.shape and x.axis == axis % 2
        for got, expected in [
            (x + y, a + b), (x * 2.0, a * 2), (1.0 - x, 1 - a), (-x, -a), (abs(x), abs(a)), (x / wootz.asarray(row), a / row),
            (x + wootz.asarray(column), a + column), (wootz.asarray(b) * x, b * a), (x > y, a > b), (x == y, a == b),
            (x.map(wootz.exp), np.asarray(wootz.exp(wootz.asarray(a)))),
        ]:
            same(got.gather(), expected, "elementwise")
        for kept in (False, True):
            for name in ("sum", "max", "min"):
                for over in (None, 0, 1, (0, 1)):
                    got = getattr(x, name)(axis=over, keepdims=kept)
                    got = got.gather() if isinstance(got, dist.Sharded) else got
                    same(got, np.asarray(getattr(a, name)(axis=over, keepdims=kept)), f"{name} over {over}")
        same((x > 0.0).any(), np.asarray((a > 0).any()), "any")
        same((x > -99.0).all(), np.asarray(True), "all")
        assert abs(float(x.mean()) - a.mean()) < 1e-5
        product = x @ wootz.asarray(w)
        same(product.gather() if axis == 0 else product, a @ w, "matmul")
        product = wootz.asarray(np.ascontiguousarray(w.T)) @ dist.shard(wootz.asarray(np.ascontiguousarray(a.T)), axis)
        same(product.gather() if axis == -1 else product, w.T @ a.T, "matmul")
    by_columns, by_rows = dist.shard(wootz.asarray(np.ascontiguousarray(a.T)), 1), dist.shard(wootz.asarray(b), 0)
    same(by_columns @ by_rows, a.T @ b, "columns by rows")
    same((by_rows @ by_columns).gather(), b @ a.T, "rows by columns")
    whole = dist.sharded(by_rows.local, 0, rows)
    same(whole.gather(), b, "sharded")
    refused("not sharded in the same way", lambda: by_rows + dist.shard(wootz.asarray(b), 1))
    refused("has no reshape; call gather() first", lambda: by_rows.reshape(5, rows))
    refused("cannot be indexed", lambda: by_rows[0])
    refused("changes the sharded axis", lambda: by_rows.map(lambda x: x.sum()))
    refused("do not fit", lambda: by_rows + wootz.asarray(np.ones((rows + 2, 5), np.float32)))


def grids():
    """Products of matrices cut along both axes."""
    a, b = (np.arange(63, dtype=np.float32).reshape(7, 9) % 11, np.arange(45, dtype=np.float32).reshape(9, 5) % 7)
    for rows in range(1, size + 1):
        if size % rows:
            refused("do not fill", lambda: dist.init().grid(rows))
            continue
        grid = dist.init().grid(rows)
        assert grid.extents == (rows, size // rows)
        left, right = grid.shard(wootz.asarray(a)), grid.shard(wootz.asarray(b))
        same(grid.gather(grid.matmul(left, right, 9), (7, 5)), a @ b, f"blocks in {rows} rows")


def main():
    group = dist.init(strict=True)
    assert (group.rank(), group.size()) == (rank, size), (group, rank, size)
    for name in DTYPES:
        for shape in SHAPES:
            check(name, shape)
    graphs()
    for rows in (1, 4, 7):
        sharded(rows)
    grids()
    if rank == 0:
        print("passed on", size, "ranks:", dist.library()["interface"])


if __name__ == "__main__":
    sys.exit(main())

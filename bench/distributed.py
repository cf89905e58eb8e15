"""Sums over ranks beside mpi4py's own, on the same library and the same ranks, in turns.

    mpirun -n 2 python bench/distributed.py [--seconds 0.5] [--json]

Ours are timed twice: as arrays are added by users (a lazy array, evaluated), and as a compiled function. mpi4py's is `Allreduce` from
one NumPy array to another. A turn is as many sums as take about a tenth of the seconds; the best turn of each counts, on the rank
that took longest.
"""

import argparse
import json
import time

import numpy as np
from mpi4py import MPI

import wootz
from wootz import distributed

comm = MPI.COMM_WORLD
SIZES = [4, 1024, 16 << 10, 256 << 10, 1 << 20, 64 << 20]


def contenders(size):
    own = np.ones(size // 4, np.float32)
    total = np.empty_like(own)
    x = wootz.asarray(own)
    wootz.eval(x)
    summed = wootz.compile(lambda x: distributed.all_sum(x))

    def mpi4py():
        comm.Allreduce(own, total, op=MPI.SUM)
        return total

    return {"mpi4py": mpi4py, "wootz": lambda: wootz.eval(distributed.all_sum(x)), "wootz compiled": lambda: wootz.eval(summed(x))}


def timed(work, count):
    comm.Barrier()
    begin = time.perf_counter()
    for _ in range(count):
        work()
    return comm.allreduce((time.perf_counter() - begin) / count, op=MPI.MAX)


def measure(size, seconds):
    works = contenders(size)
    counts, best = {}, {}
    for name, work in works.items():
        timed(work, 1)
        counts[name] = max(1, min(5000, int(seconds / 10 / timed(work, 1))))
        best[name] = float("inf")
    for _ in range(15):
        for name, work in works.items():
            best[name] = min(best[name], timed(work, counts[name]))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    distributed.init(strict=True)
    results = {size: measure(size, args.seconds) for size in SIZES}
    if comm.rank:
        return
    if args.json:
        print(json.dumps({"ranks": comm.size, "library": distributed.library(), "seconds": results}, indent=2))
        return
    print(f"{comm.size} ranks, {distributed.library()['version']}")
    for size, best in results.items():
        base = best["mpi4py"]
        print(f"{size:>9} bytes  " + "  ".join(f"{name} {time * 1e6:9.2f} µs ({time / base:.2f}x)" for name, time in best.items()))


if __name__ == "__main__":
    main()

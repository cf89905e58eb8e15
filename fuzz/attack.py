#!/usr/bin/env python3
"""Attacks the Python package: what arrives there must end in an exception or a right result, never in a crash or a hang.

usage: fuzz/attack.py [SECONDS [KIND...]]

Kinds: dlpack (descriptors of foreign arrays), threads (shared arrays), forks (children of a busy process), memory (a limit
on the address space). Each runs for SECONDS (default: 60) in child processes with consecutive seeds, so that a crash costs
one of them; its seed is printed, and `fuzz/attack.py --seed KIND SEED` repeats it. Prints counts and outcomes.
"""

import collections
import ctypes
import mmap
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "crates/python/tests"))
from test_hardening import DlTensor  # noqa: E402 - the descriptor is defined once

EXTREMES = [0, 1, 2, 3, 7, 31, 2**12, 2**31, 2**32, 2**59, 2**60, 2**61, 2**62, 2**63 - 1, -1, -2, -(2**31), -(2**63)]
#: Type code, bits and the dtype that they are, for those that are supported.
DTYPES = {(0, 8): "i1", (0, 32): "<i4", (0, 64): "<i8", (1, 8): "u1", (1, 64): "<u8", (2, 32): "<f4", (2, 64): "<f8"}
ROOM = 1 << 28


class Producer:
    """A library that exports a random descriptor of real memory."""

    def __init__(self, rng, base):
        def number():
            return rng.choice(EXTREMES) if rng.random() < 0.2 else rng.randrange(9)

        rank = rng.choice([0, 1, 1, 2, 2, 3, 4, 12, 13, 40])
        self.dims = [number() for _ in range(rank)]
        self.steps = [number() * rng.choice([1, 1, -1]) for _ in range(rank)]
        self.shape = (ctypes.c_int64 * max(rank, 1))(*(self.wrap(d) for d in self.dims))
        self.strides = (ctypes.c_int64 * max(rank, 1))(*(self.wrap(s) for s in self.steps))
        code, bits = rng.choice(list(DTYPES)) if rng.random() < 0.9 else (rng.randrange(9), rng.randrange(256))
        self.dtype = DTYPES.get((code, bits))
        self.offset = rng.choice([0, 0, 0, 8, 24, 3, 2**32, 2**64 - 8])
        data = None if rng.random() < 0.05 else base
        lanes = 1 if rng.random() < 0.95 else rng.randrange(4)
        self.plain = data is not None and lanes == 1
        rank = rank if rng.random() < 0.97 else rng.choice([-1, 2**31 - 1])
        described = (rank, code, bits, lanes, self.shape, self.strides, self.offset)
        self.tensor = DlTensor(data, 1, 0, *described, None, None)

    @staticmethod
    def wrap(value):
        return (value + 2**63) % 2**64 - 2**63

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def dlpack(rng, wz, np, count):
    """Whatever is accepted has the shape that was said, and the values that NumPy finds there."""
    memory = mmap.mmap(-1, 2 * ROOM)
    start = np.frombuffer(memory, np.uint8)
    start[ROOM - 4096 : ROOM + 4096] = np.frombuffer(rng.randbytes(8192), np.uint8)
    base = start.ctypes.data + ROOM
    outcomes = collections.Counter()
    for _ in range(count):
        producer = Producer(rng, base)
        try:
            array = wz.from_dlpack(producer)
        except (wz.Error, MemoryError):
            outcomes["refused"] += 1
            continue
        assert array.shape == tuple(producer.dims) and producer.plain, (producer.dims, array.shape)
        size = np.dtype(producer.dtype).itemsize
        reach = sum(abs((d - 1) * s) for d, s in zip(producer.dims, producer.steps)) * size + producer.offset
        elements = int(np.prod([float(d) for d in producer.dims]))
        if elements > 100_000 or reach >= ROOM:
            outcomes["accepted, too large to be read"] += 1
            continue
        strides = [size * s for s in producer.steps]
        at = start[ROOM + producer.offset :][:size].view(producer.dtype)
        expected = np.lib.stride_tricks.as_strided(at, producer.dims, strides)
        np.testing.assert_array_equal(np.asarray(array), expected)
        outcomes["accepted and equal"] += 1
    return outcomes


def step(rng, wz, np, x):
    """One random operation on a small integer-valued array, and what it must give."""
    kind = rng.randrange(7)
    a = rng.randrange(1, 9)
    host = np.asarray(x).astype(np.float64)
    if kind == 0:
        return x * a + x, host * a + host
    if kind == 1:
        return (x + a).sum(), (host + a).sum()
    if kind == 2:
        return x.T @ x, host.T @ host
    if kind == 3:
        return wz.sort(x, axis=-1), np.sort(host, axis=-1)
    if kind == 4:
        return x[:, ::-1][: a % x.shape[0] + 1], host[:, ::-1][: a % x.shape[0] + 1]
    if kind == 5:
        return wz.concat([x, x + a], axis=0), np.concatenate([host, host + a])
    return wz.cumulative_sum(x, axis=1), np.cumsum(host, axis=1)


def inputs(rng, wz, device="cpu"):
    shapes = [(rng.randrange(1, 40), rng.randrange(1, 40)) for _ in range(6)]
    return [wz.astype(wz.reshape(wz.arange(a * b, device=device), (a, b)) % 13, wz.float32) for a, b in shapes]


def threads(rng, wz, np, count):
    """Threads share arrays, none of which is evaluated at first."""
    shared = inputs(rng, wz)
    outcomes, failures = collections.Counter(), []

    def work(seed):
        own = random.Random(seed)
        try:
            for _ in range(count // 6):
                got, expected = step(own, wz, np, own.choice(shared))
                np.testing.assert_array_equal(np.asarray(got), expected)
                outcomes["right"] += 1
        except BaseException as error:  # noqa: BLE001 - whatever it is, the parent must see it
            failures.append(error)

    workers = [threading.Thread(target=work, args=(rng.random(),)) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]
    return outcomes


def forks(rng, wz, np, count):
    """Children of a process whose threads are at work compute on the CPU."""
    shared, stop = inputs(rng, wz), threading.Event()

    def busy():
        own = random.Random(1)
        while not stop.is_set():
            np.asarray(step(own, wz, np, own.choice(shared))[0])

    workers = [threading.Thread(target=busy) for _ in range(3)]
    for worker in workers:
        worker.start()
    outcomes = collections.Counter()
    try:
        for i in range(max(count // 50, 1)):
            child = os.fork()
            if child == 0:
                got, expected = step(random.Random(i), wz, np, shared[i % 6])
                os._exit(0 if np.array_equal(np.asarray(got), expected) else 3)
            end = time.monotonic() + 60
            while not (done := os.waitpid(child, os.WNOHANG))[0]:
                if time.monotonic() > end:
                    os.kill(child, 9)
                    raise TimeoutError(f"child {i} hangs")
                time.sleep(0.001)
            assert done[1] == 0, f"child {i}: {done[1]}"
            outcomes["right"] += 1
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    return outcomes


def memory(rng, wz, np, count):
    """With little memory left, an operation is right or an exception."""
    import resource

    outcomes = collections.Counter()
    small = inputs(rng, wz)
    for x in small:
        np.asarray(x)
    size = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    for _ in range(max(count // 20, 1)):
        n = rng.choice([1000, 10**6, 10**7, 10**8])
        limit = size + rng.choice([1 << 20, 1 << 24, 1 << 26, 1 << 28])
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        try:
            x = wz.ones((n,), dtype=wz.uint8, device="cpu") + 1
            kind = rng.randrange(4)
            if kind == 0:
                assert int(x.astype(wz.int64).sum()) == 2 * n
            elif kind == 1:
                assert x.tobytes()[-1:] == b"\x02"
            elif kind == 2:
                assert int(wz.cumulative_sum(x.astype(wz.float64))[-1]) == 2 * n
            else:
                got, expected = step(rng, wz, np, rng.choice(small))
                np.testing.assert_array_equal(np.asarray(got), expected)
            outcomes["right"] += 1
        except (MemoryError, wz.Error):
            outcomes["out of memory"] += 1
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return outcomes


KINDS = {"dlpack": dlpack, "threads": threads, "forks": forks, "memory": memory}
COUNT = 2000


def child(kind, seed):
    import numpy as np

    import wootz as wz

    for outcome, number in KINDS[kind](random.Random(int(seed)), wz, np, COUNT).items():
        print(f"{number} {outcome}")


def attack(kind, seconds):
    """Whether all children ended well."""
    end, seed, outcomes = time.monotonic() + seconds, 0, collections.Counter()
    while seed == 0 or time.monotonic() < end:
        command = [sys.executable, __file__, "--seed", kind, str(seed)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            failure = f"exit code {done.returncode}\n{done.stderr}" if done.returncode else None
        except subprocess.TimeoutExpired:
            failure = "no end"
        if failure:
            print(f"{kind}: FAILED with seed {seed}: {failure}", file=sys.stderr)
            return False
        for line in done.stdout.splitlines():
            number, outcome = line.split(" ", 1)
            outcomes[outcome] += int(number)
        seed += 1
    print(f"{kind}: {seed} processes, " + ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items()))
    return True


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--seed"]:
        child(*arguments[1:])
        return 0
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    seconds = float(arguments[0]) if arguments else 60
    kinds = arguments[1:] or list(KINDS)
    return 0 if all([attack(kind, seconds) for kind in kinds]) else 1


if __name__ == "__main__":
    sys.exit(main())

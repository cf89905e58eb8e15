"""Runs one kernel through the `softmetal` binary, plain and with the checker, and compares with NumPy."""
import json, os, pathlib, struct, subprocess, tempfile
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("SOFTMETAL", str(ROOT / "target/debug/softmetal"))


class Args:
    """A C struct built field by field with C alignment."""

    def __init__(self):
        self.data = b""
        self.align = 1

    def add(self, code, *values):
        size = struct.calcsize("<" + code)
        self.align = max(self.align, size)
        self.data += b"\0" * (-len(self.data) % size)
        for v in values:
            self.data += struct.pack("<" + code, v)
        return self

    def i32(self, *v): return self.add("i", *v)
    def i64(self, *v): return self.add("q", *v)
    def f32(self, *v): return self.add("f", *v)
    def i16(self, *v): return self.add("h", *v)

    def bytes(self):
        return self.data + b"\0" * (-len(self.data) % self.align)


class Failure(Exception):
    pass


def run(source, kernel, groups, threads, args, out, threadgroup=(), flags=()):
    """`args` are arrays (buffers), Args, or ('f32', 1.0) scalars; gives the buffer at index `out` of both runs."""
    results = []
    for extra in ([], ["--sanitize"]):
        with tempfile.TemporaryDirectory() as d:
            command = [BINARY, "run", str(source), kernel, "--groups", "x".join(map(str, groups)), "--threads", "x".join(map(str, threads)), "--json", "--exact", *flags, *extra]
            for i, a in enumerate(args):
                if a is None:
                    continue
                if isinstance(a, Args):
                    pathlib.Path(f"{d}/{i}.bin").write_bytes(a.bytes())
                    command += ["--arg", f"{i}=bytes:{d}/{i}.bin"]
                elif isinstance(a, tuple):
                    command += ["--arg", f"{i}={a[0]}:{a[1]}"]
                else:
                    np.save(f"{d}/{i}.npy", np.ascontiguousarray(a))
                    command += ["--arg", f"{i}={d}/{i}.npy"]
            for i, n in enumerate(threadgroup):
                command += ["--threadgroup", f"{i}={n}"]
            command += ["--out", f"{out}={d}/out.npy"]
            p = subprocess.run(command, capture_output=True, text=True)
            if p.returncode != 0:
                what = p.stderr
                if p.stdout:
                    what += json.loads(p.stdout).get("error") or ""
                failure = Failure(("checker: " if extra else "") + what.strip()[:1500])
                if not extra:
                    raise failure
                results.append(failure)
            else:
                results.append(np.load(f"{d}/out.npy"))
    return results


def close(results, want, tolerance):
    """Raises one Failure that names everything that is wrong with the plain and the checked run."""
    wrong = []
    want = np.asarray(want, dtype=np.float64).ravel()
    for label, got in zip(("plain", "checked"), results):
        if isinstance(got, Failure):
            wrong.append(str(got))
            continue
        got = np.asarray(got, dtype=np.float64).ravel()
        if got.shape != want.shape:
            wrong.append(f"{label}: {got.shape} values, {want.shape} expected")
            continue
        error = np.max(np.abs(got - want) / (np.abs(want) + 1.0))
        if not error <= tolerance:
            wrong.append(f"{label}: relative error {error:.3g}, at most {tolerance:g} expected")
    if wrong:
        raise Failure("\n".join(wrong))

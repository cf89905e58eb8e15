"""Apple-compiled kernels of MLX on SoftMetal.

usage: metallib.py [check] [numpy] [pairs] [--full] [--only WORD]

check  every kernel of mlx.metallib becomes native code (a sample of one in fifty unless --full)
numpy  kernels run with the checker on, and agree with NumPy
pairs  the same kernels from MLX's headers by SoftMetal's own front end agree with Apple's bitcode, bit for bit or within a stated bound

Without --full, one case of each family and type is run. Needs numpy, pip, and `cargo build -p softmetal`.
"""
import collections, concurrent.futures, json, pathlib, subprocess, sys, tempfile, time
import numpy as np
import fetch, mlx_cases, mlx_wheel
from harness import BINARY, Args


def execute(file, case, flags):
    """The output buffer of one run; raises with the message of a failure."""
    with tempfile.TemporaryDirectory() as d:
        command = [BINARY, "run", str(file), case.name, "--json", *flags, "--threads", "x".join(map(str, case.threads))]
        command += ["--grid", "x".join(map(str, case.grid))] if case.grid else ["--groups", "x".join(map(str, case.groups))]
        for i, a in case.args.items():
            if isinstance(a, Args):
                pathlib.Path(f"{d}/{i}.bin").write_bytes(a.bytes())
                command += ["--arg", f"{i}=bytes:{d}/{i}.bin"]
            elif isinstance(a, tuple):
                command += ["--arg", f"{i}={a[0]}:{a[1]}"]
            else:
                np.save(f"{d}/{i}.npy", a)
                command += ["--arg", f"{i}={d}/{i}.npy"]
        for c in case.constants:
            command += ["--constant", c]
        command += ["--out", f"{case.out}={d}/out.npy"]
        p = subprocess.run(command, capture_output=True, text=True)
        if p.returncode != 0:
            what = p.stderr.strip()
            if p.stdout.startswith("{"):
                what += json.loads(p.stdout).get("error") or ""
            raise RuntimeError(what[:600])
        return np.load(f"{d}/out.npy")


def against_numpy(case):
    got = execute(mlx_wheel.metallib(), case, ["--sanitize"])
    got = mlx_cases.loaded(got, case.kind).ravel()
    want = np.asarray(case.want, dtype=np.float64).ravel()
    if case.ulps == 0:
        return f"{np.sum(got != want)} of {want.size} values differ" if np.any(got != want) else None
    bits = mlx_cases.TYPES[case.kind][2]
    error = np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-30) * 2.0**bits
    return None if error <= case.ulps else f"off by {error:.1f} units of the type, {case.ulps:g} allowed"


def source_of(case, cases):
    """One file per set of headers, with every instance that a case asks for."""
    headers = ("defines.h", "utils.h", *case.headers)
    lines = [f'#include "mlx/backend/metal/kernels/{h}"' for h in headers]
    seen = set()
    for c in cases:
        if c.headers == case.headers and c.instance and c.name not in seen:
            seen.add(c.name)
            lines.append(f'instantiate_kernel("{c.name}", {c.instance})')
    place = fetch.CACHE / "mlx-instances"
    place.mkdir(parents=True, exist_ok=True)
    file = place / ("_".join(h.replace("/", "-").removesuffix(".h") for h in case.headers) + ".metal")
    text = "\n".join(lines) + "\n"
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
    return file


def distance(a, b):
    """The largest distance in units of the last place; equal bits, and NaN against NaN, are none."""
    if a.dtype.kind in "iub" and a.dtype != np.uint16:
        return 0 if np.array_equal(a, b) else 1 << 30
    width = a.dtype.itemsize * 8
    ordered = []
    for v in (a, b):
        i = v.view(f"u{v.dtype.itemsize}").astype(np.int64)
        ordered.append(np.where(i >> (width - 1), (1 << (width - 1)) - i, i))
    both_nan = np.zeros(a.shape, bool) if a.dtype == np.uint16 else np.isnan(a) & np.isnan(b)
    return int(np.max(np.where(both_nan, 0, np.abs(ordered[0] - ordered[1])), initial=0))


def pair(case, cases):
    """Distance between our front end and Apple's compiler. The errors that SoftMetal puts into fast functions, as hardware has them,
    depend on the code around and would hide what the compilers do."""
    flags = ["-I", str(mlx_wheel.include()), "--no-fast-math", "--std", "3.2", "--exact"]
    ours = execute(source_of(case, cases), case, flags)
    apples = execute(mlx_wheel.metallib(), case, ["--exact"])
    return distance(ours, apples)


def sampled(cases, full):
    """All cases, or the first of each family and type."""
    seen = set()
    return [c for c in cases if full or not ((c.family, c.kind) in seen or seen.add((c.family, c.kind)))]


def work(cases, one):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        def guarded(c):
            try:
                return one(c)
            except Exception as e:
                return e
        return list(zip(cases, pool.map(guarded, cases)))


def check(full):
    start = time.time()
    names = json.loads(subprocess.run([BINARY, "list", "--json", "--names", str(mlx_wheel.metallib())], capture_output=True, text=True, check=True).stdout)
    chosen = names if full else names[::50]
    p = subprocess.run([BINARY, "check", "--json", str(mlx_wheel.metallib()), *(a for n in ([] if full else chosen) for a in ("--kernel", n))], capture_output=True, text=True)
    report = json.loads(p.stdout)
    failed = [k for k in report["kernels"] if not k["ok"]]
    causes = collections.Counter(k["error"].split("`: ")[-1][:120] for k in failed)
    print(f"check: {report['total'] - len(failed)} of {report['total']} kernels became native code in {time.time() - start:.0f} s; the file has {len(names)}")
    for cause, n in causes.most_common():
        print(f"  {n}× {cause}")
    return len(failed) <= report["total"] // 100


def main():
    arguments = sys.argv[1:]
    full = "--full" in arguments
    only = arguments[arguments.index("--only") + 1] if "--only" in arguments else ""
    parts = [a for a in arguments if a in ("check", "numpy", "pairs")] or ["check", "numpy", "pairs"]
    cases = [c for c in mlx_cases.all_cases() if only in c.name or only in c.family]
    ok = True
    if "check" in parts:
        ok &= check(full)
    if "numpy" in parts:
        chosen = sampled([c for c in cases if c.want is not None], full)
        wrong = [(c, w) for c, w in work(chosen, against_numpy) if w]
        for c, why in wrong:
            print(f"FAIL  {c.name}: {why}")
        names = {c.name for c in chosen}
        print(f"numpy: {len(chosen) - len(wrong)} of {len(chosen)} runs of {len(names)} kernels agree with NumPy, checker on")
        ok &= not wrong
    if "pairs" in parts:
        chosen = sampled([c for c in cases if c.instance], full)
        results = work(chosen, lambda c: pair(c, cases))
        families = collections.defaultdict(list)
        for c, d in results:
            if isinstance(d, Exception):
                print(f"FAIL  {c.name}: {d}")
                ok = False
                continue
            families[c.family].append(d)
            if d > c.pair_ulps:
                print(f"FAIL  {c.name}: {d} units in the last place apart, {c.pair_ulps} allowed")
                ok = False
        for family, ds in families.items():
            print(f"  {family}: {len(ds)} pairs, {sum(d == 0 for d in ds)} equal bit for bit, at most {max(ds)} units apart")
        print(f"pairs: {sum(map(len, families.values()))} runs of {len({c.name for c in chosen})} kernels")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())

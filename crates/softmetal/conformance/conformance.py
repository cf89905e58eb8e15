"""Real kernels on SoftMetal: all compile, and many are run against NumPy with a clean checker.

Usage: python conformance.py [--only WORD]   (needs numpy, cargo, and the `softmetal` binary: cargo build -p softmetal)
"""
import json, subprocess, sys, time
import cases, fetch
from harness import BINARY, Failure


# The argument structs in cases.py are those of this version.
RUN_VERSION = "0.3.9"


def flags_for(folder):
    return ["-I", str(folder.parent), "-I", str(folder), "-D", "GGML_METAL_USE_BF16=1", "-D", "GGML_METAL_HAS_BF16=1"]


def compile_all(label, files, flags):
    start = time.time()
    p = subprocess.run([BINARY, "check", "--json", *flags, *map(str, files)], capture_output=True, text=True)
    report = json.loads(p.stdout)
    failed = [k for k in report["kernels"] if not k["ok"]]
    print(f"{label}: {report['total'] - len(failed)} of {report['total']} kernels compile ({time.time() - start:.1f} s)")
    for k in failed[:20]:
        print(f"  FAIL {k['kernel']}: {k['error'][:300]}")
    return not failed


def main():
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    candle, newest, ggml = fetch.candle(), fetch.llama(""), fetch.llama(RUN_VERSION)
    flags = flags_for(ggml)
    ok = True
    if not only:
        ok &= compile_all("candle-metal-kernels", sorted(candle.glob("*.metal")), [])
        ok &= compile_all(f"llama-cpp-python {RUN_VERSION}", [ggml / "ggml-metal.metal"], flags)
        ok &= compile_all("llama-cpp-python, newest", sorted(f for f in newest.glob("**/*.metal") if "common" not in f.name), flags_for(newest))
    passed = total = 0
    for name, case in cases.ggml_cases(ggml / "ggml-metal.metal", flags):
        if only not in name:
            continue
        total += 1
        try:
            case()
            passed += 1
            print(f"ok    {name}", flush=True)
        except Failure as e:
            print(f"FAIL  {name}: {e}", flush=True)
    print(f"{passed} of {total} kernels behave as expected: NumPy's results, and a clean checker unless the name says otherwise")
    return 0 if ok and passed == total else 1


if __name__ == "__main__":
    sys.exit(main())

"""Runs MLX's own test files over Wootz, and says why a test does not pass.

``python crates/python/tools/mlx_shim/run.py FOLDER`` where the folder holds ``mlx_tests.py`` and some of ``test_ops.py``,
``test_array.py``, ``test_reduce.py``, ``test_random.py`` of MLX's ``python/tests``. The files are not part of this project.
"""

import collections
import importlib
import pathlib
import re
import sys
import unittest

FILES = ("test_array", "test_ops", "test_random", "test_reduce")

#: Causes by what the traceback says, most telling first: a decision of ours, or a difference.
CAUSES = [
    (r"complex|imag|conj\b|format \"Z|code 5, 64 bits", "against: there are no complex numbers"),
    (r"'(vjp|vmap|jvp|grad|value_and_grad|stop_gradient|depends|compile)'", "against: no automatic differentiation"),
    (r"'(stream|new_stream|get_peak_memory|clear_cache|metal|synchronize|reset_peak_memory|get_active_memory)'", "against: streams and memory are not managed by hand"),
    (r"'(hadamard_transform|to_fp8|from_fp8|as_strided|hanning|hamming|blackman|bartlett|erfinv|slice|slice_update|logcumsumexp|multivariate_normal|view)'", "against: an op of MLX's alone"),
    (r"has no attribute", "against: another name that is not here"),
    (r"keyword argument|positional argument|stream=", "differs: arguments of another name or order"),
    (r"does not fit|DivisionByZero|no common dtype|common one|bool is no number|integers or bool|cast bool", "against: refused here, silent in MLX"),
    (r"OutOfRangeError|AxisError|ShapeError|ArgumentError|ConversionError|DTypeError", "differs: an error here"),
    (r"not raised", "differs: an error in MLX only"),
    (r"int64 != |!= wootz.int64", "against: integers and positions are int64, as the array API standard has them"),
    (r"dtype mismatch|!= wootz\.", "differs: another dtype of the result"),
    (r"AssertionError", "differs: another value or repr"),
]


def cause(text):
    last = text.strip().splitlines()[-1]
    for pattern, name in CAUSES:
        if re.search(pattern, last) or re.search(pattern, text) and name.startswith("against: there are no complex"):
            return name
    return f"differs: {last[:60]}"


def main():
    folder = pathlib.Path(sys.argv[1])
    sys.path[:0] = [str(pathlib.Path(__file__).parent), str(folder)]
    total = collections.Counter()
    by_cause = collections.Counter()
    for file in FILES:
        if not (folder / f"{file}.py").exists():
            continue
        suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(file))
        result = unittest.TestResult()
        suite.run(result)
        # Subtests count as one, with the cause of the first.
        bad = {}
        for test, text in result.failures + result.errors:
            bad.setdefault(test.id().split(" ")[0], text)
        for name, text in sorted(bad.items()):
            why = cause(text)
            by_cause[why] += 1
            if "-v" in sys.argv:
                print(f"{name}: {why}: {text.strip().splitlines()[-1][:110]}")
        against = sum(cause(text).startswith("against") for text in bad.values())
        clean = result.testsRun - len(bad) - len(result.skipped)
        total.update(tests=result.testsRun, clean=clean, against=against, differs=len(bad) - against)
        print(f"| {file}.py | {result.testsRun} | {clean} | {against} | {len(bad) - against} |")
    print(f"| all | {total['tests']} | {total['clean']} | {total['against']} | {total['differs']} |")
    for why, count in by_cause.most_common():
        print(f"{count:4} {why}")


if __name__ == "__main__":
    main()

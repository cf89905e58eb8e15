"""Runs MLX's own test files over Wootz, and prints the tables of docs/python.md: how many tests pass, and why others do not.

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

COMPLEX = "out of scope: complex numbers"

#: Causes by what the traceback says, most telling first: a decision of ours, or a difference.
CAUSES = [
    (r"complex|imag|conj\b|format \"Z|code 5, 64 bits", COMPLEX),
    (r"'(vjp|vmap|jvp|grad|value_and_grad|stop_gradient|depends|compile)'", "out of scope: automatic differentiation"),
    (r"'(stream|new_stream|get_peak_memory|clear_cache|metal|synchronize|reset_peak_memory|get_active_memory)'", "out of scope: manual management of streams and memory"),
    (r"'(hadamard_transform|to_fp8|from_fp8|as_strided|hanning|hamming|blackman|bartlett|erfinv|slice|slice_update|logcumsumexp|multivariate_normal|view)'", "out of scope: MLX-only ops"),
    (r"has no attribute", "out of scope: other names"),
    (r"keyword argument|positional argument|stream=", "differs: arguments of another name or order"),
    (r"does not fit|DivisionByZero|no common dtype|a common dtype|bool is not numeric|integers or bool|cast bool", "out of scope: errors here that MLX ignores"),
    (r"OutOfRangeError|AxisError|ShapeError|ArgumentError|ConversionError|DTypeError", "differs: an error here"),
    (r"not raised", "differs: an error in MLX only"),
    (r"int64 != |!= wootz.int64", "out of scope: integers and positions are int64, as the array API standard has them"),
    (r"dtype mismatch|!= wootz\.", "differs: another dtype"),
    (r"AssertionError|^[-+?] ", "differs: another value or repr"),
]

NUMPY = "out of scope: as NumPy has it, not as MLX has it"
WIDE = "out of scope: no limit of 31 bits"
SHARED = "out of scope: values are immutable, so that memory is shared, read-only"
CHECKED = "out of scope: errors here that MLX ignores"

#: Tests whose message does not say it: what they want was decided against, after looking at each.
DECIDED = {
    # An array compared with a list is compared element by element; with text, it is a TypeError.
    "test_list_equals_array": NUMPY, "test_list_not_equals_array": NUMPY, "test_tuple_equals_array": NUMPY, "test_tuple_not_equals_array": NUMPY,
    "test_obj_inequality_array": NUMPY, "test_invalid_op_on_array": NUMPY, "test_construction_from_lists": NUMPY,
    # Arrays print like NumPy's, and as themselves in f-strings.
    "test_array_repr": NUMPY, "test_array_repr_precision": NUMPY, "test_format": NUMPY,
    # IndexError and TypeError where MLX raises ValueError; no error where NumPy raises none.
    "test_setitem": NUMPY, "test_setitem_with_boolean_mask": NUMPY, "test_take": NUMPY, "test_inplace": NUMPY, "test_broadcast_shapes": NUMPY, "test_kron": NUMPY,
    "test_array_np_shape_dim_check": WIDE, "test_shape_overflow_error": WIDE, "test_arange_overload_dispatch": WIDE, "test_large_indices": WIDE,
    "test_asarray_copy": SHARED, "test_memoryless_copy": SHARED, "test_from_dlpack_cpu_strided": SHARED,
    # Bools of other bytes than 0 and 1, negative powers of integers, bounds in the wrong order; a probability that is an integer is fine.
    "test_view": CHECKED, "test_integer_power": CHECKED, "test_truncated_normal": CHECKED, "test_randint": CHECKED, "test_bernoulli": NUMPY,
}


def cause(name, text):
    """Why a test failed: as decided for it, by its exception or, for complex numbers, also by the last line of the test that led there."""
    if decided := DECIDED.get(name.rsplit(".", 1)[-1]):
        return decided
    lines = text.strip().splitlines()
    last = lines[-1]
    frames = [i for i, line in enumerate(lines) if re.match(r' *File ".*(test_\w+|mlx_tests)\.py"', line)]
    source = lines[frames[-1] + 1] if frames else ""
    for pattern, name in CAUSES:
        if re.search(pattern, last) or name == COMPLEX and re.search(pattern, source):
            return name
    return f"differs: {last[:60]}"


def main():
    folder = pathlib.Path(sys.argv[1])
    sys.path[:0] = [str(pathlib.Path(__file__).parent), str(folder)]
    total = collections.Counter()
    by_cause = collections.Counter()
    print("| file | tests | pass | out of scope | differ | skipped |\n|---|---:|---:|---:|---:|---:|")
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
            why = cause(name, text)
            by_cause[why] += 1
            if "-v" in sys.argv:
                print(f"{name}: {why}: {text.strip().splitlines()[-1][:110]}", file=sys.stderr)
        outside = sum(cause(name, text).startswith("out of scope") for name, text in bad.items())
        skipped = len(result.skipped)
        passed = result.testsRun - len(bad) - skipped
        counts = [result.testsRun, passed, outside, len(bad) - outside, skipped]
        total.update(dict(enumerate(counts)))
        print_row(f"`{file}.py`", counts)
    print_row("all", [total[i] for i in range(5)])
    print("\n| tests | cause |\n|---:|---|")
    for why, count in sorted(by_cause.items(), key=lambda item: (item[0].startswith("differs"), -item[1])):
        print(f"| {count} | {why} |")


def print_row(name, counts):
    """A row of the table by file."""
    print("| " + " | ".join([name, *map(str, counts)]) + " |")


if __name__ == "__main__":
    main()

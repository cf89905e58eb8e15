"""docs/array-api.md: what of the Python array API standard there is.

``python crates/python/tools/coverage.py`` writes it; a test fails when it is stale.
"""

import pathlib

import wootz

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "array-api.md"

#: The standard, version 2024.12, by its own sections.
STANDARD = {
    "Constants": "e inf nan newaxis pi",
    "Data types": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128",
    "Creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu"
    " zeros zeros_like",
    "Data type functions": "astype can_cast finfo iinfo isdtype result_type",
    "Elementwise": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or"
    " bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater"
    " greater_equal hypot imag isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not"
    " logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder"
    " round sign signbit sin sinh sqrt square subtract tan tanh trunc",
    "Indexing": "take take_along_axis",
    "Inspection": "__array_namespace_info__",
    "Linear algebra": "matmul matrix_transpose tensordot vecdot",
    "Manipulation": "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze"
    " stack tile unstack",
    "Searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "Sets": "unique_all unique_counts unique_inverse unique_values",
    "Sorting": "argsort sort",
    "Statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "Utilities": "all any diff",
    "Extension linalg": "linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eigh linalg.eigvalsh linalg.inv"
    " linalg.matmul linalg.matrix_norm linalg.matrix_power linalg.matrix_rank linalg.matrix_transpose linalg.outer linalg.pinv"
    " linalg.qr linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot"
    " linalg.vector_norm",
    "Extension fft": "fft.fft fft.ifft fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfftn fft.irfftn fft.hfft fft.ihfft"
    " fft.fftfreq fft.rfftfreq fft.fftshift fft.ifftshift",
}

#: Why something is missing, by the start of its name.
REASONS = {
    "complex": "there are no complex dtypes",
    "fft.": "there is no Fourier transform",
    "linalg.": "there is no matrix decomposition",
    "nextafter": "the op table has no such op",
}

PARTIAL = {
    "conj, real, imag": "for real numbers only; there are no complex ones",
    "linalg.matrix_norm": "`fro`, 1, −1, ∞, −∞; the others need singular values",
    "linalg.matrix_power": "powers of 0 or more; there is no inverse",
    "nonzero, unique_*, boolean indexing, repeat with counts in an array": "evaluate their input, because the result's shape depends on it",
    "integer division by zero": "is an exception (`wootz.DivisionByZeroError`); the standard leaves it open",
}


def has(name):
    """Whether the namespace has a name of the standard."""
    holder = wootz
    for part in name.split("."):
        if not hasattr(holder, part):
            return False
        holder = getattr(holder, part)
    return True


def missing():
    """Names of the standard that are not here, with the reason."""
    found = {}
    for names in STANDARD.values():
        for name in names.split():
            if not has(name):
                found[name] = next((why for start, why in REASONS.items() if name.startswith(start)), None)
    return found


def page():
    """The text of the page."""
    lines = [
        "# The array API standard",
        "",
        "`import wootz` is a namespace of the [Python array API standard](https://data-apis.org/array-api/2024.12/), version",
        "2024.12. This page is made by `crates/python/tools/coverage.py` from what the module has.",
        "",
        "| section | here | of |",
        "|---|---:|---:|",
    ]
    for section, names in STANDARD.items():
        names = names.split()
        lines.append(f"| {section} | {sum(map(has, names))} | {len(names)} |")
    lines += ["", "## Not here", "", "| name | reason |", "|---|---|"]
    by_reason = {}
    for name, why in missing().items():
        by_reason.setdefault(why, []).append(f"`{name}`")
    lines += [f"| {', '.join(names)} | {why} |" for why, names in by_reason.items()]
    lines += ["", "## Here in part, or with a choice of ours", "", "| name | how |", "|---|---|"]
    lines += [f"| {name} | {how} |" for name, how in PARTIAL.items()]
    lines += [
        "",
        "The default floating-point dtype is float32, the default integer dtype int64. Beyond the standard there are `float16`,",
        "`bfloat16`, and the functions of the [op table](ops.md).",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)

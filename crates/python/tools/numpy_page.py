"""docs/numpy.md: which of NumPy's public callables Wootz has.

``python crates/python/tools/numpy_page.py`` writes it; a test fails when it is stale, or when a name is not decided.
"""

import pathlib

import numpy

import wootz

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "numpy.md"

#: Callables with another name here.
ELSEWHERE = {
    "broadcast": "`broadcast_arrays`, `broadcast_shapes`",
    "dtype": "`DType`",
    "half": "`float16`", "single": "`float32`", "double": "`float64`", "bool_": "`bool`", "byte": "`int8`", "ubyte": "`uint8`",
    "short": "`int16`", "ushort": "`uint16`", "intc": "`int32`", "uintc": "`uint32`", "int_": "`int64`", "long": "`int64`",
    "longlong": "`int64`", "intp": "`int64`", "uint": "`uint64`", "ulong": "`uint64`", "ulonglong": "`uint64`", "uintp": "`uint64`",
    "isrealobj": "`isdtype`", "issubdtype": "`isdtype`", "matvec": "`matmul`, `einsum`", "vecmat": "`matmul`, `einsum`",
    "memmap": "`load`, which maps large files", "ndarray": "`Array`", "array2string": "`array_repr`, `printoptions`",
    "savez_compressed": "`savez`, which does not compress", "shares_memory": "`Array.data_ptr`",
    "fromfile": "`frombuffer` of the file's bytes", "fromstring": "`frombuffer`",
    "ndenumerate": "`enumerate(x.flatten())`", "ndindex": "`itertools.product` of ranges", "einsum_path": "`explain`",
    "format_float_positional": "`printoptions`", "format_float_scientific": "`printoptions`", "show_config": "`wootz devices`",
    "show_runtime": "`wootz devices`", "ufunc": "functions of the [op table](ops.md)",
}

#: Unsupported callables, by reason.
AGAINST = {
    "complex numbers are not supported yet":
        "cdouble clongdouble complex128 complex256 complex64 complexfloating csingle iscomplex iscomplexobj real_if_close sort_complex",
    "no device supports this size": "float128 longdouble",
    "arrays only hold numbers and bools":
        "base_repr binary_repr bytes_ character datetime64 datetime_as_string datetime_data busday_count busday_offset busdaycalendar"
        " flexible is_busday isnat object_ recarray record str_ timedelta64 void",
    "use a dedicated library to read text files, and pass the result to `asarray`": "fromregex genfromtxt loadtxt savetxt",
    "the legacy polynomial API, which NumPy itself discourages":
        "poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub roots",
    "values are immutable and memory order is not part of an array":
        "asfortranarray flatiter isfortran may_share_memory nditer nested_iters require",
    "the matrix class, which NumPy itself discourages": "asmatrix bmat matrix",
    "arithmetic errors are values (`nan`, `inf`) or exceptions; there is no error mode":
        "asarray_chkfinite errstate getbufsize geterr geterrcall setbufsize seterr seterrcall",
    "a Python function per element cannot run on a device; use array operations, or a kernel (`wootz.compute`)":
        "apply_over_axes frompyfunc vectorize",
    "NumPy's dtype class hierarchy; use `isdtype`":
        "common_type floating generic inexact integer min_scalar_type mintypecode number signedinteger typename unsignedinteger",
    "would need new bitwise ops": "bitwise_count frexp nextafter packbits unpackbits",
    "window and special functions belong in a signal processing library": "bartlett blackman hamming hanning i0 kaiser",
    "use `bincount` of combined indices": "histogram2d histogramdd",
    "specific to NumPy": "get_include info mask_indices test",
}

AGAINST_BY_NAME = {name: why for why, names in AGAINST.items() for name in names.split()}


def rows():
    """The status of each public callable of NumPy: ``here``, ``elsewhere``, ``against`` or None, with its replacement or reason."""
    found = {}
    for name in sorted(dir(numpy)):
        if name.startswith("_") or not callable(getattr(numpy, name)):
            continue
        if hasattr(wootz, name):
            found[name] = ("here", None)
        elif name in ELSEWHERE:
            found[name] = ("elsewhere", ELSEWHERE[name])
        elif name in AGAINST_BY_NAME:
            found[name] = ("against", AGAINST_BY_NAME[name])
        elif isinstance(getattr(numpy, name), type) and issubclass(getattr(numpy, name), Exception):
            found[name] = ("elsewhere", "`wootz.errors`")
        else:
            found[name] = (None, None)
    return found


#: Functions with the same name that differ in some respect.
DIFFERENCES = [
    ("default dtypes", "Python floats become float32; statistics of integers are float32"),
    ("`sort`, `x.sort()`", "always stable; the method returns a sorted array instead of sorting in place"),
    ("`partition`, `argpartition`", "sort the entire axis"),
    ("`x.T`", "requires a matrix; `transpose()` reverses any number of axes"),
    ("`var`, `std`", "take `correction` or `ddof`"),
    ("in-place changes", "`x[i] = v`, `x += v`, `put`, `fill` give the object a new value; existing views keep the old one"),
    ("views", "a slice is an independent array: assigning to it does not change the original"),
    ("`nonzero`, `unique`, `x[mask]`, `bincount`, `gcd`", "evaluate their arguments, because the result's shape depends on them"),
    ("integers", "a Python integer that does not fit the dtype is an error; so is division by zero"),
    ("`np.float64` scalars", "combined with an array they are treated as Python floats and take its dtype; in `asarray` and `full` they are float64"),
]


def page():
    """The text of the page."""
    table = rows()
    here = [name for name, (status, _) in table.items() if status == "here"]
    lines = [
        "# NumPy's names",
        "",
        f"Of NumPy's {len(table)} public callables {len(here)} exist here under the same name, with the same order of arguments. NumPy's own",
        "functions accept Wootz arrays too: `np.exp(x)` and `np.concatenate([x, y])` call ours, and `ndarray += x` adds in place. This",
        "page is generated by `crates/python/tools/numpy_page.py` from the contents of both modules.",
        "",
        "## Supported",
        "",
        ", ".join(f"`{name}`" for name in here) + ".",
        "",
        "## Differences",
        "",
        "| what | how |",
        "|---|---|",
        *(f"| {what} | {how} |" for what, how in DIFFERENCES),
        "",
        "## Under another name",
        "",
        "| NumPy | here |",
        "|---|---|",
    ]
    by_place = {}
    for name, (status, place) in table.items():
        if status == "elsewhere":
            by_place.setdefault(place, []).append(f"`{name}`")
    lines += [f"| {', '.join(names)} | {place} |" for place, names in by_place.items()]
    lines += ["", "## Not supported", "", "| NumPy | reason |", "|---|---|"]
    for why, names in AGAINST.items():
        present = [f"`{name}`" for name in names.split() if name in table]
        lines.append(f"| {', '.join(present)} | {why} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)

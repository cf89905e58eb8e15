"""NumPy's names that this package has not: what to use instead, or why. docs/numpy.md and error messages are made from it."""

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


def message(name):
    """What to say to somebody who asks for a name of NumPy's; None if nothing is known about it."""
    if name in ELSEWHERE:
        return f"use {ELSEWHERE[name].replace('`', '')}"
    return AGAINST_BY_NAME[name].replace("`", "") if name in AGAINST_BY_NAME else None

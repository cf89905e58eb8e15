"""Comparison with NumPy, and strategies for arrays."""

import array_api_strict as strict
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np

import wootz

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
NUMERIC = INTS + FLOATS
ALL = ["bool"] + NUMERIC
KINDS = {"bool": ["bool"], "int": INTS, "float": FLOATS, "numeric": NUMERIC, "bitwise": ["bool"] + INTS, "all": ALL}

RTOL = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-12}
ATOL = {"float16": 1e-5, "float32": 1e-7, "float64": 1e-15}

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan]


def elements(dtype, *, finite=False, low=None, high=None):
    """Elements of a dtype, special values included."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low = info.min if low is None else max(low, info.min)
        high = info.max if high is None else min(high, info.max)
        return st.one_of(st.integers(low, high), st.integers(max(low, -4), min(high, 4)))
    width = dtype.itemsize * 8
    limit = {16: 60000.0, 32: 1e30, 64: 1e200}[width] if high is None else high
    lowest = -limit if low is None else low
    plain = st.floats(
        float(dtype.type(lowest)), float(dtype.type(limit)), width=width, allow_subnormal=False
    )
    if finite:
        return plain
    return st.one_of(plain, st.sampled_from(SPECIAL))


def shapes(min_dims=0, max_dims=3, max_side=5, min_side=0):
    return hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side)


@st.composite
def arrays(draw, dtypes, shape=None, **options):
    """NumPy arrays, some of them views with strides of their own."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shapes() if shape is None else shape)
    array = draw(hnp.arrays(dtype, shape, elements=elements(dtype, **options)))
    return draw(st.sampled_from([array, array[::-1] if array.ndim else array, array.T if array.ndim > 1 else array]))


@st.composite
def pairs(draw, dtypes, **options):
    """Two arrays of one dtype that broadcast."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4))
    return tuple(
        draw(hnp.arrays(dtype, each, elements=elements(dtype, **options))) for each in shape.input_shapes
    )


def check(actual, expected, *, rtol=None, atol=None):
    """That an array has the shape, the dtype and the values of NumPy's."""
    expected = np.asarray(expected)
    assert isinstance(actual, wootz.Array), type(actual)
    assert actual.shape == expected.shape, f"shape {actual.shape}, not {expected.shape}"
    assert actual.dtype.name == expected.dtype.name, f"{actual.dtype}, not {expected.dtype}"
    values = actual.numpy()
    if expected.dtype.kind == "f":
        name = expected.dtype.name
        np.testing.assert_allclose(values, expected, rtol=rtol or RTOL[name], atol=ATOL[name] if atol is None else atol)
    else:
        np.testing.assert_array_equal(values, expected)


def reference(name, *operands, **options):
    """What array-api-strict gives, as a NumPy array. It has no float16: that is computed in float32 and rounded."""
    function = strict
    for part in name.split("."):
        function = getattr(function, part)
    shape = np.broadcast_shapes(*(each.shape for each in operands)) if name == "pow" else None
    if name == "pow":
        # With a lone 0.5 as the exponent NumPy takes square roots, and that of minus infinity is not the standard's.
        operands = [np.atleast_1d(each) for each in np.broadcast_arrays(*operands)]
    half = operands[0].dtype == np.float16
    given = [strict.asarray(np.array(each, np.float32 if half else each.dtype)) for each in operands]
    with np.errstate(all="ignore"):
        result = np.asarray(function(*given, **options))
        result = result.reshape(shape) if name == "pow" else result
        return result.astype(np.float16) if half and result.dtype == np.float32 else result

"""Comparing entire arrays, and set operations."""

import builtins as _builtins

from . import _native, _sets
from ._dtypes import result_type
from ._manipulation import broadcast_shapes, concat
from ._native import Array, asarray
from ._sets import unique_all
from .errors import ArgumentError, ShapeError

__all__ = [
    "allclose", "array_equal", "array_equiv", "intersect1d", "isclose", "isin", "isneginf", "isposinf", "isscalar",
    "setdiff1d", "setxor1d", "union1d", "unique",
]


def isclose(a, /, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether ``|a - b| <= atol + rtol * |b|``; infinities are close only to themselves."""
    a, b = asarray(a), asarray(b)
    dtype = result_type(a, b)
    if dtype.kind != "f":
        dtype = _native.float64 if a.device.refuses("float64") is None else _native.float32
    a, b = a.astype(dtype), b.astype(dtype)
    near = _native.logical_and(abs(a - b) <= atol + rtol * abs(b), _native.isfinite(b))
    near = _native.logical_or(near, a == b)
    return _native.logical_or(near, _native.logical_and(a != a, b != b)) if equal_nan else near


def allclose(a, /, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether all elements are close; see :func:`isclose`. A Python bool."""
    return _builtins.bool(isclose(a, b, rtol, atol, equal_nan).all())


def array_equal(a1, /, a2, equal_nan=False):
    """Whether two arrays have the same shape and equal elements. A Python bool."""
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return False
    same = a1 == a2
    if equal_nan:
        same = _native.logical_or(same, _native.logical_and(a1 != a1, a2 != a2))
    return _builtins.bool(same.all())


def array_equiv(a1, /, a2):
    """Whether two arrays are equal after broadcasting. A Python bool."""
    a1, a2 = asarray(a1), asarray(a2)
    try:
        broadcast_shapes(a1.shape, a2.shape)
    except ShapeError:
        return False
    return _builtins.bool((a1 == a2).all())


def isposinf(x, /):
    """Whether each element is positive infinity."""
    return asarray(x) == float("inf")


def isneginf(x, /):
    """Whether each element is negative infinity."""
    return asarray(x) == float("-inf")


def isscalar(x, /):
    """Whether an object is a scalar number, not an array."""
    return not isinstance(x, Array) and (isinstance(x, (_builtins.bool, int, float, complex, str, bytes)) or
                                         (hasattr(x, "dtype") and not hasattr(x, "__setitem__")))


def isin(element, /, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Whether each element is in a set of values."""
    from ._searching import searchsorted

    element, test_elements = asarray(element), asarray(test_elements).flatten()
    dtype = result_type(element, test_elements)
    if test_elements.size == 0:
        found = _native.full(element.shape, False, device=element.device)
    elif dtype.kind == "b":
        found = (element.expand_dims(-1) == test_elements).any(-1)
    else:
        ordered = test_elements.astype(dtype).sort()
        place = searchsorted(ordered, element.astype(dtype))
        found = ordered.take(_native.minimum(place, test_elements.size - 1), axis=0) == element.astype(dtype)
    return _native.logical_not(found) if invert else found


def unique(x, /, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    """The unique values, sorted, and optionally: their first positions, the index of each element's value, and their
    counts. With an axis, the unique slices along it. All NaN are one value unless ``equal_nan`` is False. Evaluates the array."""
    x = asarray(x)
    if axis is not None and x.ndim > 1:
        return _unique_slices(x, axis, return_index, return_inverse, return_counts)
    if not (return_index or return_inverse or return_counts):
        return _sets.values_of(x, equal_nan)
    found = _sets.all_of(x, equal_nan)
    chosen = [found.values]
    chosen += [found.indices] * return_index + [found.inverse_indices] * return_inverse + [found.counts] * return_counts
    return tuple(chosen)


def _unique_slices(x, axis, return_index, return_inverse, return_counts):
    from ._manipulation import moveaxis

    rows = moveaxis(x, axis, 0)
    flat = rows.reshape((rows.shape[0], -1))
    # Rows become integers column by column, so that equal rows get equal integers and the order of rows is kept.
    code = _native.full((flat.shape[0],), 0, dtype="int64", device=x.device)
    for column in range(flat.shape[1]):
        values = unique_all(flat[:, column])
        code = unique_all(code * values.values.size + values.inverse_indices).inverse_indices
    found = unique_all(code)
    taken = moveaxis(rows.take(found.indices, axis=0), 0, axis)
    chosen = [taken]
    chosen += [found.indices] * return_index + [found.inverse_indices] * return_inverse + [found.counts] * return_counts
    return tuple(chosen) if len(chosen) > 1 else taken


def _merged(a, b):
    """The unique values of two arrays, and for each whether it is in the first and in the second."""
    a, b = unique(asarray(a)), unique(asarray(b))
    dtype = result_type(a, b)
    values = unique(concat([a.astype(dtype), b.astype(dtype)]))
    return values, isin(values, a), isin(values, b)


def union1d(ar1, /, ar2):
    """The values in either of two arrays, sorted."""
    return _merged(ar1, ar2)[0]


def intersect1d(ar1, /, ar2, assume_unique=False, return_indices=False):
    """The values in both of two arrays, sorted, and optionally their first positions."""
    values, in_a, in_b = _merged(ar1, ar2)
    found = values[_native.logical_and(in_a, in_b)]
    if not return_indices:
        return found
    return (found, *(unique_all(x).indices[isin(unique(asarray(x)), found)] for x in (ar1, ar2)))


def setdiff1d(ar1, /, ar2, assume_unique=False):
    """The values in one array that are not in the other, sorted."""
    values, in_a, in_b = _merged(ar1, ar2)
    return values[_native.logical_and(in_a, _native.logical_not(in_b))]


def setxor1d(ar1, /, ar2, assume_unique=False):
    """The values in exactly one of two arrays, sorted."""
    values, in_a, in_b = _merged(ar1, ar2)
    return values[in_a != in_b]

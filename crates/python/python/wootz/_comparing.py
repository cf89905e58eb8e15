"""Comparing entire arrays, and set operations."""

import builtins as _builtins

from . import _native
from ._dtypes import result_type
from ._manipulation import broadcast_shapes, concat
from ._native import Array, asarray
from ._sets import unique_all
from .errors import ArgumentError, ShapeError

__all__ = [
    "allclose", "array_equal", "array_equiv", "intersect1d", "isclose", "isin", "isneginf", "isposinf", "isscalar",
    "setdiff1d", "setxor1d", "union1d", "unique",
]


def isclose(a, b, /, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether ``|a - b| <= atol + rtol * |b|``; infinities are close only to themselves."""
    a, b = asarray(a), asarray(b)
    dtype = result_type(a, b)
    if dtype.kind != "f":
        dtype = _native.float64 if a.device.refuses("float64") is None else _native.float32
    a, b = a.astype(dtype), b.astype(dtype)
    near = _native.logical_and(abs(a - b) <= atol + rtol * abs(b), _native.isfinite(b))
    near = _native.logical_or(near, a == b)
    return _native.logical_or(near, _native.logical_and(a != a, b != b)) if equal_nan else near


def allclose(a, b, /, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether all elements are close; see :func:`isclose`. A Python bool."""
    return _builtins.bool(isclose(a, b, rtol, atol, equal_nan).all())


def array_equal(a, b, /, equal_nan=False):
    """Whether two arrays have the same shape and equal elements. A Python bool."""
    a, b = asarray(a), asarray(b)
    if a.shape != b.shape:
        return False
    same = a == b
    if equal_nan:
        same = _native.logical_or(same, _native.logical_and(a != a, b != b))
    return _builtins.bool(same.all())


def array_equiv(a, b, /):
    """Whether two arrays are equal after broadcasting. A Python bool."""
    a, b = asarray(a), asarray(b)
    try:
        broadcast_shapes(a.shape, b.shape)
    except ShapeError:
        return False
    return _builtins.bool((a == b).all())


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


def isin(x, values, /, invert=False):
    """Whether each element is in a set of values."""
    from ._searching import searchsorted

    x, values = asarray(x), asarray(values).flatten()
    dtype = result_type(x, values)
    if values.size == 0:
        found = _native.full(x.shape, False, device=x.device)
    elif dtype.kind == "b":
        found = (x.expand_dims(-1) == values).any(-1)
    else:
        ordered = values.astype(dtype).sort()
        place = searchsorted(ordered, x.astype(dtype))
        found = ordered.take(_native.minimum(place, values.size - 1), axis=0) == x.astype(dtype)
    return _native.logical_not(found) if invert else found


def unique(x, /, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The unique values, sorted, and optionally: their first positions, the index of each element's value, and their
    counts. With an axis, the unique slices along it. Evaluates the array."""
    x = asarray(x)
    if axis is not None and x.ndim > 1:
        return _unique_slices(x, axis, return_index, return_inverse, return_counts)
    if not (return_index or return_inverse or return_counts):
        from ._sets import unique_values

        return unique_values(x)
    found = unique_all(x)
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


def union1d(a, b, /):
    """The values in either of two arrays, sorted."""
    return _merged(a, b)[0]


def intersect1d(a, b, /, assume_unique=False, return_indices=False):
    """The values in both of two arrays, sorted, and optionally their first positions."""
    values, in_a, in_b = _merged(a, b)
    found = values[_native.logical_and(in_a, in_b)]
    if not return_indices:
        return found
    return (found, *(unique_all(x).indices[isin(unique(asarray(x)), found)] for x in (a, b)))


def setdiff1d(a, b, /, assume_unique=False):
    """The values in one array that are not in the other, sorted."""
    values, in_a, in_b = _merged(a, b)
    return values[_native.logical_and(in_a, _native.logical_not(in_b))]


def setxor1d(a, b, /, assume_unique=False):
    """The values in exactly one of two arrays, sorted."""
    values, in_a, in_b = _merged(a, b)
    return values[in_a != in_b]

"""Searching and sorting."""

from . import _native
from ._native import Array, asarray, logical_and, logical_or
from .errors import ArgumentError

__all__ = [
    "argmax", "argmin", "argsort", "count_nonzero", "nonzero", "searchsorted", "sort", "take", "take_along_axis", "top_k",
]


def _flat_without(x, axis):
    """An array and an axis of it; the flat array where none is named."""
    x = asarray(x)
    return (x.flatten(), 0) if axis is None else (x, axis)


def argmax(x, /, axis=None, keepdims=False):
    """The first position of the largest element, along an axis or of the flat array."""
    return asarray(x).argmax(axis, keepdims)


def argmin(x, /, axis=None, keepdims=False):
    """The first position of the smallest element, along an axis or of the flat array."""
    return asarray(x).argmin(axis, keepdims)


def count_nonzero(x, /, axis=None, keepdims=False):
    """How many elements are true or non-zero."""
    return asarray(x).count_nonzero(axis, keepdims)


def nonzero(x, /):
    """The coordinates of true or non-zero elements, one array for each axis. Evaluates the array."""
    x = asarray(x)
    if x.ndim == 0:
        raise ArgumentError("nonzero: an array with axes is needed")
    found = x._nonzero()
    return tuple(found[:, axis] for axis in range(x.ndim))


def sort(x, /, axis=-1, descending=False, stable=True):
    """The elements along an axis in order, or of the flat array; NaN counts as largest. Always stable."""
    x, axis = _flat_without(x, axis)
    return x.sort(axis, descending)


def argsort(x, /, axis=-1, descending=False, stable=True):
    """The positions of what :func:`sort` gives. Always stable."""
    x, axis = _flat_without(x, axis)
    return x.argsort(axis, descending)


def top_k(x, /, k, axis=-1):
    """The ``k`` largest elements along an axis, or of the flat array, largest first, and their positions."""
    x, axis = _flat_without(x, axis)
    return x.top_k(k, axis)


def take(x, indices, /, axis=None):
    """Rows, columns, … by number; elements of the flat array where no axis is named."""
    x = asarray(x)
    if axis is None:
        x, axis = x.flatten(), 0
    return x.take(asarray(indices), axis=axis)


def take_along_axis(x, indices, /, axis=-1):
    """Elements by number along an axis, other numbers for each place of the other axes; of the flat array without an axis."""
    x, axis = _flat_without(x, axis)
    return x.take_along_axis(asarray(indices), axis=axis)


def _before(a, b):
    """Whether a comes before b where NaN comes last."""
    if a.dtype.kind != "f":
        return a < b
    return logical_or(a < b, logical_and(a == a, b != b))


def searchsorted(x1, x2, /, side="left", sorter=None):
    """Where elements of ``x2`` would go into the sorted vector ``x1``: binary search, one gather for each halving."""
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1:
        raise ArgumentError(f"searchsorted: a vector is searched, not shape {x1.shape}")
    if sorter is not None:
        x1 = x1.take(asarray(sorter), axis=0)
    dtype = x1.dtype.promote(x2.dtype)
    if dtype is None:
        raise ArgumentError(f"searchsorted: {x1.dtype} and {x2.dtype} have no common dtype")
    x1, x2 = x1.astype(dtype), x2.astype(dtype)
    count = x1.shape[0]
    low = _native.full(x2.shape, 0, dtype="int64", device=x2.device)
    high = _native.full(x2.shape, count, dtype="int64", device=x2.device)
    for _ in range(count.bit_length()):
        middle = (low + high) >> 1
        probe = x1.take(_native.minimum(middle, count - 1), axis=0)
        further = _before(probe, x2) if side == "left" else _native.logical_not(_before(x2, probe))
        open_ = low < high
        low, high = (
            _native.where(logical_and(open_, further), middle + 1, low),
            _native.where(logical_and(open_, _native.logical_not(further)), middle, high),
        )
    return low

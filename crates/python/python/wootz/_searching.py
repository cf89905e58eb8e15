"""Searching and sorting."""

from ._manipulation import _axis
from ._native import asarray
from .errors import ArgumentError

__all__ = [
    "argmax", "argmin", "argsort", "count_nonzero", "nonzero", "searchsorted", "sort", "take", "take_along_axis", "top_k",
]


def _flat_without(x, axis):
    """An array and an axis of it; the flattened array if no axis is given."""
    x = asarray(x)
    return (x.flatten(), 0) if axis is None else (x, axis)


def argmax(x, /, axis=None, keepdims=False):
    """The position of the first maximum, along an axis or in the flattened array."""
    return asarray(x).argmax(axis, keepdims)


def argmin(x, /, axis=None, keepdims=False):
    """The position of the first minimum, along an axis or in the flattened array."""
    return asarray(x).argmin(axis, keepdims)


def count_nonzero(x, /, axis=None, keepdims=False):
    """The number of true or non-zero elements."""
    return asarray(x).count_nonzero(axis, keepdims)


def nonzero(x, /):
    """The coordinates of true or non-zero elements, one array per axis. Evaluates the array."""
    x = asarray(x)
    if x.ndim == 0:
        raise ArgumentError("nonzero: expected an array with at least one axis")
    found = x._nonzero()
    return tuple(found[:, axis] for axis in range(x.ndim))


def sort(x, /, axis=-1, kind=None, *, descending=False, stable=True):
    """The sorted elements along an axis, or of the flattened array; NaN sorts last. Always stable."""
    x, axis = _flat_without(x, axis)
    return x.sort(axis, descending)


def argsort(x, /, axis=-1, kind=None, *, descending=False, stable=True):
    """The indices that :func:`sort` would use. Always stable."""
    x, axis = _flat_without(x, axis)
    return x.argsort(axis, descending)


def top_k(x, /, k, axis=-1):
    """The ``k`` largest elements along an axis, or of the flattened array, largest first, and their positions."""
    x, axis = _flat_without(x, axis)
    return x.top_k(k, axis)


def take(x, /, indices, axis=None, *, mode="raise"):
    """Elements along an axis by index; of the flattened array if no axis is given. ``mode`` says what becomes of indices that are
    out of range: ``raise``, ``wrap`` or ``clip``."""
    x, axis = _flat_without(x, axis)
    return x.take(_placed("take", asarray(indices), x, axis, mode), axis=axis)


def _placed(name, indices, x, axis, mode):
    """Indices into an axis, with those out of range brought back into it if that is asked for."""
    if mode == "raise":
        return indices
    extent = x.shape[_axis(name, axis, x.ndim)]
    if mode == "wrap":
        return indices % extent
    if mode == "clip":
        return indices.clip(0, extent - 1)
    raise ArgumentError(f"{name}: mode must be raise, wrap or clip, not {mode!r}")


def take_along_axis(x, /, indices, axis=-1):
    """Elements along an axis by index, with separate indices for each position of the other axes; of the flattened array without an axis."""
    x, axis = _flat_without(x, axis)
    return x.take_along_axis(asarray(indices), axis=axis)


def searchsorted(x1, /, v, side="left", sorter=None):
    """The insertion points of ``v`` in the sorted vector ``x1``; NaN sorts last."""
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    x1, v = asarray(x1), asarray(v)
    if x1.ndim != 1:
        raise ArgumentError(f"searchsorted: expected a vector to search, not shape {x1.shape}")
    if sorter is not None:
        x1 = x1.take(asarray(sorter), axis=0)
    return x1._search_sorted(v, side == "right")

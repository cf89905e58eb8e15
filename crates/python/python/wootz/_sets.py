"""Set functions: the unique values of an array. All of them evaluate it."""

from typing import NamedTuple

from . import _native
from ._manipulation import concat
from ._native import Array, asarray

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    values: Array
    inverse_indices: Array



def unique_all(x, /):
    """The unique values, sorted; their first positions; the index of each element's value; their counts.

    NaN differs from itself, so each NaN is unique; -0.0 equals 0.0.
    """
    return all_of(x, False)


def _starts(ordered, equal_nan):
    """Which sorted elements differ from the one before."""
    new = ordered[1:] != ordered[:-1]
    if equal_nan and ordered.dtype.kind == "f":
        new = _native.logical_and(new, ordered[:-1] == ordered[:-1])
    return concat([_native.full((1,), True, device=ordered.device), new])


def all_of(x, equal_nan):
    """:func:`unique_all`, which may count all NaN as one."""
    x = asarray(x)
    flat = x.flatten()
    if flat.size == 0:
        none = _native.full((0,), 0, dtype="int64", device=x.device)
        return UniqueAll(flat, none, none.reshape(x.shape), none)
    order = flat.argsort()
    ordered = flat.take(order, axis=0)
    first = _starts(ordered, equal_nan)
    starts = first._nonzero()[:, 0]
    ends = concat([starts[1:], asarray([flat.size], device=x.device)])
    rank = first.astype("int64").cumsum(0) - 1
    inverse = _native.full((flat.size,), 0, dtype="int64", device=x.device).scatter_add(order, rank, axis=0)
    return UniqueAll(ordered.take(starts, axis=0), order.take(starts, axis=0), inverse.reshape(x.shape), ends - starts)


def _runs(x, equal_nan=False):
    """The sorted elements, and where each unique value starts."""
    ordered = asarray(x).flatten().sort()
    if ordered.size == 0:
        return ordered, _native.full((0,), 0, dtype="int64", device=ordered.device)
    return ordered, _starts(ordered, equal_nan)._nonzero()[:, 0]


def unique_counts(x, /):
    """The unique values, sorted, and their counts."""
    ordered, starts = _runs(x)
    if ordered.size == 0:
        return UniqueCounts(ordered, starts)
    ends = concat([starts[1:], asarray([ordered.size], device=ordered.device)])
    return UniqueCounts(ordered.take(starts, axis=0), ends - starts)


def unique_inverse(x, /):
    """The unique values, sorted, and the index of each element's value."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x, /):
    """The unique values, sorted."""
    return values_of(x, False)


def values_of(x, equal_nan):
    """:func:`unique_values`, which may count all NaN as one."""
    ordered, starts = _runs(x, equal_nan)
    return ordered.take(starts, axis=0)

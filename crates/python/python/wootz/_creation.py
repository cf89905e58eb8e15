"""Creating arrays."""

from ._native import Array, arange, asarray, eye, from_dlpack, full, linspace
from .errors import ArgumentError, ShapeError

__all__ = [
    "arange", "array", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace",
    "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]


def array(obj, /, dtype=None, *, copy=True, ndmin=0, device=None):
    """A new array with a copy of an object's values, and with at least ``ndmin`` axes. :func:`asarray` shares memory if possible."""
    copy = None if isinstance(obj, (bool, int, float, list, tuple, range, Array)) else copy
    made = asarray(obj, dtype=dtype, device=device, copy=copy)
    return made if made.ndim >= ndmin else made.reshape((1,) * (ndmin - made.ndim) + made.shape)


def zeros(shape, dtype="float32", *, device=None):
    """Zeros."""
    return full(shape, 0, dtype=dtype or "float32", device=device)


def ones(shape, dtype="float32", *, device=None):
    """Ones."""
    return full(shape, 1, dtype=dtype or "float32", device=device)


def empty(shape, dtype="float32", *, device=None):
    """An array with unspecified values (zeros, in fact)."""
    return zeros(shape, dtype=dtype, device=device)


def full_like(x, /, fill_value, dtype=None, *, shape=None, device=None):
    """An array with the shape of another, or a given one, filled with a value."""
    x = asarray(x)
    return full(x.shape if shape is None else shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x, /, dtype=None, *, shape=None, device=None):
    """Zeros like another array."""
    return full_like(x, 0, dtype=dtype, shape=shape, device=device)


def ones_like(x, /, dtype=None, *, shape=None, device=None):
    """Ones like another array."""
    return full_like(x, 1, dtype=dtype, shape=shape, device=device)


def empty_like(x, /, dtype=None, *, shape=None, device=None):
    """An array with the shape of another and unspecified values."""
    return zeros_like(x, dtype=dtype, shape=shape, device=device)


def tril(x, /, k=0):
    """The lower triangle of the last two axes, up to diagonal ``k``."""
    return asarray(x).tril(k=k)


def triu(x, /, k=0):
    """The upper triangle of the last two axes, from diagonal ``k`` on."""
    return asarray(x).triu(k=k)


def meshgrid(*arrays, indexing="xy", sparse=False, copy=True):
    """Coordinate grids from the coordinates along each axis; ``sparse`` ones have extent 1 along the other axes."""
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    arrays = [asarray(each) for each in arrays]
    if any(each.ndim > 1 for each in arrays):
        raise ShapeError("meshgrid: expected vectors")
    rank = len(arrays)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[0], order[1] = 1, 0
    shape = [0] * rank
    for each, axis in zip(arrays, order):
        shape[axis] = each.size
    grids = []
    for each, axis in zip(arrays, order):
        aligned = [1] * rank
        aligned[axis] = each.size
        aligned = each.reshape(tuple(aligned))
        grids.append(aligned if sparse else aligned.broadcast_to(tuple(shape)))
    return tuple(grids)

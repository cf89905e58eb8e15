"""Selecting elements by position, condition and rank; index grids."""

import builtins as _builtins

from . import _native
from ._creation import zeros
from ._manipulation import _axis, _is_integer, broadcast_arrays, broadcast_shapes, stack
from ._native import Array, asarray
from ._searching import _flat_without, _placed
from .errors import ArgumentError, ConversionError, OutOfRangeError, ShapeError

__all__ = [
    "argpartition", "argwhere", "choose", "compress", "copyto", "diag_indices", "diag_indices_from", "extract", "fill_diagonal",
    "flatnonzero", "fromfunction", "geomspace", "identity", "indices", "ix_", "lexsort", "logspace", "ndim", "partition", "piecewise",
    "place", "put", "put_along_axis", "putmask", "ravel_multi_index", "select", "shape", "size", "tril_indices",
    "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
]


def ndim(x, /):
    """The number of axes."""
    return asarray(x).ndim


def shape(x, /):
    """The extent of each axis."""
    return asarray(x).shape


def size(x, /, axis=None):
    """The number of elements, in total or along an axis."""
    x = asarray(x)
    return x.size if axis is None else x.shape[axis]


def argwhere(x, /):
    """The coordinates of true or non-zero elements, one row each. Evaluates the array."""
    return asarray(x)._nonzero()


def flatnonzero(x, /):
    """The positions of true or non-zero elements in the flattened array. Evaluates it."""
    return asarray(x).flatten()._nonzero()[:, 0]


def partition(x, /, kth, axis=-1):
    """Partitions an axis at position ``kth``: in this implementation, sorts it entirely."""
    x, axis = _flat_without(x, axis)
    _check_rank("partition", x, kth, axis)
    return x.sort(axis)


def argpartition(x, /, kth, axis=-1):
    """The indices that :func:`partition` would use."""
    x, axis = _flat_without(x, axis)
    _check_rank("argpartition", x, kth, axis)
    return x.argsort(axis)


def _check_rank(what, x, kth, axis):
    extent = x.shape[_axis(what, axis, x.ndim)]
    for each in kth if isinstance(kth, (tuple, list)) else (kth,):
        if not -extent <= each < extent:
            raise OutOfRangeError(f"{what}: position {each} is out of range for {extent} elements")


def lexsort(keys, /, axis=-1):
    """Indirect sort by several keys, the last one being the primary key."""
    keys = [asarray(key) for key in keys]
    order = keys[0].argsort(axis)
    for key in keys[1:]:
        order = order.take_along_axis(key.take_along_axis(order, axis=axis).argsort(axis), axis=axis)
    return order


def compress(condition, /, a, axis=None):
    """The slices along an axis where a condition holds. Evaluates the condition."""
    a = asarray(a)
    if axis is None:
        a, axis = a.flatten(), 0
    return a.take(asarray(condition)._nonzero()[:, 0], axis=axis)


def extract(condition, /, arr):
    """The elements where a condition holds, flattened. Evaluates the condition."""
    return compress(asarray(condition).flatten(), arr)


def select(condlist, choicelist, default=0):
    """Each element from the first of several choices whose condition holds."""
    if len(condlist) != len(choicelist) or not choicelist:
        raise ArgumentError(f"select: got {len(condlist)} conditions for {len(choicelist)} choices")
    result = default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist))):
        result = _native.where(asarray(condition), choice, result)
    return result


def choose(index, /, choices, mode="raise"):
    """Each element from the choice that an integer array selects."""
    index = asarray(index)
    choices = [asarray(each) for each in choices]
    if mode == "wrap":
        index = index % len(choices)
    elif mode == "clip":
        index = index.clip(0, len(choices) - 1)
    index, *choices = broadcast_arrays(index, *choices)
    return stack(choices).take_along_axis(index.expand_dims(0), axis=0).squeeze(0)


def piecewise(x, conditions, functions, /, *args, **kwargs):
    """Functions of an array, each applied where its condition holds; an extra function applies elsewhere."""
    x = asarray(x)
    conditions = [asarray(each) for each in conditions]
    values = [each(x, *args, **kwargs) if callable(each) else each for each in functions]
    result = values.pop() if len(values) == len(conditions) + 1 else 0
    if len(values) != len(conditions):
        raise ArgumentError(f"piecewise: got {len(functions)} functions for {len(conditions)} conditions")
    for condition, value in zip(conditions, values):
        result = _native.where(condition, value, result)
    return asarray(result).astype(x.dtype).broadcast_to(x.shape)


def _own(what, x):
    if not isinstance(x, Array):
        raise ConversionError(f"{what}: expected an array to modify in place, not {type(x).__name__}")
    return x


def put(x, /, ind, v, mode="raise"):
    """Sets elements of the flattened array by position, in place; values repeat as needed. ``mode`` as in :func:`take`."""
    x = _own("put", x)
    from ._rearranging import resize

    flat = x.flatten()
    ind = _placed("put", asarray(ind).flatten(), flat, 0, mode)
    flat[ind] = resize(asarray(v, dtype=x.dtype, device=x.device), ind.size)
    x._set(flat.reshape(x.shape))


def put_along_axis(x, /, indices, values, axis=-1):
    """Sets elements by position along an axis, in place: the inverse of :func:`take_along_axis`; of the flattened array without an
    axis."""
    x = _own("put_along_axis", x)
    if axis is None:
        flat = x.flatten()
        put_along_axis(flat, asarray(indices), values, axis=0)
        x._set(flat.reshape(x.shape))
        return
    axis = _axis("put_along_axis", axis, x.ndim)
    indices = asarray(indices)
    values = asarray(values, dtype=x.dtype, device=x.device)
    # Like NumPy, indices extend over the other axes; so do values.
    whole = tuple(indices.shape[each] if each == axis else x.shape[each] for each in range(x.ndim)) if indices.ndim == x.ndim else ()
    shape_ = broadcast_shapes(indices.shape, whole)
    key = []
    for each in range(x.ndim):
        if each == axis:
            key.append(indices.broadcast_to(shape_))
        else:
            place_ = [1] * x.ndim
            place_[each] = shape_[each]
            key.append(_native.arange(shape_[each], device=x.device).reshape(tuple(place_)))
    x[tuple(key)] = values.broadcast_to(shape_)


def putmask(x, /, mask, values):
    """Sets elements where a mask is true, in place, to the values at the same positions; values repeat as needed."""
    from ._rearranging import resize

    x = _own("putmask", x)
    values = resize(asarray(values, dtype=x.dtype, device=x.device), x.shape)
    x._set(_native.where(asarray(mask).astype("bool"), values, x))


def place(x, /, mask, vals):
    """Sets elements where a mask is true, in place, to consecutive values. Evaluates the mask."""
    x = _own("place", x)
    found = flatnonzero(mask)
    if found.size:
        put(x, found, vals)


def copyto(to, /, src, *, where=True):
    """Copies the values of another array into this one, in place."""
    to = _own("copyto", to)
    src = asarray(src, dtype=to.dtype, device=to.device).broadcast_to(to.shape)
    to._set(src if where is True else _native.where(asarray(where), src, to))


def fill_diagonal(x, /, val):
    """Sets the main diagonal of a matrix, in place."""
    x = _own("fill_diagonal", x)
    if x.ndim != 2:
        raise ShapeError(f"fill_diagonal: expected a matrix, not shape {x.shape}")
    rows = _native.arange(x.shape[0], device=x.device).expand_dims(1)
    val = asarray(val, dtype=x.dtype, device=x.device)
    if val.ndim:
        from ._rearranging import resize

        val = resize(val, _builtins.min(x.shape)).pad([(0, x.shape[0] - _builtins.min(x.shape))]).expand_dims(1)
    x._set(_native.where(rows == _native.arange(x.shape[1], device=x.device), val, x))


def indices(dimensions, dtype="int64"):
    """The coordinates of a grid: one array per axis, along a new first axis."""
    dimensions = tuple(dimensions)
    grids = []
    for axis, extent in enumerate(dimensions):
        place_ = [1] * len(dimensions)
        place_[axis] = extent
        grids.append(_native.arange(extent, dtype=dtype).reshape(tuple(place_)).broadcast_to(dimensions))
    return stack(grids) if grids else zeros((0,), dtype=dtype)


def fromfunction(function, shape, *, dtype="float32", **kwargs):
    """An array computed from its coordinates."""
    return function(*indices((shape,) if _is_integer(shape) else shape, dtype), **kwargs)


def ix_(*vectors):
    """Index vectors shaped to select a grid: ``x[ix_(rows, columns)]``."""
    made = []
    for axis, each in enumerate(map(asarray, vectors)):
        each = each._nonzero()[:, 0] if each.dtype.kind == "b" else each
        if each.ndim != 1:
            raise ShapeError(f"ix_: expected vectors, not shape {each.shape}")
        made.append(each.reshape((1,) * axis + (each.size,) + (1,) * (len(vectors) - axis - 1)))
    return tuple(made)


def _triangle(n, m, keep):
    grid = indices((n, n if m is None else m))
    found = keep(grid[0], grid[1])._nonzero()
    return found[:, 0], found[:, 1]


def tril_indices(n, k=0, m=None):
    """The indices on and below a diagonal."""
    return _triangle(n, m, lambda rows, columns: columns <= rows + k)


def triu_indices(n, k=0, m=None):
    """The indices on and above a diagonal."""
    return _triangle(n, m, lambda rows, columns: columns >= rows + k)


def tril_indices_from(x, /, k=0):
    """The indices on and below a diagonal of a given matrix."""
    return tril_indices(asarray(x).shape[-2], k, asarray(x).shape[-1])


def triu_indices_from(x, /, k=0):
    """The indices on and above a diagonal of a given matrix."""
    return triu_indices(asarray(x).shape[-2], k, asarray(x).shape[-1])


def diag_indices(n, ndim=2):
    """The indices of the main diagonal."""
    return (_native.arange(n),) * ndim


def diag_indices_from(x, /):
    """The indices of the main diagonal of a square array."""
    x = asarray(x)
    if x.ndim < 2 or len(set(x.shape)) != 1:
        raise ShapeError(f"diag_indices_from: expected equal extents, not shape {x.shape}")
    return diag_indices(x.shape[0], x.ndim)


def unravel_index(index, /, shape):
    """Coordinates from positions in the flattened array."""
    index = asarray(index)
    found = []
    for extent in reversed(tuple(shape)):
        found.append(index % extent)
        index = index // extent
    return tuple(reversed(found))


def ravel_multi_index(coordinates, /, dims, mode="raise"):
    """Positions in the flattened array from coordinates."""
    position = 0
    for axis, (each, extent) in enumerate(zip(coordinates, tuple(dims))):
        each = asarray(each)
        if mode == "wrap":
            each = each % extent
        elif mode == "clip":
            each = each.clip(0, extent - 1)
        elif _builtins.bool(_native.logical_or(each < 0, each >= extent).any()):
            raise OutOfRangeError(f"ravel_multi_index: a coordinate is out of range for axis {axis} with extent {extent}")
        position = position * extent + each
    return position


def identity(n, dtype="float32", *, device=None):
    """The identity matrix."""
    return _native.eye(n, dtype=dtype, device=device)


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype="float32", *, device=None):
    """Powers of a base with evenly spaced exponents."""
    exponents = _native.linspace(start, stop, num, endpoint=endpoint, dtype="float64")
    return (asarray(base, dtype="float64") ** exponents).astype(dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype="float32", *, device=None):
    """Geometrically spaced numbers."""
    import math

    if start == 0 or stop == 0 or (start < 0) != (stop < 0):
        raise ArgumentError(f"geomspace: bounds must be non-zero and have the same sign, not {start} and {stop}")
    sign = -1.0 if start < 0 else 1.0
    exponents = _native.linspace(math.log10(abs(start)), math.log10(abs(stop)), num, endpoint=endpoint, dtype="float64")
    return (sign * asarray(10.0, dtype="float64") ** exponents).astype(dtype)

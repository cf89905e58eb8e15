"""Joining, splitting, rotating and extending arrays: NumPy's names for the functions of the standard."""

import builtins as _builtins

from . import _native
from ._creation import zeros
from ._manipulation import _axis, _is_integer, broadcast_arrays, concat, expand_dims, flip, moveaxis, roll, stack, tile
from ._native import Array, asarray
from .errors import ArgumentError, ShapeError

__all__ = [
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "column_stack", "delete", "diag", "diagflat",
    "diagonal", "dsplit", "dstack", "fliplr", "flipud", "hsplit", "hstack", "insert", "kron", "ravel", "resize", "rollaxis", "rot90",
    "row_stack", "split", "swapaxes", "trace", "tri", "trim_zeros", "vander", "vsplit", "vstack",
]


def ravel(x, /):
    """Flattens the array."""
    return asarray(x).flatten()


def swapaxes(x, /, axis1, axis2):
    """Swaps two axes."""
    x = asarray(x)
    order = list(range(x.ndim))
    first, second = _axis("swapaxes", axis1, x.ndim), _axis("swapaxes", axis2, x.ndim)
    order[first], order[second] = order[second], order[first]
    return x.transpose(tuple(order)) if order else x


def rollaxis(x, /, axis, start=0):
    """Moves an axis before another."""
    x = asarray(x)
    axis = _axis("rollaxis", axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    return moveaxis(x, axis, start - 1 if axis < start else start)


def _at_least(rank, arrays):
    made = []
    for x in map(asarray, arrays):
        if rank == 3 and x.ndim == 2:
            x = x.expand_dims(2)
        elif rank == 3 and x.ndim < 2:
            x = x.reshape((1, x.size, 1))
        elif x.ndim < rank:
            x = x.reshape((1,) * (rank - x.ndim) + x.shape)
        made.append(x)
    return made[0] if len(made) == 1 else tuple(made)


def atleast_1d(*arrays):
    """Arrays with at least one axis."""
    return _at_least(1, arrays)


def atleast_2d(*arrays):
    """Arrays with at least two axes; new ones come first."""
    return _at_least(2, arrays)


def atleast_3d(*arrays):
    """Arrays with at least three axes, inserted as in NumPy."""
    return _at_least(3, arrays)


def hstack(arrays, /):
    """Joins arrays horizontally: along the second axis, or the only one."""
    arrays = [atleast_1d(each) for each in arrays]
    return concat(arrays, axis=0 if arrays and arrays[0].ndim == 1 else 1)


def vstack(arrays, /):
    """Joins arrays vertically, vectors as rows."""
    return concat([atleast_2d(each) for each in arrays], axis=0)


row_stack = vstack


def dstack(arrays, /):
    """Joins arrays along the third axis."""
    return concat([atleast_3d(each) for each in arrays], axis=2)


def column_stack(arrays, /):
    """Joins vectors as the columns of a matrix, and matrices horizontally."""
    arrays = [asarray(each) for each in arrays]
    return concat([each if each.ndim > 1 else each.reshape((each.size, 1)) for each in arrays], axis=1)


def block(arrays, /):
    """An array from nested lists of blocks: the innermost lists are joined along the last axis."""

    def depth(value):
        return 1 + _builtins.max(map(depth, value), default=0) if isinstance(value, list) else 0

    def joined(value, level):
        if isinstance(value, list):
            if not value:
                raise ArgumentError("block: the list is empty")
            return concat([joined(each, level - 1) for each in value], axis=-level)
        return value

    levels = depth(arrays)

    def lifted(value):
        if isinstance(value, list):
            return [lifted(each) for each in value]
        value = asarray(value)
        missing = _builtins.max(0, levels - value.ndim)
        return value.reshape((1,) * missing + value.shape)

    return joined(lifted(arrays), levels)


def _cuts(what, extent, sections, equal):
    """The bounds of the sections of an axis."""
    if not _is_integer(sections):
        return [0, *[_builtins.min(_builtins.max(int(at) + (extent if at < 0 else 0), 0), extent) for at in sections], extent]
    if sections <= 0:
        raise ArgumentError(f"{what}: invalid number of sections {sections}")
    if equal and extent % sections:
        raise ShapeError(f"{what}: {extent} elements cannot be split into {sections} equal parts; use array_split")
    size, more = divmod(extent, sections)
    return [size * i + _builtins.min(i, more) for i in range(sections + 1)]


def _split(what, x, sections, axis, equal):
    x = asarray(x)
    axis = _axis(what, axis, x.ndim)
    cuts = _cuts(what, x.shape[axis], sections, equal)
    front = (slice(None),) * axis
    return [x[front + (slice(start, _builtins.max(start, stop)),)] for start, stop in zip(cuts, cuts[1:])]


def split(x, /, indices_or_sections, axis=0):
    """Splits an axis into equal parts, or at positions."""
    return _split("split", x, indices_or_sections, axis, True)


def array_split(x, /, indices_or_sections, axis=0):
    """Splits an axis into nearly equal parts, or at positions."""
    return _split("array_split", x, indices_or_sections, axis, False)


def hsplit(x, /, indices_or_sections):
    """Splits along the second axis, or the only one."""
    return split(x, indices_or_sections, axis=0 if asarray(x).ndim == 1 else 1)


def vsplit(x, /, indices_or_sections):
    """Splits along the first axis."""
    return split(x, indices_or_sections, axis=0)


def dsplit(x, /, indices_or_sections):
    """Splits along the third axis."""
    return split(x, indices_or_sections, axis=2)


def fliplr(x, /):
    """Reverses the second axis."""
    return flip(x, axis=1)


def flipud(x, /):
    """Reverses the first axis."""
    return flip(x, axis=0)


def rot90(x, /, k=1, axes=(0, 1)):
    """Rotates an array ``k`` times by 90° from the first of two axes towards the second."""
    x = asarray(x)
    first, second = (_axis("rot90", axis, x.ndim) for axis in axes)
    if first == second:
        raise ArgumentError("rot90: expected two different axes")
    if k % 4 == 2:
        return flip(x, axis=(first, second))
    if k % 4 == 1:
        return swapaxes(flip(x, axis=second), first, second)
    return flip(swapaxes(x, first, second), axis=second) if k % 4 else x


def append(x, /, values, axis=None):
    """Appends values to an array; both are flattened if no axis is given."""
    return concat([asarray(x), asarray(values)], axis=axis)


def _flat_without(x, axis):
    x = asarray(x)
    return (x.flatten(), 0) if axis is None else (x, axis)


def _positions(what, index, extent):
    """Positions from a slice, an integer, or a sequence of integers or bools."""
    if isinstance(index, slice):
        return list(range(*index.indices(extent)))
    index = asarray(index)
    if index.dtype.kind == "b":
        index = index._nonzero()[:, 0]
    found = index.flatten().tolist()
    for at in found:
        if not -extent <= at <= extent:
            raise ArgumentError(f"{what}: position {at} is out of range for {extent} elements")
    return [at + extent if at < 0 else at for at in found]


def delete(x, /, obj, axis=None):
    """An array with positions along an axis removed."""
    x, axis = _flat_without(x, axis)
    gone = set(_positions("delete", obj, x.shape[axis]))
    if x.shape[axis] in gone:
        raise ArgumentError(f"delete: position {x.shape[axis]} is out of range")
    kept = [at for at in range(x.shape[axis]) if at not in gone]
    return x.take(asarray(kept, dtype="int64", device=x.device), axis=axis)


def insert(x, /, obj, values, axis=None):
    """An array with values inserted before positions along an axis."""
    x, axis = _flat_without(x, axis)
    axis = _axis("insert", axis, x.ndim)
    extent = x.shape[axis]
    values = asarray(values, dtype=x.dtype, device=x.device)
    if _is_integer(obj):
        at = _positions("insert", obj, extent)[0]
        if values.ndim < x.ndim:
            values = values.reshape((1,) * (x.ndim - values.ndim) + values.shape)
            values = moveaxis(values, 0, axis) if values.ndim > 1 and x.ndim > 1 else values
        shape = x.shape[:axis] + (values.shape[axis],) + x.shape[axis + 1 :]
        front = (slice(None),) * axis
        return concat([x[front + (slice(0, at),)], values.broadcast_to(shape), x[front + (slice(at, None),)]], axis=axis)
    at = _positions("insert", obj, extent)
    values = values.broadcast_to(x.shape[:axis] + (len(at),) + x.shape[axis + 1 :])
    # Old and new elements in their final order: a new one precedes the old one at its position.
    keys = [(2 * i + 1, i) for i in range(extent)] + [(2 * p, extent + j) for j, p in enumerate(at)]
    order = asarray([place for _, place in sorted(keys)], dtype="int64", device=x.device)
    return concat([x, values], axis=axis).take(order, axis=axis)


def resize(x, /, new_shape):
    """An array of another size, filled with repeated copies."""
    x = asarray(x).flatten()
    new_shape = (new_shape,) if _is_integer(new_shape) else tuple(new_shape)
    count = 1
    for extent in new_shape:
        count *= extent
    if count == 0 or x.size == 0:
        return zeros(new_shape, dtype=x.dtype, device=x.device)
    return tile(x, -(-count // x.size))[:count].reshape(new_shape)


def trim_zeros(x, /, trim="fb"):
    """A vector without leading and trailing zeros. Evaluates it."""
    x = asarray(x)
    found = (x != 0)._nonzero()[:, 0].tolist()
    if not found:
        return x[:0]
    return x[found[0] if "f" in trim else 0 : found[-1] + 1 if "b" in trim else x.size]


def diagonal(x, /, offset=0, axis1=0, axis2=1):
    """A diagonal of two axes: by default the first two, as in NumPy (:func:`linalg.diagonal` takes the last two)."""
    x = asarray(x)
    if x.ndim != 2 or (axis1, axis2) != (0, 1):
        x = moveaxis(x, (axis1, axis2), (-2, -1))
    return x._diagonal(offset)


def trace(x, /, offset=0, axis1=0, axis2=1, dtype=None):
    """The sum of a diagonal of two axes: by default the first two."""
    return diagonal(x, offset, axis1, axis2).sum(-1, dtype)


def diag(x, /, k=0):
    """A diagonal of a matrix, or a matrix with a given diagonal."""
    x = asarray(x)
    if x.ndim == 2:
        return x._diagonal(k)
    if x.ndim != 1:
        raise ShapeError(f"diag: expected a vector or a matrix, not shape {x.shape}")
    size = x.size + abs(k)
    rows = _native.arange(size, device=x.device).expand_dims(1)
    columns = _native.arange(size, device=x.device)
    before, after = (k, 0) if k > 0 else (0, -k)
    return _native.where(columns == rows + k, x.pad([(before, after)]), _native.full((), 0, dtype=x.dtype, device=x.device))


def diagflat(x, /, k=0):
    """A matrix with the flattened array on a diagonal."""
    return diag(ravel(x), k)


def tri(N, M=None, k=0, dtype="float32"):
    """Ones on and below a diagonal, zeros above."""
    rows = _native.arange(N).expand_dims(1)
    return (_native.arange(N if M is None else M) <= rows + k).astype(dtype)


def vander(x, /, N=None, increasing=False):
    """The Vandermonde matrix: powers of a vector's elements as columns."""
    x = asarray(x)
    N = x.size if N is None else N
    powers = _native.arange(N, device=x.device)
    powers = powers if increasing else N - 1 - powers
    return x.expand_dims(1) ** powers.astype(x.dtype)


def kron(x1, /, b):
    """The Kronecker product."""
    x1, b = asarray(x1), asarray(b)
    rank = _builtins.max(x1.ndim, b.ndim)
    x1, b = (each.reshape((1,) * (rank - each.ndim) + each.shape) for each in (x1, b))
    outer = x1.reshape(tuple(part for extent in x1.shape for part in (extent, 1)))
    inner = b.reshape(tuple(part for extent in b.shape for part in (1, extent)))
    return (outer * inner).reshape(tuple(a * b for a, b in zip(x1.shape, b.shape)))

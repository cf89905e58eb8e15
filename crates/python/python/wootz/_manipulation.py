"""Manipulation functions."""

import builtins as _builtins

from . import _native
from ._dtypes import result_type
from ._native import Array, asarray
from .errors import ArgumentError, AxisError, ShapeError

__all__ = [
    "broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "pad", "permute_dims", "repeat",
    "reshape", "roll", "squeeze", "stack", "tile", "unstack", "broadcast_shapes", "concatenate", "transpose",
]


def _axis(name, axis, rank):
    """A normalised, non-negative axis."""
    if not -rank <= axis < rank:
        raise AxisError(f"{name}: axis {axis} is out of range for {rank} axes")
    return axis % rank


def _is_integer(value):
    """Whether a value is one integer: Python's, NumPy's, or a zero-dimensional array's."""
    return hasattr(value, "__index__") and getattr(value, "ndim", 0) == 0


def _tuple(axis):
    return tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes broadcast to."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent != 1:
                if result[axis] not in (1, extent):
                    raise ShapeError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
                result[axis] = extent
    return tuple(result)


def broadcast_arrays(*arrays):
    """Arrays broadcast against each other."""
    arrays = [asarray(each) for each in arrays]
    shape = broadcast_shapes(*(each.shape for each in arrays))
    return [each.broadcast_to(shape) for each in arrays]


def broadcast_to(x, /, shape):
    """An array broadcast to a shape."""
    return asarray(x).broadcast_to(tuple(shape))


def concat(arrays, /, axis=0):
    """Joins arrays along an axis, or flattened if it is None."""
    arrays = [asarray(each) for each in arrays]
    if not arrays:
        raise ArgumentError("concat: expected at least one array")
    dtype = result_type(*arrays)
    arrays = [each.astype(dtype) for each in arrays]
    if axis is None:
        arrays, axis = [each.flatten() for each in arrays], 0
    return _native._concat(arrays, axis)


concatenate = concat


def stack(arrays, /, axis=0):
    """Joins arrays of the same shape along a new axis."""
    arrays = [asarray(each) for each in arrays]
    if not arrays:
        raise ArgumentError("stack: expected at least one array")
    dtype = result_type(*arrays)
    return _native._stack([each.astype(dtype) for each in arrays], axis)


def unstack(x, /, axis=0):
    """Splits an array into its slices along an axis."""
    x = asarray(x)
    axis = _axis("unstack", axis, x.ndim)
    front = (slice(None),) * axis
    return tuple(x[front + (i,)] for i in range(x.shape[axis]))


def expand_dims(x, /, axis=0):
    """Inserts new axes of extent 1."""
    x = asarray(x)
    if not isinstance(axis, (tuple, list)):
        return x.expand_dims(axis)
    rank = x.ndim + len(axis)
    for each in sorted(_axis("expand_dims", each, rank) for each in axis):
        x = x.expand_dims(each)
    return x


def squeeze(x, /, axis=None):
    """Removes axes of extent 1: the given ones, or all."""
    return asarray(x).squeeze(axis)


def flip(x, /, axis=None):
    """Reverses axes: the given ones, or all."""
    return asarray(x).flip(axis)


def permute_dims(x, /, axes):
    """Permutes the axes."""
    return asarray(x).transpose(tuple(axes))


def transpose(x, /, axes=None):
    """Permutes the axes, or reverses them."""
    return asarray(x).transpose(*(() if axes is None else (tuple(axes),)))


def moveaxis(x, /, source, destination):
    """Moves axes to other positions; the others keep their order."""
    x = asarray(x)
    source = [_axis("moveaxis", a, x.ndim) for a in _tuple(source)]
    destination = [_axis("moveaxis", a, x.ndim) for a in _tuple(destination)]
    if len(source) != len(destination) or len(set(source)) != len(source) or len(set(destination)) != len(destination):
        raise ArgumentError("moveaxis: source and destination must have the same number of distinct axes")
    order = [axis for axis in range(x.ndim) if axis not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return x.transpose(tuple(order))


def reshape(x, /, shape, *, copy=None):
    """The same elements in another shape; one extent may be -1."""
    result = asarray(x).reshape(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,))
    if copy is False:
        # A view of a lazy array is free; a view of a value may have to move its elements.
        return result
    return result


def roll(x, /, shift, axis=None):
    """Rolls elements along an axis; those shifted out re-enter at the other end."""
    x = asarray(x)
    if axis is None:
        # Like NumPy, several shifts of the flattened array add up.
        return x.flatten()._roll(_builtins.sum(_tuple(shift)), 0).reshape(x.shape)
    axes = _tuple(axis)
    shifts = _tuple(shift)
    # One of either goes with all of the other.
    axes, shifts = axes * (len(shifts) if len(axes) == 1 else 1), shifts * (len(axes) if len(shifts) == 1 else 1)
    if len(shifts) != len(axes):
        raise ArgumentError(f"roll: got {len(shifts)} shifts for {len(axes)} axes")
    for amount, axis in zip(shifts, axes):
        x = x._roll(amount, axis)
    return x


def repeat(x, /, repeats, axis=None):
    """Repeats each element along an axis. Counts given as an array are evaluated."""
    x = asarray(x)
    if axis is None:
        x, axis = x.flatten(), 0
    axis = _axis("repeat", axis, x.ndim)
    if not _is_integer(repeats):
        counts = asarray(repeats)
        if counts.dtype.kind not in "iu":
            raise ArgumentError(f"repeat: counts must be integers, not {counts.dtype}")
        counts = counts.flatten().tolist()
        if len(counts) == 1:
            counts = counts * x.shape[axis]
        if len(counts) != x.shape[axis] or _builtins.any(count < 0 for count in counts):
            raise ArgumentError(f"repeat: expected {x.shape[axis]} non-negative counts, one per element")
        index = [i for i, count in enumerate(counts) for _ in range(count)]
        return x.take(asarray(index, dtype="int64", device=x.device), axis=axis)
    if repeats < 0:
        raise ArgumentError(f"repeat: invalid count {repeats}")
    return x._repeat(repeats, axis)


def tile(x, /, reps):
    """Repeats the array along its axes."""
    x = asarray(x)
    reps = _tuple(reps)
    rank = max(x.ndim, len(reps))
    reps = (1,) * (rank - len(reps)) + tuple(reps)
    x = x.reshape((1,) * (rank - x.ndim) + x.shape)
    for axis, times in enumerate(reps):
        if times < 0:
            raise ArgumentError(f"tile: invalid count {times}")
        if times != 1:
            x = x._tile(times, axis)
    return x


def _widths(widths, rank):
    """``(before, after)`` per axis."""
    if _is_integer(widths):
        widths = [(widths, widths)] * rank
    elif len(widths) == 2 and _builtins.all(map(_is_integer, widths)):
        widths = [tuple(widths)] * rank
    elif len(widths) == 1:
        first = _tuple(widths[0])
        widths = [(first[0], first[-1])] * rank
    if _builtins.any(width < 0 for pair in widths for width in pair):
        raise ArgumentError("pad: widths must not be negative")
    return [tuple(pair) for pair in widths]


def _pad_constant(x, widths, values):
    """Pads with one value, a pair for before and after, or a pair per axis."""
    filled = asarray(values)
    # What does not fit the dtype is refused here.
    filled = asarray(values, dtype=x.dtype, device=x.device) if not isinstance(values, Array) else filled.astype(x.dtype)
    if filled.ndim == 0:
        return x.pad(widths, filled.item())
    pairs = filled.broadcast_to((x.ndim, 2)).tolist()
    for axis, ((before, after), (first, last)) in enumerate(zip(widths, pairs)):
        for width, value in (((before, 0), first), ((0, after), last)):
            if width != (0, 0):
                x = x.pad([width if each == axis else (0, 0) for each in range(x.ndim)], value)
    return x


def _source(mode, extent, before, after):
    """The source positions of a padded axis."""
    if extent == 0 and before + after > 0:
        raise ArgumentError(f"pad: mode {mode!r} cannot extend an empty axis")
    place = _native.arange(-before, extent + after)
    if mode == "edge":
        return place.clip(0, extent - 1)
    if mode == "wrap":
        return place % extent
    if mode == "reflect" and extent == 1:
        return place * 0
    period = 2 * extent if mode == "symmetric" else 2 * (extent - 1)
    folded = place % period
    mirrored = period - 1 - folded if mode == "symmetric" else period - folded
    return _native.where(folded < extent, folded, mirrored)


def pad(x, /, pad_width, mode="constant", *, constant_values=0, value=None):
    """Pads an array: ``(before, after)`` per axis, or one pair or one width for all axes.

    ``mode`` says which: ``constant`` (``constant_values``, one or per side or axis; MLX's ``value`` is the same), ``edge``, ``reflect``, ``symmetric`` or ``wrap``.
    """
    x = asarray(x)
    widths = _widths(pad_width, x.ndim)
    if mode == "constant":
        return _pad_constant(x, widths, constant_values if value is None else value)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ArgumentError(f"pad: mode must be constant, edge, reflect, symmetric or wrap, not {mode!r}")
    if len(widths) != x.ndim:
        raise ArgumentError(f"pad: got {len(widths)} pairs of widths for {x.ndim} axes")
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = x.take(_source(mode, x.shape[axis], before, after).to_device(x.device), axis=axis)
    return x

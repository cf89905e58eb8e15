"""Functions that move elements."""

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
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise AxisError(f"{name}: axis {axis} is out of range for {rank} axes")
    return axis % rank


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
    """An array with axes of extent 1 repeated, and new leading axes."""
    return asarray(x).broadcast_to(tuple(shape))


def concat(arrays, /, axis=0):
    """Arrays one after the other along an axis, or flattened where that is None."""
    arrays = [asarray(each) for each in arrays]
    if not arrays:
        raise ArgumentError("concat: no arrays were given")
    dtype = result_type(*arrays)
    arrays = [each.astype(dtype) for each in arrays]
    if axis is None:
        arrays, axis = [each.flatten() for each in arrays], 0
    return _native._concat(arrays, axis)


concatenate = concat


def stack(arrays, /, axis=0):
    """Arrays of one shape along a new axis."""
    arrays = [asarray(each) for each in arrays]
    if not arrays:
        raise ArgumentError("stack: no arrays were given")
    dtype = result_type(*arrays)
    return _native._stack([each.astype(dtype) for each in arrays], axis)


def unstack(x, /, axis=0):
    """The slices of an array along an axis."""
    x = asarray(x)
    axis = _axis("unstack", axis, x.ndim)
    front = (slice(None),) * axis
    return tuple(x[front + (i,)] for i in range(x.shape[axis]))


def expand_dims(x, /, axis=0):
    """An array with a new axis of extent 1, or several."""
    x = asarray(x)
    if not isinstance(axis, (tuple, list)):
        return x.expand_dims(axis)
    rank = x.ndim + len(axis)
    for each in sorted(_axis("expand_dims", each, rank) for each in axis):
        x = x.expand_dims(each)
    return x


def squeeze(x, /, axis=None):
    """An array without these axes, whose extent is 1; without all such axes where none is named."""
    return asarray(x).squeeze(axis)


def flip(x, /, axis=None):
    """An array with axes reversed: those named, or all."""
    return asarray(x).flip(axis)


def permute_dims(x, /, axes):
    """Axes in another order."""
    return asarray(x).transpose(tuple(axes))


def transpose(x, /, axes=None):
    """Axes in another order, or reversed."""
    return asarray(x).transpose(*(() if axes is None else (tuple(axes),)))


def moveaxis(x, source, destination, /):
    """Axes moved to other places, the others in their order."""
    x = asarray(x)
    source = [_axis("moveaxis", a, x.ndim) for a in _tuple(source)]
    destination = [_axis("moveaxis", a, x.ndim) for a in _tuple(destination)]
    if len(source) != len(destination) or len(set(source)) != len(source) or len(set(destination)) != len(destination):
        raise ArgumentError("moveaxis: as many different destinations as sources are needed")
    order = [axis for axis in range(x.ndim) if axis not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return x.transpose(tuple(order))


def reshape(x, /, shape, *, copy=None):
    """The same elements under another shape; one extent may be -1."""
    result = asarray(x).reshape(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,))
    if copy is False:
        # A view of what is lazy costs nothing; of a value, it may need its elements moved.
        return result
    return result


def roll(x, /, shift, axis=None):
    """Elements moved on, those pushed out coming in at the other end."""
    x = asarray(x)
    if axis is None:
        if isinstance(shift, (tuple, list)):
            raise ArgumentError("roll: several shifts need several axes")
        return x.flatten()._roll(shift, 0).reshape(x.shape)
    axes = _tuple(axis)
    shifts = _tuple(shift) if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ArgumentError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    for amount, axis in zip(shifts, axes):
        x = x._roll(amount, axis)
    return x


def repeat(x, repeats, /, axis=None):
    """Each element of an axis several times in a row. Counts in an array are evaluated."""
    x = asarray(x)
    if axis is None:
        x, axis = x.flatten(), 0
    axis = _axis("repeat", axis, x.ndim)
    if isinstance(repeats, Array) or isinstance(repeats, (tuple, list)):
        counts = asarray(repeats)
        if counts.dtype.kind not in "iu":
            raise ArgumentError(f"repeat: counts are integers, not {counts.dtype}")
        counts = counts.flatten().tolist()
        if len(counts) == 1:
            counts = counts * x.shape[axis]
        if len(counts) != x.shape[axis] or _builtins.any(count < 0 for count in counts):
            raise ArgumentError(f"repeat: {x.shape[axis]} counts of 0 or more are needed, one for each element")
        index = [i for i, count in enumerate(counts) for _ in range(count)]
        return x.take(asarray(index, dtype="int64", device=x.device), axis=axis)
    if repeats < 0:
        raise ArgumentError(f"repeat: {repeats} times is not possible")
    return x._repeat(repeats, axis)


def tile(x, repetitions, /):
    """The whole array several times along its axes."""
    x = asarray(x)
    repetitions = _tuple(repetitions)
    rank = max(x.ndim, len(repetitions))
    repetitions = (1,) * (rank - len(repetitions)) + tuple(repetitions)
    x = x.reshape((1,) * (rank - x.ndim) + x.shape)
    for axis, times in enumerate(repetitions):
        if times < 0:
            raise ArgumentError(f"tile: {times} times is not possible")
        if times != 1:
            x = x._tile(times, axis)
    return x


def _widths(widths, rank):
    """``(before, after)`` for each axis."""
    if isinstance(widths, int):
        widths = [(widths, widths)] * rank
    elif len(widths) == 2 and _builtins.all(isinstance(width, int) for width in widths):
        widths = [tuple(widths)] * rank
    elif len(widths) == 1:
        first = _tuple(widths[0])
        widths = [(first[0], first[-1])] * rank
    if _builtins.any(width < 0 for pair in widths for width in pair):
        raise ArgumentError("pad: widths are 0 or more")
    return [tuple(pair) for pair in widths]


def _source(mode, extent, before, after):
    """Where the elements of a padded axis come from."""
    if extent == 0 and before + after > 0:
        raise ArgumentError(f"pad: mode {mode!r} cannot extend an axis without elements")
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


def pad(x, /, widths, mode="constant", *, value=0, constant_values=None):
    """An array with more elements around it: ``(before, after)`` for each axis, or one pair, or one width, for all.

    ``mode`` says which: ``constant`` (``value``), ``edge``, ``reflect``, ``symmetric`` or ``wrap``.
    """
    x = asarray(x)
    widths = _widths(widths, x.ndim)
    if mode == "constant":
        return x.pad(widths, value if constant_values is None else constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ArgumentError(f"pad: mode {mode!r} is none of constant, edge, reflect, symmetric, wrap")
    if len(widths) != x.ndim:
        raise ArgumentError(f"pad: {len(widths)} pairs of widths for {x.ndim} axes")
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = x.take(_source(mode, x.shape[axis], before, after).to_device(x.device), axis=axis)
    return x

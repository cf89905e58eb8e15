"""Matrix products of the main namespace."""

from ._manipulation import _axis, _is_integer, moveaxis
from ._dtypes import result_type
from ._native import Array, asarray
from .errors import ArgumentError, ShapeError

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1, x2, /):
    """The matrix product: leading axes broadcast, vectors are treated as rows or columns."""
    return asarray(x1) @ asarray(x2)


def matrix_transpose(x, /):
    """The array with its last two axes swapped."""
    return asarray(x).mT


def vecdot(x1, x2, /, axis=-1):
    """The dot product along an axis."""
    x1, x2 = asarray(x1), asarray(x2)
    if axis >= 0:
        if x1.ndim != x2.ndim:
            raise ArgumentError("vecdot: the axis must be negative if the arrays have different numbers of axes")
        axis -= x1.ndim
    dtype = result_type(x1, x2)
    x1, x2 = (moveaxis(each.astype(dtype), axis, -1) for each in (x1, x2))
    if x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(f"vecdot: got {x1.shape[-1]} and {x2.shape[-1]} elements along axis {axis}")
    return (x1 * x2).sum(-1, dtype)


def tensordot(x1, /, b, axes=2):
    """The tensor contraction over pairs of axes: a number of them, or two sequences."""
    x1, b = asarray(x1), asarray(b)
    dtype = result_type(x1, b)
    x1, b = x1.astype(dtype), b.astype(dtype)
    if _is_integer(axes):
        return x1._tensordot(b, axes)
    first, second = ([each] if _is_integer(each) else list(each) for each in axes)
    if len(first) != len(second):
        raise ArgumentError(f"tensordot: cannot contract {len(first)} axes with {len(second)}")
    first = [_axis("tensordot", a, x1.ndim) for a in first]
    second = [_axis("tensordot", a, b.ndim) for a in second]
    x1 = x1.transpose(tuple([a for a in range(x1.ndim) if a not in first] + first)) if x1.ndim else x1
    b = b.transpose(tuple(second + [a for a in range(b.ndim) if a not in second])) if b.ndim else b
    return x1._tensordot(b, len(first))

"""The standard's linear algebra extension without decompositions, and NumPy's ``norm``."""

from . import _native
from ._dtypes import result_type
from ._manipulation import _axis, broadcast_shapes, moveaxis, stack
from ._native import Array, asarray
from ._products import matmul, matrix_transpose, tensordot, vecdot
from .errors import ArgumentError, DTypeError, ShapeError

__all__ = [
    "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "norm", "outer", "tensordot", "trace", "vecdot",
    "vector_norm",
]


def outer(x1, x2, /):
    """The outer product of two vectors."""
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"outer: expected two vectors, not shapes {x1.shape} and {x2.shape}")
    return x1.expand_dims(1) * x2


def diagonal(x, /, offset=0):
    """A diagonal of the last two axes."""
    return asarray(x)._diagonal(offset)


def trace(x, /, offset=0, dtype=None):
    """The sum of a diagonal of the last two axes."""
    return asarray(x)._diagonal(offset).sum(-1, dtype)


def cross(x1, x2, /, axis=-1):
    """The cross product of three-element vectors along an axis."""
    x1, x2 = asarray(x1), asarray(x2)
    dtype = result_type(x1, x2)
    if dtype.kind == "b":
        raise DTypeError("cross: bool is not numeric")
    shape = broadcast_shapes(x1.shape, x2.shape)
    axis = _axis("cross", axis, len(shape))
    if shape[axis] != 3 or 3 not in (x1.shape[axis - len(shape)], x2.shape[axis - len(shape)]):
        raise ShapeError(f"cross: expected three elements along axis {axis}, not shapes {x1.shape} and {x2.shape}")
    (a1, a2, a3), (b1, b2, b3) = (
        [moveaxis(each.broadcast_to(shape), axis, 0)[i] for i in range(3)] for each in (x1, x2)
    )
    return stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], axis=axis)


def matrix_power(x, n, /):
    """A square matrix raised to a non-negative power, by repeated squaring."""
    x = asarray(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"matrix_power: expected square matrices, not shape {x.shape}")
    if n < 0:
        raise ArgumentError("matrix_power: negative powers are not supported, because there is no matrix inverse")
    result = _native.eye(x.shape[-1], dtype=x.dtype, device=x.device).broadcast_to(x.shape)
    while n:
        if n & 1:
            result = result @ x
        x, n = (x @ x if n > 1 else x), n >> 1
    return result


def _float(name, x):
    x = asarray(x)
    if x.dtype.kind != "f":
        raise DTypeError(f"{name}: expected a floating-point array, not {x.dtype}")
    return x


def vector_norm(x, /, axis=None, keepdims=False, ord=2):
    """Vector norms along axes."""
    x = _float("vector_norm", x)
    size = abs(x)
    if ord == float("inf"):
        return size.max(axis, keepdims)
    if ord == -float("inf"):
        return size.min(axis, keepdims)
    if ord == 0:
        return (x != 0).sum(axis, x.dtype, keepdims)
    if ord == 1:
        return size.sum(axis, None, keepdims)
    if ord == 2:
        return (x * x).sum(axis, None, keepdims).sqrt()
    return _native.pow((size**ord).sum(axis, None, keepdims), 1.0 / ord)


def matrix_norm(x, /, keepdims=False, ord="fro"):
    """Matrix norms over the last two axes: ``fro``, 1, -1, inf, -inf. Other orders would need singular values."""
    x = _float("matrix_norm", x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_norm: expected at least two axes, not shape {x.shape}")
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    across = {1: (-2, "max"), -1: (-2, "min"), float("inf"): (-1, "max"), -float("inf"): (-1, "min")}
    if ord not in across:
        raise ArgumentError(f"matrix_norm: ord {ord!r} is not supported; use 'fro', 1, -1, inf or -inf")
    axis, pick = across[ord]
    result = getattr(abs(x).sum(axis, None, True), pick)((-2, -1), True)
    return result if keepdims else result.squeeze((-2, -1))


def norm(x, /, ord=None, axis=None, keepdims=False):
    """NumPy's norm: of the flattened array, of vectors along an axis, or of matrices over two axes."""
    x = asarray(x)
    x = x if x.dtype.kind == "f" else x.astype("float32")
    if ord is None or axis is None and x.ndim == 1 or axis is not None and not isinstance(axis, (tuple, list)):
        return vector_norm(x, axis, keepdims, 2 if ord is None else ord)
    axes = (-2, -1) if axis is None else tuple(axis)
    if len(axes) == 1:
        return vector_norm(x, axes, keepdims, ord)
    if len(axes) != 2 or axis is None and x.ndim != 2:
        raise ShapeError(f"norm: ord {ord!r} needs a vector, a matrix, or one or two axes, not shape {x.shape} and axes {axis}")
    first, second = (_axis("norm", each, x.ndim) for each in axes)
    found = matrix_norm(moveaxis(x, (first, second), (-2, -1)), ord=ord)
    if keepdims:
        for each in sorted((first, second)):
            found = found.expand_dims(each)
    return found


#: What NumPy has and this module has not.
_DECOMPOSITIONS = (
    "cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_rank pinv qr slogdet solve svd svdvals tensorinv tensorsolve"
).split()


def __getattr__(name):
    if name in _DECOMPOSITIONS:
        message = f"wootz.linalg has no {name}: decompositions are not supported; numpy.linalg.{name}(numpy.asarray(x)) computes it without a copy"
        raise AttributeError(message)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

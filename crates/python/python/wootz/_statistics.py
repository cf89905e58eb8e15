"""Reductions and cumulative functions."""

from . import _native
from ._manipulation import _axis, concat
from ._native import Array, asarray
from .errors import ArgumentError, DTypeError

__all__ = [
    "all", "any", "cumulative_prod", "cumulative_sum", "diff", "logsumexp", "max", "mean", "min", "prod", "std", "sum",
    "var",
]


def _numeric(name, x):
    x = asarray(x)
    if x.dtype.kind == "b":
        raise DTypeError(f"{name}: bool is not numeric (cast it first)")
    return x


def all(x, /, axis=None, keepdims=False):
    """Whether all elements are true or non-zero."""
    return asarray(x).all(axis, keepdims)


def any(x, /, axis=None, keepdims=False):
    """Whether any element is true or non-zero."""
    return asarray(x).any(axis, keepdims)


def max(x, /, axis=None, keepdims=False):
    """The largest element; NaN if there is one."""
    return asarray(x).max(axis, keepdims)


def min(x, /, axis=None, keepdims=False):
    """The smallest element; NaN if there is one."""
    return asarray(x).min(axis, keepdims)


def mean(x, /, axis=None, keepdims=False, *, dtype=None):
    """The mean; NaN if there are no elements."""
    return asarray(x).mean(axis, keepdims, dtype=dtype)


def sum(x, /, axis=None, dtype=None, keepdims=False):
    """The sum; small integers are summed in 64 bits unless a dtype is given."""
    return asarray(x).sum(axis, dtype, keepdims)


def prod(x, /, axis=None, dtype=None, keepdims=False):
    """The product; small integers are multiplied in 64 bits unless a dtype is given."""
    return asarray(x).prod(axis, dtype, keepdims)


def _off(correction, ddof):
    return correction if ddof is None else ddof


def var(x, /, axis=None, correction=0.0, keepdims=False, *, ddof=None, dtype=None):
    """The variance, with ``correction`` (or ``ddof``) subtracted from the count."""
    return asarray(x).var(axis, _off(correction, ddof), keepdims, dtype=dtype)


def std(x, /, axis=None, correction=0.0, keepdims=False, *, ddof=None, dtype=None):
    """The standard deviation, with ``correction`` (or ``ddof``) subtracted from the count."""
    return asarray(x).std(axis, _off(correction, ddof), keepdims, dtype=dtype)


def logsumexp(x, /, axis=None, keepdims=False):
    """``ln Σ eˣ``, without overflow."""
    return asarray(x).logsumexp(axis, keepdims)


def _cumulative(name, x, axis, include_initial, first, run):
    x = asarray(x)
    if x.ndim == 0:
        raise ArgumentError(f"{name}: expected an array with at least one axis")
    if axis is None:
        if x.ndim != 1:
            raise ArgumentError(f"{name}: an axis must be given for an array with {x.ndim} axes")
        axis = 0
    axis = _axis(name, axis, x.ndim)
    result = run(x, axis)
    if include_initial:
        shape = result.shape[:axis] + (1,) + result.shape[axis + 1 :]
        start = _native.full(shape, first, dtype=result.dtype, device=x.device)
        result = concat([start, result], axis=axis)
    return result


def cumulative_sum(x, /, axis=None, dtype=None, include_initial=False):
    """The cumulative sum along an axis."""
    return _cumulative("cumulative_sum", x, axis, include_initial, 0, lambda x, axis: x.cumsum(axis, dtype))


def cumulative_prod(x, /, axis=None, dtype=None, include_initial=False):
    """The cumulative product along an axis."""
    return _cumulative("cumulative_prod", x, axis, include_initial, 1, lambda x, axis: x.cumprod(axis, dtype))


def diff(x, /, n=1, axis=-1, prepend=None, append=None):
    """The ``n``-th differences between consecutive elements along an axis."""
    x = _numeric("diff", x)
    axis = _axis("diff", axis, x.ndim)
    parts = [each for each in (prepend, x, append) if each is not None]
    if len(parts) > 1:
        x = concat(parts, axis=axis)
    if n < 0:
        raise ArgumentError(f"diff: invalid n: {n}")
    front = (slice(None),) * axis
    for _ in range(n):
        x = x[front + (slice(1, None),)] - x[front + (slice(None, -1),)]
    return x

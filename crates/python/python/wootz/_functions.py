"""Elementwise and sequence functions beyond the op table, composed of its ops."""

import builtins as _builtins
import math as _math

from . import _native
from ._dtypes import result_type
from ._manipulation import _axis, _is_integer, concat, moveaxis
from ._native import asarray
from .errors import ArgumentError, DTypeError, ShapeError

__all__ = [
    "angle", "cbrt", "convolve", "correlate", "cross", "degrees", "divmod", "dot", "ediff1d", "fabs", "fix", "float_power", "fmax",
    "fmin", "fmod", "gcd", "gradient", "heaviside", "inner", "interp", "isreal", "lcm", "ldexp", "logaddexp2", "modf", "nan_to_num",
    "outer", "polyval", "radians", "rint", "round", "sinc", "spacing", "trapezoid", "unwrap", "vdot",
]


def _float(x):
    x = asarray(x)
    return x if x.dtype.kind == "f" else x.astype("float32")


def _floats(a, b):
    a, b = asarray(a), asarray(b)
    dtype = result_type(a, b)
    dtype = dtype if dtype.kind == "f" else _native.float32
    return a.astype(dtype), b.astype(dtype)


def round(x, /, decimals=0):
    """Each number rounded to a number of decimals, ties to even."""
    x = asarray(x)
    if decimals == 0 or x.dtype.kind == "b":
        return _native.round(x)
    if x.dtype.kind != "f":
        if decimals > 0:
            return x
        unit = 10**-decimals
        half = x // unit * unit
        rest = x - half
        up = _native.logical_or(rest * 2 > unit, _native.logical_and(rest * 2 == unit, (half // unit) % 2 == 1))
        return _native.where(up, half + unit, half)
    scale = 10.0 ** abs(decimals)
    return _native.round(x * scale) / scale if decimals > 0 else _native.round(x / scale) * scale


def rint(x, /):
    """Each number rounded to the nearest integer, ties to even."""
    return _native.round(asarray(x))


def fix(x, /):
    """Each number rounded towards zero."""
    return _native.trunc(asarray(x))


def fabs(x, /):
    """The absolute value, as a float."""
    return abs(_float(x))


def degrees(x, /):
    """Converts radians to degrees."""
    return _float(x) * (180.0 / _math.pi)


def radians(x, /):
    """Converts degrees to radians."""
    return _float(x) * (_math.pi / 180.0)


def cbrt(x, /):
    """The cube root."""
    x = _float(x)
    size = abs(x)
    root = _native.where(size > 0, _native.exp(_native.log(_native.where(size > 0, size, 1)) / 3.0), size)
    # One Newton step removes the error of the logarithm.
    safe = _native.where(_native.logical_and(size > 0, _native.isfinite(size)), root, 1)
    better = _native.where(_native.logical_and(size > 0, _native.isfinite(size)), (2 * safe + size / (safe * safe)) / 3.0, root)
    return _native.copysign(better, x)


def sinc(x, /):
    """``sin(πx) / (πx)``, and 1 at 0."""
    x = _float(x) * _math.pi
    return _native.where(x == 0, 1, _native.sin(x) / _native.where(x == 0, 1, x))


def heaviside(x1, x2, /):
    """0 below zero, 1 above, ``x2`` at zero."""
    x1, x2 = _floats(x1, x2)
    step = (x1 > 0).astype(x1.dtype)
    return _native.where(x1 == 0, x2, _native.where(x1 == x1, step, x1))


def fmax(x1, x2, /):
    """The larger of two elements, ignoring NaN."""
    x1, x2 = asarray(x1), asarray(x2)
    return _native.where(x2 != x2, x1, _native.where(x1 != x1, x2, _native.maximum(x1, x2)))


def fmin(x1, x2, /):
    """The smaller of two elements, ignoring NaN."""
    x1, x2 = asarray(x1), asarray(x2)
    return _native.where(x2 != x2, x1, _native.where(x1 != x1, x2, _native.minimum(x1, x2)))


def fmod(x1, x2, /):
    """The remainder with the sign of the dividend."""
    x1, x2 = asarray(x1), asarray(x2)
    rest = _native.remainder(abs(x1), abs(x2)) if result_type(x1, x2).kind != "u" else _native.remainder(x1, x2)
    return rest if rest.dtype.kind == "u" else _native.where(x1 < 0, -rest, rest)


def divmod(x1, x2, /):
    """The quotient rounded towards -inf, and the remainder."""
    x1, x2 = asarray(x1), asarray(x2)
    return x1 // x2, x1 % x2


def modf(x, /):
    """The fractional and integral parts, both with the sign of the number."""
    x = _float(x)
    whole = _native.trunc(x)
    rest = _native.where(_native.isfinite(x), x - whole, _native.where(x == x, 0, x))
    return _native.copysign(rest, x), whole


def ldexp(x1, x2, /):
    """``x1 * 2**x2``."""
    x1 = _float(x1)
    return x1 * _native.exp2(asarray(x2).astype(x1.dtype))


def float_power(x1, x2, /):
    """A power in floating point, whatever the dtypes."""
    x1, x2 = asarray(x1).astype("float64"), asarray(x2).astype("float64")
    return x1**x2


def logaddexp2(x1, x2, /):
    """``log2(2**x1 + 2**x2)``."""
    x1, x2 = _floats(x1, x2)
    return _native.logaddexp(x1 * _math.log(2), x2 * _math.log(2)) / _math.log(2)


def nan_to_num(x, /, nan=0.0, posinf=None, neginf=None, *, copy=True):
    """Replaces NaN and infinities: by default with 0 and the dtype's limits."""
    from ._dtypes import finfo

    x = asarray(x)
    if x.dtype.kind != "f":
        return x
    limits = finfo(x.dtype)
    x = _native.where(x != x, nan, x)
    x = _native.where(x == float("inf"), limits.max if posinf is None else posinf, x)
    return _native.where(x == float("-inf"), limits.min if neginf is None else neginf, x)


def isreal(x, /):
    """Whether each element is real: always true here."""
    return _native.full(asarray(x).shape, True)


def angle(x, /, deg=False):
    """The angle of real numbers: 0, or π if negative."""
    x = _float(x)
    found = _native.where(x < 0, _math.pi, _native.where(x == x, 0, x))
    return found * (180.0 / _math.pi) if deg else found


def spacing(x, /):
    """The distance to the next representable number."""
    from ._dtypes import finfo

    x = _float(x)
    limits = finfo(x.dtype)
    size = abs(x)
    power = _native.floor(_native.log2(_native.where(size > 0, size, 1)))
    # The logarithm may round up to the next power.
    power = _native.where(_native.exp2(power) > size, power - 1, power)
    step = _native.maximum(_native.exp2(power) * limits.eps, limits.smallest_normal * limits.eps)
    return _native.copysign(_native.where(size > 0, step, limits.smallest_normal * limits.eps), x)


def _integers(what, x1, x2):
    x1, x2 = asarray(x1), asarray(x2)
    dtype = result_type(x1, x2)
    if dtype.kind not in "iu":
        raise DTypeError(f"{what}: expected integers, not {x1.dtype} and {x2.dtype}")
    return abs(x1.astype(dtype)) if dtype.kind == "i" else x1.astype(dtype), abs(x2.astype(dtype)) if dtype.kind == "i" else x2.astype(dtype)


def gcd(x1, x2, /):
    """The greatest common divisor, by Euclid's algorithm. Evaluates the arrays."""
    a, b = _integers("gcd", x1, x2)
    while _builtins.bool((b != 0).any()):
        rest = a % _native.where(b == 0, 1, b)
        a, b = _native.where(b == 0, a, b), _native.where(b == 0, 0, rest)
    return a


def lcm(x1, x2, /):
    """The least common multiple. Evaluates the arrays."""
    a, b = _integers("lcm", x1, x2)
    common = gcd(a, b)
    return a // _native.where(common == 0, 1, common) * b


def outer(a, /, b):
    """The outer product of two arrays, flattened."""
    return asarray(a).flatten().expand_dims(1) * asarray(b).flatten()


def inner(a, /, b):
    """The sum of products over the last axes of two arrays."""
    from ._products import tensordot

    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return tensordot(a, b, axes=((-1,), (-1,)))


def dot(a, /, b):
    """The product over the last axis of one array and the second to last of another (or its only axis)."""
    from ._products import tensordot

    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return tensordot(a, b, axes=((-1,), (-2 if b.ndim > 1 else -1,)))


def vdot(a, /, b):
    """The dot product of two flattened arrays."""
    return dot(asarray(a).flatten(), asarray(b).flatten())


def cross(a, /, b, axis=-1):
    """The cross product of three-element vectors along an axis."""
    from . import linalg

    return linalg.cross(a, b, axis=axis)


def ediff1d(x, /, to_end=None, to_begin=None):
    """Differences between consecutive elements of the flattened array."""
    x = asarray(x).flatten()
    parts = [x[1:] - x[:-1]]
    parts = ([asarray(to_begin, dtype=x.dtype).flatten()] if to_begin is not None else []) + parts
    parts += [asarray(to_end, dtype=x.dtype).flatten()] if to_end is not None else []
    return concat(parts)


def trapezoid(y, /, x=None, dx=1.0, axis=-1):
    """The integral along an axis by the trapezoidal rule."""
    y = moveaxis(_float(y), axis, -1)
    if x is not None:
        x = asarray(x)
        dx = x[..., 1:] - x[..., :-1] if x.ndim == 1 else moveaxis(x[...], axis, -1)[..., 1:] - moveaxis(x, axis, -1)[..., :-1]
    return ((y[..., 1:] + y[..., :-1]) * dx / 2.0).sum(-1)


def gradient(f, /, *spacing, axis=None):
    """Gradients by central differences, one-sided at the ends: one array per axis."""
    f = _float(f)
    axes = range(f.ndim) if axis is None else [axis] if _is_integer(axis) else list(axis)
    spacing = list(spacing) * len(axes) if len(spacing) == 1 else list(spacing) or [1.0] * len(axes)
    if len(spacing) != len(axes):
        raise ArgumentError(f"gradient: got {len(spacing)} spacings for {len(axes)} axes")
    found = []
    for each, distance in zip(axes, spacing):
        y = moveaxis(f, each, -1)
        if y.shape[-1] < 2:
            raise ShapeError(f"gradient: axis {each} needs at least two elements")
        if isinstance(distance, (int, float)):
            middle = (y[..., 2:] - y[..., :-2]) / (2.0 * distance)
            first, last = (y[..., 1:2] - y[..., :1]) / distance, (y[..., -1:] - y[..., -2:-1]) / distance
        else:
            step = asarray(distance).astype(y.dtype)
            step = step[1:] - step[:-1]
            a, b = step[:-1], step[1:]
            middle = y[..., 2:] * (a / (b * (a + b))) + y[..., 1:-1] * ((b - a) / (a * b)) - y[..., :-2] * (b / (a * (a + b)))
            first, last = (y[..., 1:2] - y[..., :1]) / step[0], (y[..., -1:] - y[..., -2:-1]) / step[-1]
        found.append(moveaxis(concat([first, middle, last], axis=-1), -1, each))
    return found[0] if len(found) == 1 else tuple(found)


def convolve(x, /, v, mode="full"):
    """The convolution of two vectors: ``full``, ``same`` or ``valid``."""
    x, v = asarray(x), asarray(v)
    if x.ndim > 1 or v.ndim > 1 or x.size == 0 or v.size == 0:
        raise ShapeError(f"convolve: expected two non-empty vectors, not shapes {x.shape} and {v.shape}")
    x, v = x.flatten(), v.flatten()
    if x.size < v.size:
        x, v = v, x
    dtype = result_type(x, v)
    x, v = x.astype(dtype), v.astype(dtype)
    edge = v.size - 1
    padded = x.pad([(edge, edge)]) if edge else x
    # Windows of the signal as rows, for a single matrix-vector product.
    starts = _native.arange(x.size + edge, device=x.device).expand_dims(1)
    windows = padded.take(starts + _native.arange(v.size, device=x.device), axis=0)
    full = windows @ v[::-1]
    if mode == "full":
        return full
    if mode == "same":
        return full[edge // 2 : edge // 2 + x.size]
    if mode == "valid":
        return full[edge : x.size]
    raise ArgumentError(f"convolve: mode must be full, same or valid, not {mode!r}")


def correlate(x, /, v, mode="valid"):
    """The cross-correlation of two vectors."""
    x, v = asarray(x), asarray(v)
    if x.size < v.size:
        return convolve(x[::-1], v, mode)[::-1] if mode != "same" else convolve(x, v[::-1], mode)
    return convolve(x, v[::-1], mode)


def interp(x, /, xp, fp, left=None, right=None):
    """Linear interpolation between points, constant outside."""
    from ._searching import searchsorted

    x, xp, fp = _float(x), _float(xp), _float(fp)
    if xp.ndim != 1 or xp.shape != fp.shape or xp.size == 0:
        raise ShapeError(f"interp: expected two vectors of equal length, not shapes {xp.shape} and {fp.shape}")
    at = (searchsorted(xp, x, side="right") - 1).clip(0, _builtins.max(xp.size - 2, 0))
    after = _native.minimum(at + 1, xp.size - 1)
    x0, x1, y0, y1 = (each.take(place, axis=0) for each in (xp, fp) for place in (at, after))
    span = _native.where(x1 > x0, x1 - x0, 1)
    found = y0 + (y1 - y0) * ((x - x0) / span)
    found = _native.where(x <= xp[0], fp[0] if left is None else _native.where(x < xp[0], left, fp[0]), found)
    return _native.where(x >= xp[-1], fp[-1] if right is None else _native.where(x > xp[-1], right, fp[-1]), found)


def polyval(p, /, x):
    """Evaluates a polynomial, highest power first, by Horner's rule."""
    p, x = asarray(p), asarray(x)
    value = x * 0
    for i in range(p.size):
        value = value * x + p[i]
    return value


def unwrap(p, /, discont=None, axis=-1, *, period=2 * _math.pi):
    """Unwraps angles along an axis, so that no jump exceeds half a period."""
    p = _float(p)
    axis = _axis("unwrap", axis, p.ndim)
    y = moveaxis(p, axis, -1)
    step = y[..., 1:] - y[..., :-1]
    half = period / 2
    folded = (step + half) % period - half
    folded = _native.where(_native.logical_and(folded == -half, step > 0), half, folded)
    fix = _native.where(abs(step) < (half if discont is None else _builtins.max(discont, half)), 0, folded - step)
    return moveaxis(concat([y[..., :1], y[..., 1:] + fix.cumsum(-1)], axis=-1), -1, axis)

"""Counter-based random numbers: element ``i`` depends only on the seed and ``i``, and is the same on every device.

Every function takes ``seed``, an integer, or ``key``, an array from :func:`key` or :func:`split`; the same one gives the same
numbers. Without either, each draw has a seed of its own, from a start that differs from process to process; :func:`seed` sets
that start. Inside of a compiled function such draws differ from call to call, too.
"""

import math as _math
import operator as _operator

from . import _native
from ._dtypes import finfo
from ._manipulation import _is_integer, broadcast_shapes
from ._native import Array, _integers, _normal, _uniform, asarray
from .errors import ArgumentError, ConversionError, DTypeError, ShapeError

__all__ = [
    "Generator", "bernoulli", "categorical", "choice", "default_rng", "exponential", "gumbel", "integers", "key", "laplace", "normal",
    "permutation", "rand", "randint", "randn", "random", "random_sample", "seed", "shuffle", "split", "standard_normal",
    "truncated_normal", "uniform",
]


def seed(value):
    """Sets the seed for draws without a seed or key of their own."""
    _native._set_seed(value)


def key(seed):
    """A key: an array of two ``uint32``, for the ``key`` argument of the functions here."""
    value = _operator.index(seed)
    if not 0 <= value < 2**64:
        raise ArgumentError(f"key: a seed must be an integer from 0 to 2**64 - 1, not {value}")
    return asarray([value & 0xFFFFFFFF, value >> 32], dtype="uint32")


def split(key, num=2):
    """Splits a key into ``num`` new ones: an array of shape ``(num, 2)``, which unpacks into keys."""
    if num < 0:
        raise ArgumentError(f"split: invalid number of keys: {num}")
    return _native._split_key(key, num)


def _seed(seed, key):
    if seed is not None and key is not None:
        raise ArgumentError("pass either a seed or a key, not both")
    if key is not None and not isinstance(key, Array):
        raise ConversionError(f"a key must be an array from random.key or random.split, not {type(key).__name__}")
    return seed if key is None else key


def _shape(shape, size, *bounds):
    """The shape of a draw, by either name, or that of the bounds."""
    if shape is not None and size is not None:
        raise ArgumentError("shape and size are the same argument")
    shape = size if shape is None else shape
    extents = [tuple(bound.shape) for bound in bounds if hasattr(bound, "shape")]
    if shape is None:
        return broadcast_shapes(*extents)
    if extents:
        wanted = (shape,) if _is_integer(shape) else tuple(shape)
        if broadcast_shapes(wanted, *extents) != wanted:
            raise ShapeError(f"parameters of shape {', '.join(map(str, extents))} do not fit the shape {wanted} that was asked for")
    return shape


def _is_shape(value):
    return isinstance(value, (tuple, list))


def uniform(low=0.0, high=1.0, shape=None, *, size=None, seed=None, key=None, dtype="float32", device=None):
    """Uniform floats from ``low`` up to but not including ``high``. A leading tuple is the shape: ``uniform((2, 3))``."""
    if _is_shape(low):
        low, shape = 0.0, low
    draw = _uniform(_shape(shape, size, low, high), _seed(seed, key), dtype=dtype, device=device)
    if isinstance(low, (int, float)) and isinstance(high, (int, float)):
        if low == 0 and high == 1:
            return draw
        if low > high:
            raise ArgumentError(f"uniform: invalid bounds {low}, {high}; the arguments are low, high, shape, or a tuple that is the shape")
        # Rounding may produce the upper bound, which is excluded.
        scaled = draw * (high - low) + low
        return _native.minimum(scaled, _below(high, draw.dtype)) if low < high else scaled
    return (draw * (asarray(high) - low) + low).astype(draw.dtype)


def _below(high, dtype):
    """The largest number of a dtype below ``high``."""
    limits = finfo(dtype)
    return high - max(abs(high) * limits.eps, limits.smallest_normal)


def random(shape=(), *, size=None, seed=None, key=None, dtype="float32", device=None):
    """Uniform floats in ``[0, 1)``."""
    return _uniform(shape if size is None else size, _seed(seed, key), dtype=dtype, device=device)


def normal(loc=0.0, scale=1.0, shape=None, *, size=None, seed=None, key=None, dtype="float32", device=None):
    """Normal floats with mean ``loc`` and standard deviation ``scale``. A leading tuple is the shape: ``normal((2, 3))``."""
    if _is_shape(loc):
        loc, shape = 0.0, loc
    draw = _normal(_shape(shape, size, loc, scale), _seed(seed, key), dtype=dtype, device=device)
    if isinstance(loc, (int, float)) and isinstance(scale, (int, float)) and loc == 0 and scale == 1:
        return draw
    return (draw * scale + loc).astype(draw.dtype)


def integers(low, high=None, shape=None, *, size=None, seed=None, key=None, dtype="int64", device=None, endpoint=False):
    """Integers from ``low`` up to but not including ``high`` (including it with ``endpoint``); from 0 if ``high`` is omitted."""
    if _is_shape(low) and high is None:
        raise ConversionError("integers: expected low, high, shape, in this order")
    if high is None:
        low, high = 0, low
    if not (_is_integer(low) and _is_integer(high)):
        low, high = asarray(low), asarray(high) + endpoint
        return _integers_between(low, high, _shape(shape, size, low, high), _seed(seed, key), dtype, device)
    low, high = _operator.index(low), _operator.index(high)
    return _integers(_shape(shape, size), low, high + endpoint, _seed(seed, key), dtype=dtype, device=device)


def _integers_between(low, high, shape, seed, dtype, device):
    """Integers between bounds of their own for each element; ranges beyond 2**53 are not covered evenly."""
    if low.dtype.kind not in "iu" or high.dtype.kind not in "iu":
        raise DTypeError(f"integers: expected integers as bounds, not {low.dtype} and {high.dtype}")
    low, span = low.astype("int64"), high.astype("int64") - low.astype("int64")
    if not (span > 0).all():
        raise ArgumentError("integers: each low must be below its high")
    draw = _uniform(shape, seed, dtype="float64", device=device)
    return (low + (draw * span).astype("int64")).astype(dtype or "int64")


randint = integers


def bernoulli(p=0.5, shape=None, *, size=None, seed=None, key=None, device=None):
    """``True`` with probability ``p``, which may be an array."""
    p = p if isinstance(p, (int, float)) else asarray(p)
    return _uniform(_shape(shape, size, p), _seed(seed, key), device=device) < p


def exponential(scale=1.0, shape=None, *, size=None, seed=None, key=None, dtype="float32", device=None):
    """Exponentially distributed floats with mean ``scale``."""
    draw = _above_zero(_shape(shape, size, scale), seed, key, dtype, device)
    return (-_native.log(draw) * scale).astype(dtype or "float32")


def _above_zero(shape, seed, key, dtype, device):
    """Uniform floats in ``(0, 1)``, whose logarithm is finite. Narrow dtypes have too few numbers near 0, so they are drawn in
    float32."""
    wide = "float64" if dtype == "float64" else "float32"
    return _native.maximum(_uniform(shape, _seed(seed, key), dtype=wide, device=device), 2.0**-25)


def gumbel(loc=0.0, scale=1.0, shape=None, *, size=None, seed=None, key=None, dtype="float32", device=None):
    """Floats from the Gumbel distribution with location and scale."""
    if _is_shape(loc):
        loc, shape = 0.0, loc
    draw = _above_zero(_shape(shape, size, loc, scale), seed, key, dtype, device)
    return (-_native.log(-_native.log(draw)) * scale + loc).astype(dtype or "float32")


def laplace(loc=0.0, scale=1.0, shape=None, *, size=None, seed=None, key=None, dtype="float32", device=None):
    """Floats from the Laplace distribution."""
    if _is_shape(loc):
        loc, shape = 0.0, loc
    centred = _above_zero(_shape(shape, size, loc, scale), seed, key, dtype, device) - 0.5
    return (loc - _native.sign(centred) * _native.log1p(-2.0 * abs(centred)) * scale).astype(dtype or "float32")


def truncated_normal(lower, upper, shape=None, *, size=None, seed=None, key=None, dtype="float32", device=None):
    """Normal floats with mean 0 and variance 1 between two bounds, by inverting the distribution function."""
    if isinstance(lower, (int, float)) and isinstance(upper, (int, float)) and lower > upper:
        raise ArgumentError(f"truncated_normal: the lower bound {lower} is above the upper bound {upper}")
    root = 2.0**0.5
    low, high = (_native.erf(asarray(bound, dtype="float32") / root) for bound in (lower, upper))
    draw = _uniform(_shape(shape, size, low, high), _seed(seed, key), device=device)
    return (root * _inverse_erf(low + (high - low) * draw)).clip(lower, upper).astype(dtype)


def _inverse_erf(y):
    """The inverse error function: Winitzki's approximation, refined by Newton steps."""
    y = y.clip(-0.999999, 0.999999)
    spread = _native.log1p(-y * y)
    half = 2.0 / (_math.pi * 0.147) + spread / 2.0
    x = _native.sign(y) * _native.sqrt(_native.sqrt(half * half - spread / 0.147) - half)
    for _ in range(2):
        x = x - (_native.erf(x) - y) * (_math.pi**0.5 / 2.0) * _native.exp(x * x)
    return x


def permutation(x, axis=0, *, seed=None, key=None):
    """A random permutation of ``0 … x - 1``, or of the slices along an axis of an array."""
    count = _operator.index(x) if _is_integer(x) else asarray(x).shape[axis]
    bits = _native._split_key(_seed(seed, key), max(count, 1))[:count]
    # 64 bits each, so that ties, which would keep their order, do not occur in practice.
    order = (bits[:, 0].astype("uint64") << 32 | bits[:, 1].astype("uint64")).argsort()
    return order if _is_integer(x) else asarray(x).take(order, axis=axis)


def shuffle(x, axis=0, *, seed=None, key=None):
    """Shuffles the slices along an axis of an array, in place."""
    if not isinstance(x, Array):
        raise ConversionError(f"shuffle: expected an array, not {type(x).__name__}; use permutation for a copy")
    x._set(permutation(x, axis=axis, seed=seed, key=key))


def choice(a, shape=None, replace=True, p=None, axis=0, *, size=None, seed=None, key=None):
    """Random slices along an axis of an array, or of ``0 … a - 1``, with probabilities ``p`` or uniformly."""
    shape = _shape(shape, size)
    shape = (shape,) if _is_integer(shape) else tuple(shape)
    count = _operator.index(a) if _is_integer(a) else asarray(a).shape[axis]
    total = 1
    for extent in shape:
        total *= extent
    if count <= 0 and total > 0:
        raise ArgumentError("choice: nothing to choose from")
    if p is not None:
        p = asarray(p)
        if p.shape != (count,):
            raise ShapeError(f"choice: expected {count} probabilities, not shape {p.shape}")
    if not replace and total > count:
        raise ArgumentError(f"choice: cannot choose {total} of {count} without replacement")
    if replace:
        if p is None:
            index = integers(0, max(count, 1), shape, seed=seed, key=key)
        else:
            index = categorical(_native.log(p.astype("float32")), shape=shape, seed=seed, key=key)
    elif p is None:
        index = permutation(count, seed=seed, key=key)[:total].reshape(shape)
    else:
        # The largest log-probabilities plus Gumbel noise are a draw without replacement.
        noisy = _native.log(p.astype("float32")) + gumbel(0.0, 1.0, (count,), seed=seed, key=key)
        index = noisy.top_k(total)[1].reshape(shape)
    return index if _is_integer(a) else asarray(a).take(index, axis=axis)


def categorical(logits, axis=-1, shape=None, *, num_samples=None, seed=None, key=None):
    """Draws positions along an axis with probabilities ``softmax(logits)``.

    The result has the shape of ``logits`` without the axis; with ``num_samples``, draws are along a new last axis; ``shape``
    repeats the draw so that it broadcasts to that shape.
    """
    from ._manipulation import moveaxis

    logits = moveaxis(asarray(logits).astype("float32"), axis, -1)
    batch = logits.shape[:-1]
    if shape is not None and num_samples is not None:
        raise ArgumentError("categorical: pass either shape or num_samples, not both")
    if num_samples is not None:
        shape, logits = batch + (num_samples,), logits.expand_dims(-2)
    shape = batch if shape is None else ((shape,) if _is_integer(shape) else tuple(shape))
    noise = gumbel(0.0, 1.0, shape + logits.shape[-1:], seed=seed, key=key, device=logits.device)
    return (logits + noise).argmax(-1)


def standard_normal(size=(), *, seed=None, key=None, dtype="float32", device=None):
    """Normal floats with mean 0 and standard deviation 1."""
    return _normal(size, _seed(seed, key), dtype=dtype, device=device)


random_sample = random


def rand(*shape):
    """Uniform floats in ``[0, 1)``: NumPy's old name, with the extents as arguments."""
    return random(shape)


def randn(*shape):
    """Standard normal floats: NumPy's old name, with the extents as arguments."""
    return standard_normal(shape)


def _mixed(value):
    """64 bits that depend on all bits of a number: the finaliser of SplitMix64."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


class Generator:
    """Random numbers with a state of their own, for programs in NumPy's style: functions of this module as methods."""

    def __init__(self, seed=None):
        seed = _native._next_seed() if seed is None else _operator.index(seed)
        if not 0 <= seed < 2**64:
            raise ArgumentError(f"a seed must be an integer from 0 to 2**64 - 1, not {seed}")
        self._state, self._draws = _mixed(seed + 0x9E3779B97F4A7C15), 0

    def _seed(self):
        if _native._is_tracing():
            raise ArgumentError("a compiled function would freeze the state of a generator: use the functions of wootz.random, or pass a key")
        self._draws += 1
        return _mixed((self._state + self._draws * 0x9E3779B97F4A7C15) % 2**64)

    def spawn(self, n_children):
        """Independent generators."""
        return [Generator(self._seed()) for _ in range(n_children)]


def _as_method(function):
    def method(self, *args, **kwargs):
        return function(*args, seed=self._seed(), **kwargs)

    method.__name__, method.__doc__ = function.__name__, f"See :func:`wootz.random.{function.__name__}`."
    return method


for _each in (
    bernoulli, categorical, choice, exponential, gumbel, integers, laplace, normal, permutation, random, shuffle, standard_normal,
    truncated_normal, uniform,
):
    setattr(Generator, _each.__name__, _as_method(_each))


def default_rng(seed=None):
    """A :class:`Generator` with this seed, or one that differs from process to process; a generator is returned as it is."""
    return seed if isinstance(seed, Generator) else Generator(seed)

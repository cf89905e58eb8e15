"""MLX's names over Wootz: only what differs is written here."""

import sys as _sys
import types as _types

import wootz as _wz
from wootz import *  # noqa: F403


def _is_narrow(x):
    return x.size == 0 or -(2**31) <= x.min().item() and x.max().item() < 2**31


class _ArrayMeta(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _wz.Array)

    def __call__(cls, value=0, dtype=None):
        if isinstance(value, _wz.Array):
            return value.astype(dtype) if dtype is not None else value.__copy__()
        made = _wz.array(value, dtype)
        # Integers without a dtype are int32 in MLX, if they fit.
        plain = not hasattr(value, "dtype") and dtype is None and made.dtype == _wz.int64 and _is_narrow(made)
        if dtype is None and made.dtype == _wz.float64:
            # Doubles of NumPy become float32 there.
            return made.astype(_wz.float32)
        return made.astype(_wz.int32) if plain else made


class array(metaclass=_ArrayMeta):
    """MLX's class of arrays."""


bool_ = _wz.bool
Dtype = _wz.DType
concatenate, power, divide = _wz.concat, _wz.pow, _wz.div
arctan2, isposinf, isneginf = _wz.atan2, _wz.isposinf, _wz.isneginf
rsqrt = lambda x: 1.0 / _wz.sqrt(x)  # noqa: E731
sigmoid = _wz.sigmoid
cpu, gpu = "cpu", "gpu"
is_available = lambda device: device == cpu  # noqa: E731
default_device = lambda: _wz.default_device()  # noqa: E731
set_default_device = lambda device: None  # noqa: E731
clear_streams = synchronize = lambda *_: None  # noqa: E731
topk = lambda x, k, axis=-1: _wz.flip(_wz.top_k(x, k, axis)[0], -1 if axis is None else axis)  # noqa: E731
stop_gradient = lambda x: x  # noqa: E731
softmax = lambda x, axis=-1, precise=False: _wz.softmax(x, axis)  # noqa: E731
linspace = lambda start, stop, num=50, endpoint=True, dtype=_wz.float32: _wz.linspace(start, stop, num, endpoint, dtype=dtype)  # noqa: E731
allclose = lambda a, b, *args, **options: _wz.asarray(_wz.allclose(a, b, *args, **options))  # noqa: E731
array_equal = lambda a, b, equal_nan=False: _wz.asarray(_wz.array_equal(a, b, equal_nan))  # noqa: E731
__version__ = _wz.__version__
_wz.DType.size = property(lambda dtype: dtype.itemsize)
_flat = _wz.Array.flatten
_wz.Array.flatten = lambda x, start_axis=0, end_axis=-1: _flat(x) if (start_axis, end_axis) == (0, -1) else flatten(x, start_axis, end_axis)


def flatten(x, start_axis=0, end_axis=-1):
    """Some axes as one."""
    if x.ndim == 0:
        return x.reshape((1,))
    first, last = start_axis % x.ndim, end_axis % x.ndim
    return x.reshape((*x.shape[:first], -1, *x.shape[last + 1 :]))


def put_along_axis(x, indices, values, axis=None):
    """A copy with elements set."""
    copy = _wz.array(x)
    _wz.put_along_axis(copy, indices, values, axis=axis)
    return copy


def arange(*args, dtype=None):
    """Integers are int32."""
    made = _wz.arange(*args, dtype=dtype)
    return made.astype(_wz.int32) if dtype is None and made.dtype == _wz.int64 else made


def full(shape, vals, dtype=None):
    """A value may be an array that broadcasts."""
    value = array(vals)
    return value.astype(dtype or value.dtype).broadcast_to(shape if isinstance(shape, (tuple, list)) else (shape,))


random = _types.ModuleType("mlx.core.random")
for _name in _wz.random.__all__:
    setattr(random, _name, getattr(_wz.random, _name))
random.randint = lambda low, high, shape=(), dtype=_wz.int32, key=None: _wz.random.integers(low, high, shape, dtype=dtype, key=key)
random.uniform = lambda low=0.0, high=1.0, shape=(), dtype=_wz.float32, key=None: _wz.random.uniform(low, high, shape, dtype=dtype, key=key)
random.normal = lambda shape=(), dtype=_wz.float32, loc=0.0, scale=1.0, key=None: _wz.random.normal(loc, scale, tuple(shape), dtype=dtype, key=key)
random.bernoulli = lambda p=0.5, shape=None, key=None: _wz.random.bernoulli(p, shape, key=key)
random.permutation = lambda x, axis=0, key=None: _wz.random.permutation(x, axis=axis, key=key)
metal = _types.SimpleNamespace(is_available=lambda: False)
_sys.modules["mlx.core.random"] = random

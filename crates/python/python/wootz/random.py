"""Random numbers by counter: element ``i`` depends on the seed and on ``i`` alone, the same on every device."""

import itertools as _itertools

from ._native import _integers, _normal, _uniform

__all__ = ["integers", "normal", "seed", "uniform"]

_next = _itertools.count(0x9E3779B9)


def seed(value):
    """Where the draws without a seed of their own start."""
    global _next
    _next = _itertools.count(value)


def _seed(value):
    return next(_next) if value is None else value


def uniform(shape, *, seed=None, dtype="float32", device=None):
    """Uniform floats in ``[0, 1)``."""
    return _uniform(shape, _seed(seed), dtype=dtype, device=device)


def normal(shape, *, seed=None, dtype="float32", device=None):
    """Normal floats of mean 0 and variance 1."""
    return _normal(shape, _seed(seed), dtype=dtype, device=device)


def integers(shape, low, high, *, seed=None, dtype="int64", device=None):
    """Integers from ``low`` up to but not including ``high``."""
    return _integers(shape, low, high, _seed(seed), dtype=dtype, device=device)

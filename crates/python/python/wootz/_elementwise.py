"""Elementwise functions: the op table, under the standard's names."""

from . import _native
from ._native import Array, asarray
from .errors import DTypeError

#: The standard's names for ops that have another name here.
ALIASES = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "negative": "neg",
    "bitwise_invert": "bitwise_not",
    "bitwise_left_shift": "shift_left",
    "bitwise_right_shift": "shift_right",
}

_OPS = [name for name, _, _ in _native._op_table()]

for _name in _OPS:
    globals()[_name] = getattr(_native, _name)
for _name, _op in ALIASES.items():
    globals()[_name] = getattr(_native, _op)


def _real(name, x):
    x = asarray(x)
    if x.dtype.kind == "b":
        raise DTypeError(f"{name}: bool is not numeric")
    return x


def positive(x, /):
    """Each number unchanged."""
    return +asarray(x)


def conj(x, /):
    """The complex conjugate: for real numbers, the number itself."""
    return _real("conj", x)


def real(x, /):
    """The real part: for real numbers, the number itself."""
    return _real("real", x)


def imag(x, /):
    """The imaginary part: for real numbers, zero."""
    x = _real("imag", x)
    return _native.full(x.shape, 0, dtype=x.dtype, device=x.device)


def softmax(x, /, axis=-1):
    """``eˣ / Σ eˣ`` along an axis, several, or all (None)."""
    if axis is None or isinstance(axis, (tuple, list)):
        x = asarray(x)
        return _native.exp(x - x.logsumexp(axis, True))
    return asarray(x).softmax(axis)


def log_softmax(x, /, axis=-1):
    """The logarithm of the softmax along an axis."""
    return asarray(x).log_softmax(axis)


def rms_norm(x, /, weight=None, *, eps=1e-5):
    """``x / √(mean(x²) + eps) · weight`` along the last axis."""
    return asarray(x).rms_norm(weight, eps)


def layer_norm(x, /, weight=None, bias=None, *, eps=1e-5):
    """``(x − mean) / √(var + eps) · weight + bias`` along the last axis."""
    return asarray(x).layer_norm(weight, bias, eps)


__all__ = sorted(
    set(_OPS)
    | set(ALIASES)
    | {"positive", "conj", "real", "imag", "softmax", "log_softmax", "rms_norm", "layer_norm"}
)

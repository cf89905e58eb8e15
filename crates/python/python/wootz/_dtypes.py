"""Dtypes and their properties."""

import builtins as _builtins
from dataclasses import dataclass as _dataclass

from ._native import (  # noqa: F401
    Array,
    DType,
    bfloat16,
    bool,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .errors import ArgumentError, ConversionError, DTypeError

_ALL = (
    bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
)

__all__ = [dtype.name for dtype in _ALL] + [
    "finfo", "iinfo", "isdtype", "can_cast", "result_type", "astype",
]


@_dataclass(frozen=True)
class finfo_object:
    """The limits of a floating-point dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@_dataclass(frozen=True)
class iinfo_object:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


# Digits after the leading one, and the lowest exponent of a normal number.
_FLOATS = {
    float16: (10, -14, 65504.0),
    bfloat16: (7, -126, (2.0 - 2.0**-7) * 2.0**127),
    float32: (23, -126, (2.0 - 2.0**-23) * 2.0**127),
    float64: (52, -1022, (2.0 - 2.0**-52) * 2.0**1023),
}


def _dtype_of(type):
    """The dtype of an array, or the dtype that an object denotes."""
    return type.dtype if isinstance(type, Array) else DType(type)


def finfo(type, /):
    """The limits of a floating-point dtype."""
    dtype = _dtype_of(type)
    if dtype not in _FLOATS:
        raise ArgumentError(f"finfo: {dtype} is not a floating-point dtype")
    digits, lowest, largest = _FLOATS[dtype]
    return finfo_object(dtype.itemsize * 8, 2.0**-digits, largest, -largest, 2.0**lowest, dtype)


def iinfo(type, /):
    """The limits of an integer dtype."""
    dtype = _dtype_of(type)
    bits = dtype.itemsize * 8
    if dtype.kind == "i":
        return iinfo_object(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)
    if dtype.kind == "u":
        return iinfo_object(bits, 2**bits - 1, 0, dtype)
    raise ArgumentError(f"iinfo: {dtype} is not an integer dtype")


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "",
    "numeric": "iuf",
}


def isdtype(dtype, kind):
    """Whether a dtype is of a kind, is a given dtype, or is any of several."""
    dtype = DType(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, DType):
        return dtype == kind
    if kind not in _KINDS:
        raise ArgumentError(f"isdtype: unknown kind {kind!r}; use one of {', '.join(map(repr, _KINDS))}")
    return dtype.kind in _KINDS[kind] if _KINDS[kind] else False


def can_cast(from_, to, /):
    """Whether one dtype promotes to the other."""
    source, target = _dtype_of(from_), _dtype_of(to)
    return source.promote(target) == target


def result_type(*arrays_and_dtypes):
    """The promoted dtype of arrays, dtypes and Python numbers. Numbers only affect the kind."""
    dtypes, numbers = [], []
    for each in arrays_and_dtypes:
        if isinstance(each, (_builtins.bool, int, float)):
            numbers.append(type(each))
        elif isinstance(each, complex):
            raise DTypeError("result_type: complex dtypes are not supported")
        else:
            dtypes.append(_dtype_of(each))
    if not dtypes:
        raise ArgumentError("result_type: expected an array or a dtype")
    common = dtypes[0]
    for other in dtypes[1:]:
        promoted = common.promote(other)
        if promoted is None:
            raise DTypeError(f"result_type: {common} and {other} have no common dtype")
        common = promoted
    if float in numbers and common.kind != "f":
        return float32
    if int in numbers and common.kind == "b":
        return int64
    return common


def astype(x, dtype, /, *, copy=True, device=None):
    """An array with another dtype."""
    if not isinstance(x, Array):
        raise ConversionError(f"astype: expected an array, not {type(x).__name__}")
    result = x.astype(dtype, copy=copy)
    return result if device is None else result.to_device(device)



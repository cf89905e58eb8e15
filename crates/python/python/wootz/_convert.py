"""Conversions to NumPy."""

from ._native import Array
from .errors import ConversionError, DTypeError


def _numpy():
    try:
        import numpy
    except ImportError:
        raise ConversionError("this needs NumPy, which is not installed") from None
    return numpy


def _view(array):
    """A NumPy view of the array: its own memory, read-only, if the device's memory is the host's."""
    numpy = _numpy()
    if array.dtype.name != "bfloat16":
        return numpy.asarray(memoryview(array)) if array.ndim else numpy.frombuffer(array, array.dtype.name)[0:1].reshape(())
    try:
        import ml_dtypes
    except ImportError:
        raise DTypeError("NumPy has no bfloat16 (with ml_dtypes installed it has); cast to float32 first") from None
    bits = numpy.frombuffer(array.tobytes(), numpy.uint16).reshape(array.shape)
    return bits.view(ml_dtypes.bfloat16)


def numpy(self, *, copy=False):
    """The array as a NumPy array: a read-only view of its memory, or a writable copy."""
    view = _view(self)
    return view.copy() if copy else view


def __array__(self, dtype=None, copy=None):
    np = _numpy()
    view = _view(self)
    if dtype is not None and np.dtype(dtype) != view.dtype:
        if copy is False:
            raise ConversionError(f"{view.dtype} can only be converted to {np.dtype(dtype)} by copying")
        return view.astype(dtype)
    return view.copy() if copy else view


Array.numpy = numpy
Array.__array__ = __array__

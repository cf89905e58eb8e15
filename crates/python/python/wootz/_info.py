"""What the standard lets a program ask about this library."""

from . import _dtypes
from ._dtypes import _ALL, isdtype
from ._native import Device, default_device, devices

__array_api_version__ = "2024.12"


class _Info:
    """The inspection interface of the standard."""

    def capabilities(self):
        """What is possible: boolean indexing, shapes that depend on data, and the most axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        """The device that is meant when none is named."""
        return default_device()

    def devices(self):
        """Every device of this machine."""
        return devices()

    def default_dtypes(self, *, device=None):
        """The dtypes that are meant when none is named."""
        return {"real floating": _dtypes.float32, "integral": _dtypes.int64, "indexing": _dtypes.int64}

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of a device, of one kind or of several."""
        device = default_device() if device is None else Device(device)
        standard = [dtype for dtype in _ALL if dtype.name != "bfloat16"]
        available = [dtype for dtype in standard if device.refuses(dtype) is None]
        if kind is not None:
            available = [dtype for dtype in available if isdtype(dtype, kind)]
        return {dtype.name: dtype for dtype in available}


def __array_namespace_info__():
    """What the standard lets a program ask about this library."""
    return _Info()

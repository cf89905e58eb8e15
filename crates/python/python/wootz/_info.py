"""The standard's inspection API."""

from . import _dtypes
from ._dtypes import _ALL, isdtype
from ._native import Device, default_device, devices

__array_api_version__ = "2024.12"


class _Info:
    """The standard's inspection namespace."""

    def capabilities(self):
        """Capabilities: boolean indexing, data-dependent shapes, and the maximum number of axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        """The default device."""
        return default_device()

    def devices(self):
        """All devices of this machine."""
        return devices()

    def default_dtypes(self, *, device=None):
        """The default dtypes."""
        return {"real floating": _dtypes.float32, "integral": _dtypes.int64, "indexing": _dtypes.int64}

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of a device, optionally of one or several kinds."""
        device = default_device() if device is None else Device(device)
        standard = [dtype for dtype in _ALL if dtype.name != "bfloat16"]
        available = [dtype for dtype in standard if device.refuses(dtype) is None]
        if kind is not None:
            available = [dtype for dtype in available if isdtype(dtype, kind)]
        return {dtype.name: dtype for dtype in available}


def __array_namespace_info__():
    """The standard's inspection namespace."""
    return _Info()

"""Exceptions. Each derives from :class:`Error` and from the matching built-in class."""

import errno
import os


class Error(Exception):
    """Base class of all exceptions raised by wootz."""


class ShapeError(Error, ValueError):
    """Shapes that do not broadcast, or that violate an op's requirements."""


class DTypeError(Error, TypeError):
    """Dtypes that an op does not support."""


class AxisError(Error, ValueError, IndexError):
    """An axis out of range."""


class OutOfRangeError(Error, IndexError):
    """An index out of range, detected early or at run time."""


class ArgumentError(Error, ValueError):
    """Any other invalid argument value."""


class ConversionError(Error, TypeError):
    """An object that cannot be converted."""


class DivisionByZeroError(Error, ZeroDivisionError):
    """An integer division by zero, detected at run time."""


class UnsupportedError(Error, TypeError):
    """A dtype or op that a device does not support."""


class DeviceError(Error, RuntimeError):
    """A failure of a device or its driver."""


class UnknownDeviceError(DeviceError, ValueError):
    """An unknown device name."""


class DeviceMismatchError(DeviceError, ValueError):
    """Operands on different devices."""


class BackendNotAvailableError(DeviceError):
    """A compute backend whose device is not available on this machine."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


class FormatError(Error, ValueError):
    """An invalid file or text."""


class FileError(Error, OSError):
    """An operating system error on a path."""


class MissingFileError(FileError, FileNotFoundError):
    """A path that does not exist."""


class ForbiddenFileError(FileError, PermissionError):
    """A path without access permission."""


class KernelError(Error, RuntimeError):
    """A kernel that does not compile, or that cannot run as requested."""


class BufferError(Error, ValueError):
    """A buffer that was freed or misused."""


class ModelError(Error, RuntimeError):
    """A language model that cannot be loaded or run."""


class InternalError(Error, RuntimeError):
    """A bug in wootz."""


def _file_error(code, path):
    """The exception for an operating system error code on a path."""
    name = errno.errorcode.get(code)
    kind = {"ENOENT": MissingFileError, "EACCES": ForbiddenFileError, "EPERM": ForbiddenFileError}.get(name, FileError)
    return kind(code, os.strerror(code), path)


__all__ = [name for name, value in dict(globals()).items() if isinstance(value, type) and issubclass(value, Error)]

"""Exceptions. Each derives from :class:`Error` and from the built-in class that fits."""

import errno
import os


class Error(Exception):
    """Everything that wootz raises."""


class ShapeError(Error, ValueError):
    """Shapes that do not broadcast, or that break an op's rule."""


class DTypeError(Error, TypeError):
    """Dtypes that an op does not take."""


class AxisError(Error, ValueError, IndexError):
    """An axis outside of the shape."""


class OutOfRangeError(Error, IndexError):
    """An index outside of its axis, known before or found while running."""


class ArgumentError(Error, ValueError):
    """Any other argument with a value that is not possible."""


class ConversionError(Error, TypeError):
    """An object that cannot become what was asked for."""


class DivisionByZeroError(Error, ZeroDivisionError):
    """An integer division by zero, found while running."""


class UnsupportedError(Error, TypeError):
    """A device that lacks a dtype or an op."""


class DeviceError(Error, RuntimeError):
    """A failure of a device or its driver."""


class UnknownDeviceError(DeviceError, ValueError):
    """A device name that nothing answers to."""


class DeviceMismatchError(DeviceError, ValueError):
    """Operands on different devices."""


class BackendNotAvailableError(DeviceError):
    """A compute backend without its device on this machine."""


class OutOfMemoryError(Error, MemoryError):
    """Memory that cannot be had."""


class FormatError(Error, ValueError):
    """A file or text that is not what it claims to be."""


class FileError(Error, OSError):
    """A failure of the operating system on a path."""


class MissingFileError(FileError, FileNotFoundError):
    """A path that leads nowhere."""


class ForbiddenFileError(FileError, PermissionError):
    """A path that the operating system does not let us use."""


class KernelError(Error, RuntimeError):
    """A kernel that does not compile, or that cannot run as asked."""


class BufferError(Error, ValueError):
    """A buffer that was freed, or is used against its contract."""


class ModelError(Error, RuntimeError):
    """A language model that cannot be loaded or run."""


class InternalError(Error, RuntimeError):
    """A bug in wootz."""


def _file_error(code, path):
    """The exception for an error number of the operating system on a path."""
    name = errno.errorcode.get(code)
    kind = {"ENOENT": MissingFileError, "EACCES": ForbiddenFileError, "EPERM": ForbiddenFileError}.get(name, FileError)
    return kind(code, os.strerror(code), path)


__all__ = [name for name, value in dict(globals()).items() if isinstance(value, type) and issubclass(value, Error)]

"""Loading and saving arrays, by path or file object."""

import os as _os

from . import _native
from ._native import Array, asarray
from .errors import ArgumentError, ConversionError

__all__ = ["load", "load_gguf", "load_npz", "load_safetensors", "save", "save_npz", "save_safetensors", "savez"]

_ENDINGS = (".npy", ".npz", ".safetensors", ".gguf")


def load_npz(path, *, device=None):
    """The arrays of a ``.npz`` file, by name."""
    return dict(_native._load_npz(path, device=device))


def load_safetensors(path, *, device=None):
    """The arrays of a safetensors file, by name. The file is memory-mapped."""
    return dict(_native._load_safetensors(path, device=device))


def load_gguf(path, *, device=None, return_metadata=False):
    """The arrays of a GGUF file, by name, and optionally its metadata. The file is memory-mapped; quantised tensors are
    decoded to float32 when they are evaluated."""
    metadata, arrays = _native._load_gguf(path, device=device)
    return (dict(arrays), dict(metadata)) if return_metadata else dict(arrays)


def _named(what, arrays):
    if not isinstance(arrays, dict):
        raise ConversionError(f"{what}: expected a dict of arrays, not {type(arrays).__name__}")
    return [(str(name), asarray(each)) for name, each in arrays.items()]


def save_npz(path, arrays):
    """Writes arrays by name to a ``.npz`` file, atomically."""
    _native._save_npz(path, _named("a .npz file", arrays))


def savez(path, *args, **kwargs):
    """Writes arrays to a ``.npz`` file: positional ones as ``arr_0``, ``arr_1``, …, keyword arguments by name."""
    save(path, {**{f"arr_{i}": each for i, each in enumerate(args)}, **kwargs}, format=".npz")


def save_safetensors(path, arrays):
    """Writes arrays by name to a safetensors file, atomically."""
    _native._save_safetensors(path, _named("a safetensors file", arrays))


_LOADERS = {
    ".npy": _native.load_npy,
    ".npz": load_npz,
    ".safetensors": load_safetensors,
    ".gguf": load_gguf,
}


def _ending(what, path):
    ending = _os.path.splitext(_os.fspath(path))[1]
    if ending not in _ENDINGS:
        raise ArgumentError(f"{what}: {path} has none of the extensions {', '.join(_ENDINGS)}")
    return ending


def _kind(start):
    """The file extension that matches the first bytes of a file."""
    if start.startswith(b"\x93NUMPY"):
        return ".npy"
    if start.startswith(b"PK"):
        return ".npz"
    if start.startswith(b"GGUF"):
        return ".gguf"
    if start[8:9] == b"{":
        return ".safetensors"
    raise ArgumentError(f"load: unknown file format (starts with {start[:8]!r})")


def load(file, *, device=None):
    """Loads a file: an array for ``.npy``, arrays by name for ``.npz``, ``.safetensors`` and ``.gguf``. ``file`` is a path,
    or an object to read bytes from, whose first bytes determine the format."""
    if not hasattr(file, "read"):
        return _LOADERS[_ending("load", file)](file, device=device)
    start = file.read(9)
    if isinstance(start, str):
        raise ConversionError("load: the file is open as text; open it with 'rb'")
    import shutil as _shutil
    import tempfile as _tempfile

    kind = _kind(start)
    with _tempfile.NamedTemporaryFile(suffix=kind) as copy:
        copy.write(start)
        _shutil.copyfileobj(file, copy)
        copy.flush()
        return _LOADERS[kind](copy.name, device=device)


def save(file, value, *, format=None):
    """Writes an array as ``.npy``, or a dict of arrays as ``.npz`` or ``.safetensors``, according to the extension or ``format``.
    ``file`` may be an object to write bytes to, in which case the format defaults to ``.npy`` or ``.npz``."""
    is_file = hasattr(file, "write")
    if format is None:
        format = (".npz" if isinstance(value, dict) else ".npy") if is_file else _ending("save", file)
    format = format if format.startswith(".") else f".{format}"
    if format not in (".npy", ".npz", ".safetensors"):
        raise ArgumentError(f"save: cannot write {format}; use .npy, .npz or .safetensors")
    if is_file:
        import shutil as _shutil
        import tempfile as _tempfile

        with _tempfile.TemporaryDirectory() as folder:
            path = _os.path.join(folder, "file")
            _save(path, value, format)
            with open(path, "rb") as copy:
                _shutil.copyfileobj(copy, file)
        return
    _save(file, value, format)


def _save(path, value, format):
    if format == ".npz":
        # A single positional array is called arr_0, as in NumPy.
        return save_npz(path, value if isinstance(value, dict) else {"arr_0": _one(value)})
    if format == ".safetensors":
        return save_safetensors(path, value)
    return _native.save_npy(path, _one(value))


def _one(value):
    if isinstance(value, dict):
        raise ConversionError("save: a .npy file holds a single array; use .npz for a dict of arrays")
    return value if isinstance(value, Array) else asarray(value)

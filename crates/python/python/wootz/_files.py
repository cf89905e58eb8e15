"""Arrays in files."""

import os as _os

from . import _native
from ._native import asarray
from .errors import ArgumentError

__all__ = ["load", "load_npz", "load_safetensors", "save", "save_npz", "save_safetensors"]


def load_npz(path, *, device=None):
    """The arrays of a ``.npz`` file, by name."""
    return dict(_native._load_npz(path, device=device))


def load_safetensors(path, *, device=None):
    """The arrays of a safetensors file, by name. The file is mapped, not read."""
    return dict(_native._load_safetensors(path, device=device))


def save_npz(path, arrays):
    """Writes arrays by name to a ``.npz`` file, whole or not at all."""
    _native._save_npz(path, [(name, asarray(each)) for name, each in arrays.items()])


def save_safetensors(path, arrays):
    """Writes arrays by name to a safetensors file, whole or not at all."""
    _native._save_safetensors(path, [(name, asarray(each)) for name, each in arrays.items()])


def load(path, *, device=None):
    """What a file holds, by its ending: an array for ``.npy``, arrays by name for ``.npz`` and ``.safetensors``."""
    ending = _os.path.splitext(_os.fspath(path))[1]
    if ending == ".npy":
        return _native.load_npy(path, device=device)
    if ending == ".npz":
        return load_npz(path, device=device)
    if ending == ".safetensors":
        return load_safetensors(path, device=device)
    raise ArgumentError(f"load: {path} ends in none of .npy, .npz, .safetensors")


def save(path, value):
    """Writes an array to ``.npy``, or arrays by name to ``.npz`` or ``.safetensors``."""
    ending = _os.path.splitext(_os.fspath(path))[1]
    if ending == ".npy":
        return _native.save_npy(path, asarray(value))
    if ending == ".npz":
        return save_npz(path, value)
    if ending == ".safetensors":
        return save_safetensors(path, value)
    raise ArgumentError(f"save: {path} ends in none of .npy, .npz, .safetensors")

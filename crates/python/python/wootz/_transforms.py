"""Evaluation, compilation, explanation."""

import functools as _functools

from . import _native
from ._native import Array, asarray, default_device
from .errors import ConversionError

__all__ = ["compile", "eval", "explain"]


def _arrays(value, found):
    """The arrays inside of nested tuples, lists and dicts."""
    if isinstance(value, Array):
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for each in value:
            _arrays(each, found)
    elif isinstance(value, dict):
        for each in value.values():
            _arrays(each, found)
    return found


def eval(*values):
    """Computes arrays, also those inside of tuples, lists and dicts: one batch for each device."""
    _native._eval(*_arrays(values, []))


def explain(*values):
    """The plan that would compute arrays, in readable form: fused steps, shapes, bytes."""
    return _native._explain(*_arrays(values, []))


class _Leaf:
    """The place of an array in a structure."""

    __slots__ = ()

    def __repr__(self):
        return "array"


_LEAF = _Leaf()


def _flatten(value, leaves):
    """A structure with its arrays taken out; equal structures are equal keys."""
    if isinstance(value, Array):
        leaves.append(value)
        return _LEAF
    if hasattr(value, "__dlpack__") or type(value).__module__ == "numpy":
        leaves.append(asarray(value))
        return _LEAF
    if isinstance(value, (tuple, list)):
        return (type(value), tuple(_flatten(each, leaves) for each in value))
    if isinstance(value, dict):
        return (dict, tuple((key, _flatten(each, leaves)) for key, each in value.items()))
    return (None, type(value), value)


def _rebuild(structure, leaves):
    """The inverse of :func:`_flatten`."""
    if structure is _LEAF:
        return next(leaves)
    kind = structure[0]
    if kind is None:
        return structure[2]
    if kind is dict:
        return {key: _rebuild(each, leaves) for key, each in structure[1]}
    items = [_rebuild(each, leaves) for each in structure[1]]
    if kind is list:
        return items
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


class Compiled:
    """A function of arrays that is traced once for each signature; later calls only bind buffers and run the plan."""

    def __init__(self, function, device=None):
        self._function = function
        self._device = device
        self._programs = {}
        _functools.update_wrapper(self, function)

    def _program(self, args, kwargs):
        leaves = []
        structure = _flatten((args, kwargs), leaves)
        device = self._device or (leaves[0].device if leaves else default_device())
        device = _native.Device(device)
        leaves = [leaf if leaf.device == device else leaf.to_device(device) for leaf in leaves]
        key = (structure, device)
        try:
            program = self._programs.get(key)
        except TypeError:
            raise ConversionError(
                f"{self!r}: arguments are arrays, or values that can be dictionary keys, in tuples, lists and dicts"
            ) from None
        if program is None:
            program = self._trace(structure, device)
            self._programs[key] = program
        return program, leaves

    def _trace(self, structure, device):
        # The structure of the result depends on shapes, which each signature of the native program has its own.
        results = {}

        def function(*arrays):
            args, kwargs = _rebuild(structure, iter(arrays))
            leaves = []
            signature = tuple((each.shape, each.dtype.name) for each in arrays)
            results[signature] = _flatten(self._function(*args, **kwargs), leaves)
            return [leaf.to_device(device) if leaf.device != device else leaf for leaf in leaves]

        return _native._Compiled(function, device), results

    def __call__(self, *args, **kwargs):
        (program, results), leaves = self._program(args, kwargs)
        values = program(*leaves)
        signature = tuple((each.shape, each.dtype.name) for each in leaves)
        return _rebuild(results[signature], iter(values))

    def explain(self, *args, **kwargs):
        """The plan for arguments like these."""
        (program, _), leaves = self._program(args, kwargs)
        return program.explain(*leaves)

    def __repr__(self):
        return f"<compiled {getattr(self._function, '__name__', 'function')}>"


def compile(function=None, /, *, device=None):
    """Compiles a function of arrays. It must build its results without looking at values.

    Arguments may be arrays, values that can be dictionary keys (a new trace for each), and tuples, lists and dicts of
    them. Usable as a decorator.
    """
    if function is None:
        return _functools.partial(compile, device=device)
    if not callable(function):
        raise ConversionError(f"compile: a function is needed, not {type(function).__name__}")
    return Compiled(function, device)

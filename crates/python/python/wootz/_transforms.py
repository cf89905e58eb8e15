"""Evaluation, compilation, explanation."""

import functools as _functools

from . import _native
from ._native import Array, asarray, default_device
from .errors import ConversionError

__all__ = ["compile", "eval", "eval_async", "explain"]


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


def eval_async(*values):
    """Starts to compute arrays and returns without waiting, where the device can work on its own. Reading a value waits for
    it and raises what went wrong; more work on the same device need not wait."""
    _native._eval_async(*_arrays(values, []))


def explain(*values):
    """The plan that would compute arrays, in readable form: device, fused steps, shapes, bytes."""
    return _native._explain(*_arrays(values, []))


class _Leaf:
    """The place of an array in a structure."""

    __slots__ = ()

    def __repr__(self):
        return "array"


_LEAF = _Leaf()


def _flatten(value, leaves):
    """A structure with its arrays taken out; equal structures are equal keys."""
    kind = type(value)
    if kind is Array:
        leaves.append(value)
        return _LEAF
    if isinstance(value, (tuple, list)):
        return (kind, tuple([_flatten(each, leaves) for each in value]))
    if isinstance(value, dict):
        return (dict, tuple([(key, _flatten(each, leaves)) for key, each in value.items()]))
    if kind.__module__ == "numpy" or hasattr(value, "__dlpack__"):
        leaves.append(asarray(value))
        return _LEAF
    return (None, kind, value)


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


class _Program:
    """A function for one structure of its arguments on one device."""

    def __init__(self, function, structure, device):
        #: The structure of the results by the signature of the arrays: it may depend on shapes.
        self.results = {}

        def traced(*arrays):
            args, kwargs = _rebuild(structure, iter(arrays))
            leaves = []
            self.results[_signature(arrays)] = _flatten(function(*args, **kwargs), leaves)
            return [leaf if leaf.device == device else leaf.to_device(device) for leaf in leaves]

        self.native = _native._Compiled(traced, device)

    def __call__(self, leaves):
        return self.rebuild(self.native(*leaves), leaves)

    def rebuild(self, values, leaves):
        """What the function returned, with the arrays of a call."""
        results = self.results
        # Most functions are traced once.
        if len(results) == 1:
            (result,) = results.values()
        else:
            result = results[_signature(leaves)]
        return values[0] if result is _LEAF else _rebuild(result, iter(values))


def _signature(arrays):
    return tuple((each.shape, each.dtype) for each in arrays)


class Compiled:
    """A function of arrays that is traced once for each signature; later calls only bind buffers and run the plan."""

    def __init__(self, function, device=None):
        self._function = function
        self._device = device
        self._programs = {}
        #: Programs of calls with arrays alone, by their number: the common case, which needs no look at structures.
        self._plain = {}
        _functools.update_wrapper(self, function)

    def _program(self, args, kwargs):
        leaves = []
        structure = _flatten((args, kwargs), leaves)
        device = _native.Device(self._device or (leaves[0].device if leaves else default_device()))
        leaves = [leaf if leaf.device == device else leaf.to_device(device) for leaf in leaves]
        key = (structure, device)
        try:
            program = self._programs.get(key)
        except TypeError:
            raise ConversionError(
                f"{self!r}: arguments are arrays, or values that can be dictionary keys, in tuples, lists and dicts"
            ) from None
        if program is None:
            program = self._programs[key] = _Program(self._function, structure, device)
        return program, leaves

    def __call__(self, *args, **kwargs):
        if not kwargs:
            program = self._plain.get(len(args))
            if program is not None:
                values = program.native.plain(args)
                # Else something is no array, or on another device than before; that has a program of its own.
                if values is not None:
                    return program.rebuild(values, args)
        program, leaves = self._program(args, kwargs)
        if not kwargs and all([type(arg) is Array for arg in args]):
            self._plain[len(args)] = program
        return program(leaves)

    def explain(self, *args, **kwargs):
        """The plan for arguments like these."""
        program, leaves = self._program(args, kwargs)
        return program.native.explain(*leaves)

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

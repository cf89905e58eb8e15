"""Evaluation, compilation, explanation."""

import collections as _collections
import functools as _functools
import math as _math
import struct as _struct
import threading as _threading

from . import _native
from ._native import Array, asarray, default_device, eval, eval_async, explain
from .errors import ConversionError

__all__ = ["compile", "eval", "eval_async", "explain"]


def _arrays(value, found):
    """The arrays in nested tuples, lists and dicts."""
    if isinstance(value, Array):
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for each in value:
            _arrays(each, found)
    elif isinstance(value, dict):
        for each in value.values():
            _arrays(each, found)
    return found


class _Leaf:
    """The slot of an array in a structure."""

    __slots__ = ()

    def __repr__(self):
        return "array"


_LEAF = _Leaf()


def _operations():
    """Applies a number's operation to the parameter's value, which ties the trace to that value."""
    import operator

    def value(other):
        return other._value() if isinstance(other, _native._Parameter) else other

    def binary(function):
        def own(self, other):
            # Next to an array it stays a parameter: the array's own operator handles it.
            return NotImplemented if isinstance(other, Array) else function(self._value(), value(other))

        return own

    def reflected(function):
        def own(self, other):
            return function(value(other), self._value())

        return own

    def unary(function):
        return lambda self, *rest: function(self._value(), *rest)

    made = {}
    for name in "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor".split():
        made[f"__{name.strip('_')}__"] = binary(getattr(operator, name))
        made[f"__r{name.strip('_')}__"] = reflected(getattr(operator, name))
    made["__divmod__"], made["__rdivmod__"] = binary(divmod), reflected(divmod)
    for name in "lt le eq ne gt ge".split():
        made[f"__{name}__"] = binary(getattr(operator, name))
    for name in "neg pos abs invert index".split():
        made[f"__{name}__"] = unary(getattr(operator, name))
    for function in (float, int, bool, complex, hash, str, repr, round, format):
        made[f"__{function.__name__}__"] = unary(function)
    for name in ("trunc", "floor", "ceil"):
        made[f"__{name}__"] = unary(getattr(_math, name))
    return made


class _Parameter(_native._Parameter):
    """A Python number that was passed to a compiled function."""

    locals().update(_operations())

    # Asking for the class gives that of the number.
    __class__ = property(lambda self: self._kind)

    @property
    def _kind(self):
        return _KINDS[self._slot_kind]

    def __new__(cls, slot, value):
        self = _native._Parameter.__new__(cls, slot, value)
        self._slot_kind = type(value) is int
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._value(), name)

    def __array__(self, dtype=None, copy=None):
        import numpy

        return numpy.asarray(self._value(), dtype)


_KINDS = {True: int, False: float}


class _Slot:
    """The slot of a number in a structure: the first, the second, … number of a call."""

    __slots__ = ("kind",)

    def __init__(self, kind):
        self.kind = kind


_SLOTS = {int: _Slot(int), float: _Slot(float)}


def _flatten(value, leaves, numbers):
    """A structure with its arrays and numbers taken out; equal structures are equal keys."""
    kind = type(value)
    if kind is Array:
        leaves.append(value)
        return _LEAF
    if kind is float or (kind is int and -(2**63) <= value < 2**63):
        numbers.append(value)
        return _SLOTS[kind]
    if isinstance(value, (tuple, list)):
        return (kind, tuple([_flatten(each, leaves, numbers) for each in value]))
    if isinstance(value, dict):
        return (dict, tuple([(key, _flatten(each, leaves, numbers)) for key, each in value.items()]))
    if kind.__module__ == "numpy" or hasattr(value, "__dlpack__"):
        leaves.append(asarray(value))
        return _LEAF
    return (None, kind, value)


class _Returned:
    """The slot of a number of the call in a function's result."""

    __slots__ = ("slot",)

    def __init__(self, slot):
        self.slot = slot


def _flatten_result(value, leaves):
    """The structure of a traced function's result, with arrays taken out and numbers of the call marked as such."""
    kind = type(value)
    if kind is Array:
        leaves.append(value)
        return _LEAF
    if kind is _Parameter:
        return _Returned(value._slot)
    if isinstance(value, (tuple, list)):
        return (kind, tuple([_flatten_result(each, leaves) for each in value]))
    if isinstance(value, dict):
        return (dict, tuple([(key, _flatten_result(each, leaves)) for key, each in value.items()]))
    if kind.__module__ == "numpy" or hasattr(value, "__dlpack__"):
        leaves.append(asarray(value))
        return _LEAF
    return (None, kind, value)


def _rebuild(structure, leaves, numbers):
    """Rebuilds a structure: ``leaves`` are consumed in order, and so are ``numbers`` unless a slot names one."""
    if structure is _LEAF:
        return next(leaves)
    if type(structure) is _Slot:
        return next(numbers)
    if type(structure) is _Returned:
        return numbers[structure.slot]
    kind = structure[0]
    if kind is None:
        return structure[2]
    if kind is dict:
        return {key: _rebuild(each, leaves, numbers) for key, each in structure[1]}
    items = [_rebuild(each, leaves, numbers) for each in structure[1]]
    if kind is list:
        return items
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


class _Program:
    """A function for one structure of its arguments on one device."""

    def __init__(self, function, structure, device, parameters):
        #: The structure of the results by array signature: it may depend on shapes.
        self.results = {}
        #: Numbers whose values the function used, by slot: the program is only valid for these values.
        self.fixed = {}

        def traced(numbers, arrays):
            stand_ins = [_Parameter(slot, number) for slot, number in enumerate(numbers)]
            args, kwargs = _rebuild(structure, iter(arrays), iter(stand_ins))
            leaves = []
            result = _flatten_result(function(*args, **kwargs), leaves)
            self.results[_signature(arrays)] = result
            for slot, stand_in in enumerate(stand_ins):
                if stand_in._looked_at:
                    self.fixed[slot] = numbers[slot]
            return [leaf if leaf.device == device else leaf.to_device(device) for leaf in leaves]

        self.native = _native._Compiled(traced, device, parameters)

    def __call__(self, leaves, numbers):
        return self.rebuild(self.native(numbers, *leaves), leaves, numbers)

    def suits(self, numbers):
        """Whether the program is valid for these numbers."""
        return all([_same(numbers[slot], value) for slot, value in self.fixed.items()])

    def rebuild(self, values, leaves, numbers):
        """The function's result, with the arrays of a call."""
        results = self.results
        # Most functions are traced only once.
        if len(results) == 1:
            (result,) = results.values()
        else:
            result = results[_signature(leaves)]
        return values[0] if result is _LEAF else _rebuild(result, iter(values), numbers)


def _same(a, b):
    """Whether two numbers are identical: -0.0 is not 0.0, NaN is NaN."""
    return _struct.pack("d", a) == _struct.pack("d", b) if type(a) is float else a == b


def _signature(arrays):
    return tuple((each.shape, each.dtype) for each in arrays)


#: Maximum number of programs per function; the least recently used one is evicted.
_MAX_PROGRAMS = 256


class Compiled:
    """A function of arrays, traced once per signature; later calls only bind buffers and run the plan."""

    def __init__(self, function, device=None):
        self._function = function
        self._device = device
        #: By structure and device: programs for different values of the numbers that the function uses.
        self._programs = _collections.OrderedDict()
        self._lock = _threading.Lock()
        #: Programs of calls with only array arguments, by their number: the common case, which skips the structures.
        self._plain = {}
        _functools.update_wrapper(self, function)

    def __get__(self, instance, owner=None):
        """A method: the function bound to an instance."""
        return self if instance is None else _Method(self, instance)

    def _program(self, args, kwargs, state=()):
        leaves, numbers = [], []
        structure = _flatten((args, kwargs), leaves, numbers)
        device = _native.Device(self._device or (leaves[0].device if leaves else default_device()))
        leaves = [leaf if leaf.device == device else leaf.to_device(device) for leaf in leaves]
        key = (structure, device, state)
        try:
            hash(key)
        except TypeError:
            raise ConversionError(
                f"{self!r}: arguments must be arrays or hashable values, possibly in tuples, lists and dicts"
            ) from None
        with self._lock:
            known = self._programs.setdefault(key, [])
            self._programs.move_to_end(key)
            program = next((each for each in known if each.suits(numbers)), None)
            if program is None:
                program = _Program(self._function, structure, device, len(numbers))
                known.append(program)
                if len(known) > _MAX_PROGRAMS:
                    del known[0]
            if len(self._programs) > _MAX_PROGRAMS:
                self._programs.popitem(last=False)
                self._plain.clear()
        return program, leaves, numbers

    def __call__(self, *args, **kwargs):
        if not kwargs:
            program = self._plain.get(len(args))
            if program is not None:
                values = program.native.plain(args)
                # Otherwise something is not an array, or on a different device; that needs its own program.
                if values is not None:
                    return program.rebuild(values, args, ())
        return self._call(args, kwargs)

    def _call(self, args, kwargs, state=()):
        # Inside another compiled function, this one is part of it.
        if _native._is_tracing():
            return self._function(*args, **kwargs)
        while True:
            program, leaves, numbers = self._program(args, kwargs, state)
            result = program(leaves, numbers)
            # Another thread may have traced the program in the meantime, and found that it depends on other numbers.
            if program.suits(numbers):
                break
        if not kwargs and not state and all([type(arg) is Array for arg in args]):
            self._plain[len(args)] = program
        return result

    def explain(self, *args, **kwargs):
        """The plan for these arguments."""
        program, leaves, numbers = self._program(args, kwargs)
        return program.native.explain(numbers, *leaves)

    def __repr__(self):
        return f"<compiled {getattr(self._function, '__name__', 'function')}>"


class _Held:
    """An object as a key, compared by identity and kept alive by the key."""

    __slots__ = ("object",)

    def __init__(self, object):
        self.object = object

    def __eq__(self, other):
        return type(other) is _Held and self.object is other.object

    def __hash__(self):
        return id(self.object)


class _Method:
    """A compiled function bound to an instance. Different arrays in the instance's attributes cause a new trace."""

    def __init__(self, compiled, instance):
        self._compiled, self._instance = compiled, instance
        _functools.update_wrapper(self, compiled)

    def __call__(self, *args, **kwargs):
        state = tuple([_Held(each) for each in _arrays(getattr(self._instance, "__dict__", {}), [])])
        return self._compiled._call((self._instance, *args), kwargs, state)

    def explain(self, *args, **kwargs):
        """The plan for these arguments."""
        return self._compiled.explain(self._instance, *args, **kwargs)

    def __repr__(self):
        return f"<{self._compiled!r} of {self._instance!r}>"


def compile(function=None, /, *, device=None):
    """Compiles a function of arrays. The function must not inspect array values.

    Arguments may be arrays, numbers, other hashable values (a new trace for each), and tuples, lists and dicts
    of them. A number is a parameter: a different one needs no new trace, unless the function uses its value (as an axis, a
    shape, a condition, in Python arithmetic). Arrays that the function captures are read again after an assignment to
    them; assigning to one inside the function is an error. Random numbers without a seed differ from call to call. Other
    state (globals, attributes that are not arrays) keeps its value from when the function was traced. Can be used as a
    decorator, also for methods.
    """
    if function is None:
        return _functools.partial(compile, device=device)
    if not callable(function):
        raise ConversionError(f"compile: expected a function, not {type(function).__name__}")
    return Compiled(function, device)

"""NumPy compatibility: its other function names, array methods, and NumPy's functions called with Wootz arrays."""

from . import _native
from ._native import Array, asarray
from .errors import ArgumentError, ConversionError, DTypeError

#: NumPy's names for functions that have another name here.
ALIASES = {
    "absolute": "abs", "amax": "max", "amin": "min", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "around": "round", "asanyarray": "asarray", "ascontiguousarray": "asarray",
    "bitwise_invert": "bitwise_not", "conjugate": "conj", "deg2rad": "radians", "invert": "bitwise_not", "left_shift": "shift_left",
    "mod": "remainder", "power": "pow", "promote_types": "result_type", "rad2deg": "degrees", "right_shift": "shift_right",
    "true_divide": "div",
}


def copy(x, /):
    """A copy of an array's values."""
    return asarray(x).copy()


def iterable(x, /):
    """Whether an object is iterable."""
    return hasattr(x, "__iter__") and not (isinstance(x, Array) and x.ndim == 0)


def apply_along_axis(function, axis, x, /, *args, **kwargs):
    """Applies a function of vectors to each vector along an axis."""
    from ._manipulation import moveaxis, stack

    rows = moveaxis(asarray(x), axis, -1)
    outer = rows.shape[:-1]
    flat = rows.reshape((-1, rows.shape[-1]))
    results = stack([asarray(function(flat[i], *args, **kwargs)) for i in range(flat.shape[0])])
    results = results.reshape(outer + results.shape[1:])
    return moveaxis(results, -1, axis) if results.ndim == rows.ndim else results


def fromiter(values, dtype, count=-1):
    """An array from an iterator."""
    values = list(values)
    return asarray(values if count < 0 else values[:count], dtype=dtype)


def frombuffer(buffer, dtype="float32", count=-1, offset=0):
    """A vector from a copy of a buffer's bytes."""
    dtype = _native.DType(dtype)
    data = bytes(memoryview(buffer).cast("B"))[offset:]
    data = data if count < 0 else data[: count * dtype.itemsize]
    if len(data) % dtype.itemsize:
        raise ArgumentError(f"frombuffer: {len(data)} bytes is not a multiple of the size of {dtype}")
    return _native._from_bytes(data, dtype, [len(data) // dtype.itemsize])


__all__ = sorted([*ALIASES, "apply_along_axis", "copy", "frombuffer", "fromiter", "iterable"])


def _like(values, array, shape):
    """Values of an array's dtype, on its device, for places of a shape. Numbers have to fit; arrays are cast."""
    values = asarray(values, dtype=array.dtype, device=array.device)
    # As in assignments, extra axes in front do not matter if there is nothing along them.
    more = max(values.ndim - len(shape), 0)
    if values.shape[:more] == (1,) * more:
        values = values.reshape(values.shape[more:])
    return values.broadcast_to(shape)


class _At:
    """Updates at positions, each returning a new array: ``x.at[2:5].add(1)``. Repeated positions are applied repeatedly."""

    __slots__ = ("_array", "_chosen")

    def __init__(self, array, chosen=()):
        self._array, self._chosen = array, chosen

    def __getitem__(self, key):
        return _At(self._array, (key,))

    @property
    def _key(self):
        if not self._chosen:
            raise ArgumentError("at: which positions? x.at[2:5].add(1) adds to three")
        return self._chosen[0]

    def _places(self):
        """The positions in the flattened array that the key selects, one per element."""
        array = self._array
        return _native.arange(array.size, device=array.device).reshape(array.shape)[self._key]

    def set(self, value):
        """A copy with these positions set to values."""
        result = Array.__copy__(self._array)
        result[self._key] = value
        return result

    def _combined(self, values, combine):
        array, places = self._array, self._places()
        values = _like(values, array, places.shape)
        return combine(array.flatten(), places.flatten(), values.flatten()).reshape(array.shape)

    def add(self, values):
        """A copy with values added at these positions."""
        return self._combined(values, lambda flat, places, values: flat.scatter_add(places, values, axis=0))

    def subtract(self, values):
        """A copy with values subtracted at these positions."""
        return self._combined(values, lambda flat, places, values: flat.scatter_add(places, -values, axis=0))

    def _ordered(self, values, reduce):
        """Combines the values for the same position first, by sorting them next to each other."""
        array, places = self._array, self._places().flatten().numpy()
        values = _like(values, array, self._places().shape).flatten()
        flat = array.flatten()
        order = _native.asarray(places).argsort()
        sorted_places, sorted_values = _native.asarray(places).take(order, axis=0), values.take(order, axis=0)
        result = flat
        rounds = 0
        # Each round takes the first remaining value of every position.
        while sorted_places.size:
            from ._manipulation import concat

            first = concat([_native.full((1,), True), sorted_places[1:] != sorted_places[:-1]])
            now, later = first._nonzero()[:, 0], _native.logical_not(first)._nonzero()[:, 0]
            at, new = sorted_places.take(now, axis=0), sorted_values.take(now, axis=0)
            updated = Array.__copy__(result)
            updated[at] = reduce(result.take(at, axis=0), new)
            result = updated.eval()
            sorted_places, sorted_values = sorted_places.take(later, axis=0), sorted_values.take(later, axis=0)
            rounds += 1
        return result.reshape(array.shape)

    def multiply(self, values):
        """A copy with these positions multiplied by values."""
        return self._ordered(values, _native.mul)

    def divide(self, values):
        """A copy with these positions divided by values."""
        return self._ordered(values, _native.div)

    def maximum(self, values):
        """A copy with the elementwise maximum at these positions."""
        return self._ordered(values, _native.maximum)

    def minimum(self, values):
        """A copy with the elementwise minimum at these positions."""
        return self._ordered(values, _native.minimum)


def view(self, dtype, /):
    """The same bytes reinterpreted as another dtype; the last axis is resized to match. Evaluates the array."""
    dtype = _native.DType(dtype)
    if dtype.itemsize == self.dtype.itemsize:
        return _native._from_bytes(self.tobytes(), dtype, list(self.shape))
    if self.ndim == 0 or self.shape[-1] * self.dtype.itemsize % dtype.itemsize:
        raise DTypeError(f"view: the last axis of shape {self.shape} does not divide into {dtype}")
    shape = (*self.shape[:-1], self.shape[-1] * self.dtype.itemsize // dtype.itemsize)
    return _native._from_bytes(self.tobytes(), dtype, list(shape))


def _namespace():
    import wootz

    return wootz


def _method(name):
    def own(self, *args, **kwargs):
        return getattr(_namespace(), name)(self, *args, **kwargs)

    own.__name__ = name
    own.__doc__ = f"See :func:`wootz.{name}`."
    return own


#: Array methods that call the function of the same name.
METHODS = [
    "argpartition", "choose", "diagonal", "dot", "median", "moveaxis", "nonzero", "partition", "ptp", "put", "ravel", "repeat",
    "searchsorted", "split", "swapaxes", "trace",
]
for _name in METHODS:
    setattr(Array, _name, _method(_name))
Array.view = view
Array.at = property(_At, doc="Updates at positions, each returning a new array: ``x.at[2:5].add(1)``.")
Array.round = lambda self, decimals=0: _namespace().round(self, decimals)
Array.__round__ = lambda self, decimals=None: self.item().__round__(decimals) if decimals is None else self.round(decimals)
Array.__divmod__ = lambda self, other: (self // other, self % other)
Array.__rdivmod__ = lambda self, other: (other // self, other % self)
Array.compress = lambda self, condition, axis=None: _namespace().compress(condition, self, axis)
Array.conj = Array.conjugate = lambda self: self
Array.flat = property(lambda self: iter(self.flatten()), doc="The flattened array.")
Array.real = property(lambda self: self, doc="The real part: the array itself.")


def fill(self, value):
    """Sets every element, in place."""
    self[...] = value


Array.fill = fill

#: NumPy ufuncs that have another name here.
_UFUNCS = {"matmul": "matmul", **ALIASES}


def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
    """NumPy's ufuncs called with Wootz arrays: ``np.exp(x)`` calls ours and returns a Wootz array."""
    import numpy

    name = ufunc.__name__
    function = getattr(_namespace(), name, None)
    if out is not None:
        return _into(out, ufunc, method, inputs, kwargs)
    if method == "reduce" and name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or"):
        reduce = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}[name]
        kwargs = {key: value for key, value in kwargs.items() if value is not numpy._NoValue and key in ("axis", "keepdims", "dtype")}
        return getattr(_namespace(), reduce)(inputs[0], **{"axis": 0, **kwargs})
    dtype = kwargs.pop("dtype", None)
    if dtype is not None:
        inputs = [each.astype(dtype) if isinstance(each, Array) else each for each in inputs]
    if method != "__call__" or function is None or kwargs:
        what = name if method == "__call__" else f"{name}.{method}"
        raise ConversionError(
            f"np.{what} is not available for wootz arrays{' with ' + ', '.join(kwargs) if kwargs and function else ''}; "
            f"np.asarray(x) gives a NumPy array without a copy"
        )
    return function(*inputs)


def _into(out, ufunc, method, inputs, kwargs):
    """Writes the result into NumPy's memory, as ``ndarray += x`` requires."""
    import numpy

    if any(isinstance(each, Array) for each in out):
        raise ConversionError(f"np.{ufunc.__name__}: out cannot be a wootz array, because its values are immutable")
    inputs = [numpy.asarray(each) if isinstance(each, Array) else each for each in inputs]
    return getattr(ufunc, method)(*inputs, out=out if len(out) > 1 else out[0], **kwargs)


def __array_function__(self, function, types, args, kwargs):
    """NumPy's other functions called with Wootz arrays call ours of the same name, if there is one."""
    name = function.__name__
    own = getattr(_namespace(), name, None) if function.__module__ in ("numpy", None) else None
    if function.__module__ == "numpy.linalg":
        own = getattr(_namespace().linalg, name, None)
    if own is None:
        raise ConversionError(
            f"np.{name} is not available for wootz arrays; np.asarray(x) gives a NumPy array without a copy"
        )
    return own(*args, **kwargs)


Array.__array_ufunc__ = __array_ufunc__
Array.__array_function__ = __array_function__


def __getattr__(name):
    if name in ALIASES:
        return getattr(_namespace(), ALIASES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

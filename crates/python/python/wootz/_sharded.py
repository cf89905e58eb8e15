"""Arrays of which each rank has a part along one axis, and the ops on them that need no more than collectives."""

import operator as _operator

from ._native import Array
from .errors import ArgumentError


def part(extent, rank, size):
    """Where rank ``rank``'s part of an axis begins and ends: parts differ by at most one row."""
    each, more = divmod(extent, size)
    start = rank * each + min(rank, more)
    return start, start + each + (rank < more)


class Sharded:
    """An array that is sharded over the ranks of a group along one axis: see :func:`wootz.distributed.shard`.

    Elementwise operators take numbers, arrays that every rank has, and arrays sharded in the same way. Reductions over the sharded
    axis give an array on every rank, others a sharded one. Products need no more than one collective. Anything else raises
    :class:`wootz.errors.ArgumentError`; call :meth:`gather` first, or :meth:`map` for a function of the parts.
    """

    __slots__ = ("local", "axis", "extent", "group")
    # NumPy's arrays leave their operators to this class.
    __array_ufunc__ = None

    def __init__(self, local, axis, extent, group):
        self.local, self.axis, self.extent, self.group = local, axis, extent, group

    @property
    def shape(self):
        """The shape of the whole array."""
        return tuple(self.extent if axis == self.axis else n for axis, n in enumerate(self.local.shape))

    @property
    def ndim(self):
        """The number of axes."""
        return self.local.ndim

    @property
    def dtype(self):
        """The data type of the elements."""
        return self.local.dtype

    def __repr__(self):
        rank, size = self.group.rank(), self.group.size()
        return f"<Sharded: rank {rank} of {size} has {tuple(self.local.shape)} of {self.shape}, {self.dtype}, axis {self.axis}>"

    def __getattr__(self, name):
        if not name.startswith("_") and hasattr(Array, name):
            _refuse(f"a sharded array has no {name}; call gather() first, or map() for a function of the parts")
        raise AttributeError(name)

    def __getitem__(self, key):
        _refuse("a sharded array cannot be indexed; call gather() first")

    def __iter__(self):
        _refuse("a sharded array cannot be iterated over; call gather() first")

    def __array__(self, *args, **kwargs):
        _refuse("a sharded array is not one NumPy array; call gather() first")

    def gather(self):
        """The whole array, on every rank."""
        return self.group._native.gather(self.local, self.axis, self.extent)

    def map(self, function):
        """A function of this rank's part, which keeps the extent of the sharded axis."""
        local = function(self.local)
        kept = local.ndim > self.axis and local.shape[self.axis] == self.local.shape[self.axis]
        if not kept:
            _refuse(f"map: {tuple(self.local.shape)} became {tuple(local.shape)}, which changes the sharded axis {self.axis}")
        return Sharded(local, self.axis, self.extent, self.group)

    def _beside(self, other, name):
        """What of the other operand is combined with this rank's part."""
        if isinstance(other, Sharded):
            if (other.axis, other.shape, other.group) != (self.axis, self.shape, self.group):
                _refuse(f"{name}: {self!r} and {other!r} are not sharded in the same way; call gather() on one of them")
            return other.local
        shape = getattr(other, "shape", ())
        if len(shape) > self.ndim:
            _refuse(f"{name}: an array of {len(shape)} axes beside a sharded one of {self.ndim}; call gather() first")
        axis = self.axis - (self.ndim - len(shape))
        if axis < 0 or shape[axis] == 1:
            return other
        if shape[axis] != self.extent:
            _refuse(f"{name}: shapes {self.shape} and {tuple(shape)} do not fit")
        return self.group._native.shard(other, axis)

    def _reduced(self, name, how, axis, keepdims):
        axes = range(self.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        axes = sorted({_axis(name, a, self.ndim) for a in axes})
        if self.axis not in axes:
            moved = self.axis if keepdims else self.axis - sum(a < self.axis for a in axes)
            return Sharded(getattr(self.local, name)(axis=tuple(axes), keepdims=keepdims), moved, self.extent, self.group)
        # Some ranks have nothing, of which there is no largest element; all of it is little.
        if self.extent < self.group.size():
            return getattr(self.gather(), name)(axis=tuple(axes), keepdims=keepdims)
        return self.group._native.all_reduce(how, getattr(self.local, name)(axis=tuple(axes), keepdims=keepdims))

    def sum(self, axis=None, keepdims=False):
        """The sum over axes."""
        return self._reduced("sum", "sum", axis, keepdims)

    def max(self, axis=None, keepdims=False):
        """The maximum over axes."""
        return self._reduced("max", "max", axis, keepdims)

    def min(self, axis=None, keepdims=False):
        """The minimum over axes."""
        return self._reduced("min", "min", axis, keepdims)

    def any(self, axis=None, keepdims=False):
        """Whether any element is true, over axes."""
        return self._reduced("any", "max", axis, keepdims)

    def all(self, axis=None, keepdims=False):
        """Whether all elements are true, over axes."""
        return self._reduced("all", "min", axis, keepdims)

    def mean(self, axis=None, keepdims=False):
        """The mean over axes."""
        total = self.sum(axis, keepdims)
        count = 1
        for n in self.shape:
            count *= n
        for n in total.shape:
            count //= max(n, 1)
        return total / count

    def __matmul__(self, other):
        last = self.ndim - 1
        if self.ndim < 2 or getattr(other, "ndim", 0) < 2:
            _refuse("matmul: both operands must have at least two axes")
        if isinstance(other, Sharded) and self.axis == last and other.axis == other.ndim - 2:
            if self.extent != other.extent or self.group is not other.group:
                _refuse(f"matmul: {self!r} and {other!r} are not sharded in the same way")
            return self.group._native.all_reduce("sum", self.local @ other.local)
        if self.axis == last - 1:
            # Rows: every rank needs all of the other operand.
            local = self.local @ (other.gather() if isinstance(other, Sharded) else other)
            return Sharded(local, local.ndim - 2, self.extent, self.group)
        if self.axis == last and not isinstance(other, Sharded):
            rows = self.group._native.shard(other, other.ndim - 2)
            return self.group._native.all_reduce("sum", self.local @ rows)
        _refuse("matmul: operands must be sharded by rows, by columns, or the left by columns and the right by rows; call gather() first")

    def __rmatmul__(self, other):
        if self.ndim < 2 or other.ndim < 2:
            _refuse("matmul: both operands must have at least two axes")
        if self.axis == self.ndim - 1:
            local = other @ self.local
            return Sharded(local, local.ndim - 1, self.extent, self.group)
        if self.axis == self.ndim - 2:
            columns = self.group._native.shard(other, other.ndim - 1)
            return self.group._native.all_reduce("sum", columns @ self.local)
        _refuse("matmul: the right operand must be sharded by rows or columns; call gather() first")


def _refuse(words):
    raise ArgumentError(f"distributed: {words}")


def _axis(name, axis, ndim):
    if not -ndim <= axis < ndim:
        _refuse(f"{name}: there is no axis {axis} in an array of {ndim}")
    return axis % ndim


def _elementwise(name):
    work = getattr(_operator, name)

    def forward(self, other):
        local = work(self.local, self._beside(other, name))
        return Sharded(local, self.axis, self.extent, self.group)

    def reflected(self, other):
        local = work(self._beside(other, name), self.local)
        return Sharded(local, self.axis, self.extent, self.group)

    return forward, reflected


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"):
    _forward, _reflected = _elementwise(_name)
    setattr(Sharded, f"__{_name.rstrip('_')}__", _forward)
    setattr(Sharded, f"__r{_name.rstrip('_')}__", _reflected)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Sharded, f"__{_name}__", _elementwise(_name)[0])
for _name in ("neg", "abs", "invert"):
    setattr(Sharded, f"__{_name}__", lambda self, work=getattr(_operator, _name): self.map(work))
Sharded.__hash__ = object.__hash__

"""Distributed computing over several processes, on one machine or many, with MPI. The names are MLX's.

Start the same program on every rank (``mpirun -n 4 python program.py``); the MPI library is loaded by :func:`init`.

>>> import wootz
>>> group = wootz.distributed.init()            # one rank, unless started by a launcher
>>> wootz.distributed.all_sum(wootz.asarray([1.0, 2.0])).tolist() if group.size() == 1 else [1.0, 2.0]
[1.0, 2.0]

Operations are lazy like all others and run in the order in which they are evaluated. If ranks disagree on an operation, all
of them get an error that says which rank does what.
"""

import sys as _sys

from . import _native
from ._sharded import Sharded
from .errors import ArgumentError

__all__ = [
    "Grid",
    "Group",
    "Sharded",
    "all_gather",
    "all_max",
    "all_min",
    "all_sum",
    "barrier",
    "broadcast",
    "gather",
    "init",
    "is_available",
    "library",
    "recv",
    "recv_like",
    "send",
    "shard",
    "sharded",
    "sum_scatter",
]

_world = None


class Group:
    """A group of processes that work together."""

    def __init__(self, native):
        self._native = native

    def rank(self):
        """The rank of this process, starting at 0."""
        return self._native.rank()

    def size(self):
        """The number of ranks."""
        return self._native.size()

    def split(self, color, key=-1):
        """The subgroup of ranks with the same ``color``, ordered by key, then by rank."""
        return Group(self._native.split(color, key if key >= 0 else self.rank()))

    def grid(self, rows):
        """These ranks in so many rows, for matrices cut into blocks along both axes."""
        return Grid(self._native.grid(rows))

    def traffic(self):
        """Statistics of this rank: operations and the bytes that it contributed, messages and bytes that Wootz sent, and
        collectives that were left to the MPI library."""
        return dict(zip(("operations", "bytes", "messages", "sent", "delegated"), self._native.traffic()))

    def __repr__(self):
        return f"<wootz.distributed.Group: rank {self.rank()} of {self.size()}>"


class Grid:
    """Ranks in rows and columns: see :meth:`Group.grid`. Each has a block of a matrix."""

    def __init__(self, native):
        self._native = native

    @property
    def extents(self):
        """The number of rows and of columns of ranks."""
        return tuple(self._native.extents())

    def shard(self, x):
        """This rank's block of a matrix that every rank has."""
        return self._native.shard(x)

    def gather(self, block, shape):
        """The matrix of this shape from every rank's block, on every rank."""
        return self._native.gather(block, *shape)

    def matmul(self, a, b, inner):
        """This rank's block of the product of two matrices, from its blocks of both; ``inner`` is the extent that is summed over."""
        return self._native.matmul(a, b, inner)


def library():
    """The MPI library that :func:`init` uses, as a dict of path, interface and version; ``None`` if there is none."""
    found = _native._distributed_library()
    return None if found is None else dict(zip(("path", "interface", "version"), found))


def is_available():
    """Whether an MPI library is available."""
    return library() is not None


def init(strict=False, backend="any"):
    """The group of all ranks; the first call starts MPI.

    Without a launcher, the group has one rank. With ``strict``, it is an error if MPI cannot be started.
    ``backend`` is ``"any"`` or ``"mpi"``; there are no others.
    """
    global _world
    if backend not in ("any", "mpi"):
        raise ArgumentError(f"distributed.init: backend must be 'any' or 'mpi', not {backend!r}")
    if _world is None or (strict and _world.size() == 1):
        _world = Group(_native._init_distributed(bool(strict)))
        if _world.size() > 1:
            _tell_others_of_exceptions(_world)
    return _world


def _tell_others_of_exceptions(group):
    """A rank that ends with an exception reports it to the others, which would otherwise wait for it."""
    before = _sys.excepthook

    def hook(kind, value, trace):
        before(kind, value, trace)
        group._native.abandon(f"{kind.__name__}: {value}")

    _sys.excepthook = hook


def _native_of(group):
    return (group or init())._native


def all_sum(x, *, group=None):
    """The elementwise sum over all ranks, on every rank."""
    return _native_of(group).all_reduce("sum", x)


def all_max(x, *, group=None):
    """The elementwise maximum over all ranks, on every rank; NaN if any rank has NaN."""
    return _native_of(group).all_reduce("max", x)


def all_min(x, *, group=None):
    """The elementwise minimum over all ranks, on every rank; NaN if any rank has NaN."""
    return _native_of(group).all_reduce("min", x)


def all_gather(x, *, group=None):
    """The arrays of all ranks concatenated along their first axis, on every rank."""
    return _native_of(group).all_gather(x)


def sum_scatter(x, *, group=None):
    """The elementwise sum over all ranks, of which each rank gets its part of the first axis."""
    return _native_of(group).reduce_scatter("sum", x)


def broadcast(x, root=0, *, group=None):
    """Rank ``root``'s array on every rank; all ranks pass an array of the same shape and dtype."""
    return _native_of(group).broadcast(x, root)


def send(x, dst, *, group=None):
    """Sends an array to rank ``dst``. Returns the array; it is sent when the result is evaluated."""
    return _native_of(group).send(x, dst)


def recv(shape, dtype, src, *, group=None, device=None):
    """Receives an array of this shape and dtype from rank ``src``."""
    return _native_of(group).recv(shape, dtype, src, device)


def recv_like(x, src, *, group=None):
    """Receives an array with the shape and dtype of this one from rank ``src``."""
    return recv(x.shape, x.dtype, src, group=group, device=x.device)


def barrier(*, group=None):
    """Waits until all ranks have called it."""
    _native_of(group).barrier()


def shard(x, axis=0, *, group=None):
    """An array that every rank has, sharded along an axis: each rank keeps its part. Parts differ by at most one row.

    >>> x = wootz.distributed.shard(wootz.asarray([[1.0, 2.0], [3.0, 4.0]]))
    >>> (x * 2.0).sum(axis=0).tolist()
    [8.0, 12.0]
    """
    group = group or init()
    return Sharded(group._native.shard(x, axis), axis % x.ndim, x.shape[axis], group)


def sharded(local, axis, extent, *, group=None):
    """A sharded array from this rank's part; ``extent`` is that of the full axis."""
    group = group or init()
    group._native.check_part(local, axis, extent)
    return Sharded(local, axis % local.ndim, extent, group)


def gather(x):
    """The whole of a sharded array, on every rank."""
    return x.gather()

"""Work over several processes, on one machine or many, by MPI. The names are MLX's.

Start the same program on every rank (``mpirun -n 4 python program.py``); the MPI library is loaded by :func:`init`.

>>> import wootz
>>> group = wootz.distributed.init()            # alone, unless a launcher started this
>>> wootz.distributed.all_sum(wootz.asarray([1.0, 2.0])).tolist() if group.size() == 1 else [1.0, 2.0]
[1.0, 2.0]

Operations are lazy like all others and run in the order in which they are evaluated. Ranks that do different things at the
same place all get an error that says who does what.
"""

import sys as _sys

from . import _native
from .errors import ArgumentError

__all__ = [
    "Group",
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
    "sum_scatter",
]

_world = None


class Group:
    """Processes that work together."""

    def __init__(self, native):
        self._native = native

    def rank(self):
        """This process's rank, from 0 on."""
        return self._native.rank()

    def size(self):
        """How many ranks there are."""
        return self._native.size()

    def split(self, color, key=-1):
        """A group of the ranks that give the same ``color``, in the order of their keys, then of their ranks."""
        return Group(self._native.split(color, key if key >= 0 else self.rank()))

    def traffic(self):
        """What this rank has done in the group so far: the number of operations, and bytes that it brought into them."""
        operations, count = self._native.traffic()
        return {"operations": operations, "bytes": count}

    def __repr__(self):
        return f"<wootz.distributed.Group: rank {self.rank()} of {self.size()}>"


def library():
    """The MPI library that :func:`init` uses, as a dict of path, interface and version; ``None`` where there is none."""
    found = _native._distributed_library()
    return None if found is None else dict(zip(("path", "interface", "version"), found))


def is_available():
    """Whether an MPI library can be found."""
    return library() is not None


def init(strict=False, backend="any"):
    """The group of all ranks; MPI is started by the first call.

    A process that no launcher started is alone, unless ``strict``: then it is an error if MPI cannot be started.
    ``backend`` is ``"any"`` or ``"mpi"``: there is no other.
    """
    global _world
    if backend not in ("any", "mpi"):
        raise ArgumentError(f"distributed.init: the backend is 'any' or 'mpi', not {backend!r}")
    if _world is None or (strict and _world.size() == 1):
        _world = Group(_native._init_distributed(bool(strict)))
        if _world.size() > 1:
            _tell_others_of_exceptions(_world)
    return _world


def _tell_others_of_exceptions(group):
    """A rank that ends in an exception says so to the others, which would wait for it."""
    before = _sys.excepthook

    def hook(kind, value, trace):
        before(kind, value, trace)
        group._native.abandon(f"{kind.__name__}: {value}")

    _sys.excepthook = hook


def _native_of(group):
    return (group or init())._native


def all_sum(x, *, group=None):
    """The elements of all ranks added up, on every rank."""
    return _native_of(group).all_reduce("sum", x)


def all_max(x, *, group=None):
    """The largest elements of all ranks, on every rank; NaN where a rank has one."""
    return _native_of(group).all_reduce("max", x)


def all_min(x, *, group=None):
    """The smallest elements of all ranks, on every rank; NaN where a rank has one."""
    return _native_of(group).all_reduce("min", x)


def all_gather(x, *, group=None):
    """The arrays of all ranks joined along their first axis, on every rank."""
    return _native_of(group).all_gather(x)


def sum_scatter(x, *, group=None):
    """The elements of all ranks added up, of which each rank gets its part of the first axis."""
    return _native_of(group).reduce_scatter("sum", x)


def broadcast(x, root=0, *, group=None):
    """Rank ``root``'s array on every rank; all ranks give one of the same shape and dtype."""
    return _native_of(group).broadcast(x, root)


def send(x, dst, *, group=None):
    """Sends an array to rank ``dst``. The result is the same array: the sending happens when it is evaluated."""
    return _native_of(group).send(x, dst)


def recv(shape, dtype, src, *, group=None, device=None):
    """Receives an array from rank ``src``, which sends one of this shape and dtype."""
    return _native_of(group).recv(shape, dtype, src, device)


def recv_like(x, src, *, group=None):
    """Receives an array like this one from rank ``src``."""
    return recv(x.shape, x.dtype, src, group=group, device=x.device)


def barrier(*, group=None):
    """Waits until every rank has come here."""
    _native_of(group).barrier()


def shard(x, axis=0, *, group=None):
    """This rank's part of an array that every rank has, along an axis. Parts differ by at most one row."""
    return _native_of(group).shard(x, axis)


def gather(local, axis, extent, *, group=None):
    """The whole array, of which every rank has the part that :func:`shard` gives; ``extent`` is that of the whole axis."""
    return _native_of(group).gather(local, axis, extent)

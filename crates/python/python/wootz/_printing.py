"""How arrays are printed."""

import contextlib as _contextlib

from . import _native
from ._native import asarray

__all__ = ["array_repr", "array_str", "get_printoptions", "printoptions", "set_printoptions"]

_NAMES = ("precision", "threshold", "edgeitems", "linewidth", "suppress")


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, suppress=None):
    """How arrays are printed: digits after the point, elements shown in full, elements at the ends of long axes, columns of a
    line, and whether small numbers are 0. What is not given stays."""
    _native._set_print_options(precision, threshold, edgeitems, linewidth, suppress)


def get_printoptions():
    """How arrays are printed, by name."""
    return dict(zip(_NAMES, _native._set_print_options()))


@_contextlib.contextmanager
def printoptions(**options):
    """:func:`set_printoptions` for a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield get_printoptions()
    finally:
        set_printoptions(**before)


def array_repr(x, /):
    """What ``repr`` gives."""
    return repr(asarray(x))


def array_str(x, /):
    """What ``str`` gives."""
    return str(asarray(x))

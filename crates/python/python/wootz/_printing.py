"""Print options."""

import contextlib as _contextlib

from . import _native
from ._native import asarray

__all__ = ["array_repr", "array_str", "get_printoptions", "printoptions", "set_printoptions"]

_NAMES = ("precision", "threshold", "edgeitems", "linewidth", "suppress")


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, suppress=None):
    """Sets print options: digits after the point, threshold for summarising, elements at the ends of long axes, characters per
    line, and whether small numbers print as 0. Options not given are unchanged."""
    _native._set_print_options(precision, threshold, edgeitems, linewidth, suppress)


def get_printoptions():
    """The current print options, by name."""
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
    """Implements ``repr``."""
    return repr(asarray(x))


def array_str(x, /):
    """Implements ``str``."""
    return str(asarray(x))

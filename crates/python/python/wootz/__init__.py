"""Wootz: lazy arrays that run on the fastest device proven correct.

The namespace follows the Python array API standard, version 2024.12, and adds what models need. Submodules:

- :mod:`wootz.linalg`, the standard's extension, as far as there are ops for it
- :mod:`wootz.random`, numbers that depend on a seed alone
- :mod:`wootz.compute`, devices, buffers and kernels behind one interface
- :mod:`wootz.llm`, language models
- :mod:`wootz.softmetal`, Metal kernels checked and run on any machine
- :mod:`wootz.errors`, the exceptions
"""

import os as _os
import sys as _sys

# Without a desktop session, the layer by which Mesa's users choose a GPU prints errors whenever Vulkan is opened. There is
# nothing to choose by then, so it is left out; who sets the variable decides.
if _sys.platform == "linux" and "XDG_RUNTIME_DIR" not in _os.environ:
    _os.environ.setdefault("NODEVICE_SELECT", "1")

from . import errors
from .errors import *  # noqa: F403
from ._native import (  # noqa: F401
    Array,
    DType,
    Device,
    __version__,
    attention,
    default_device,
    devices,
    einsum,
    load_npy,
    get_num_threads,
    save_npy,
    set_default_device,
    set_num_threads,
)
from ._dtypes import *  # noqa: F403
from ._creation import *  # noqa: F403
from ._elementwise import *  # noqa: F403
from ._manipulation import *  # noqa: F403
from ._searching import *  # noqa: F403
from ._sets import *  # noqa: F403
from ._statistics import *  # noqa: F403
from ._products import *  # noqa: F403
from ._files import *  # noqa: F403
from ._transforms import *  # noqa: F403
from ._rearranging import *  # noqa: F403
from ._measures import *  # noqa: F403
from ._comparing import *  # noqa: F403
from ._functions import *  # noqa: F403
from ._positions import *  # noqa: F403
from ._printing import *  # noqa: F403
from ._info import __array_api_version__, __array_namespace_info__  # noqa: F401
from ._constants import *  # noqa: F403
from . import _convert, _habits, linalg, random  # noqa: F401
from ._habits import apply_along_axis, copy, frombuffer, fromiter, iterable  # noqa: F401

for _name, _own in _habits.ALIASES.items():
    globals()[_name] = globals()[_own]

__all__ = sorted(
    name for name in dict(globals()) if not name.startswith("_") and name not in ("annotations",)
)


def __getattr__(name):
    """Loads what not everybody needs when it is first asked for."""
    if name in ("compute", "distributed", "llm", "softmetal"):
        import importlib

        return importlib.import_module(f"wootz.{name}")
    from ._absent import message

    hint = message(name)
    raise AttributeError(f"module 'wootz' has no attribute {name!r}" + (f": {hint}" if hint else ""))

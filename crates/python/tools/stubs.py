"""Type stubs of the native half, made from the op table and from what the module says about itself.

``python crates/python/tools/stubs.py`` writes them; a test fails when they are stale.
"""

import inspect
import pathlib
import re

import wootz
from wootz import _elementwise, _native

PACKAGE = pathlib.Path(__file__).parents[1] / "python" / "wootz"

HEAD = '''"""Made by tools/stubs.py from the op table. Do not edit."""

from os import PathLike
from typing import Any, Iterator, Sequence

'''

#: Types of parameters by their names; anything else may be anything.
PARAMETERS = {
    "axis": "int | Sequence[int] | None", "keepdims": "bool", "dtype": "Any", "device": "Any", "copy": "bool | None",
    "shape": "int | Sequence[int]", "path": "str | PathLike[str]", "k": "int", "offset": "int", "seed": "int",
    "descending": "bool", "correction": "float", "eps": "float", "subscripts": "str", "endpoint": "bool", "num": "int",
    "x": "ArrayLike", "x1": "ArrayLike", "x2": "ArrayLike", "x3": "ArrayLike", "condition": "ArrayLike",
    "indices": "Array", "values": "Array", "weight": "Array | None", "bias": "Array | None",
}

#: What functions and methods return; an array where nothing is said.
RETURNS = {
    "eval": "Array", "explain": "str", "item": "bool | int | float", "tolist": "Any", "tobytes": "bytes",
    "top_k": "tuple[Array, Array]", "devices": "list[Device]", "default_device": "Device", "save_npy": "None",
    "set_default_device": "None", "set_num_threads": "None", "get_num_threads": "int",
    "memory": "dict[str, int]", "refuses": "str | None", "last_run_seconds": "float | None", "trim": "None", "promote": "DType | None", "numpy": "Any",
}

ATTRIBUTES = {
    "shape": "tuple[int, ...]", "dtype": "DType", "ndim": "int", "size": "int", "nbytes": "int", "itemsize": "int",
    "device": "Device", "is_evaluated": "bool", "T": "Array", "mT": "Array", "data_ptr": "int", "strides": "tuple[int, ...]",
    "name": "str", "kind": "str", "description": "str", "facts": "dict[str, str]",
}

OPERATORS = {
    "bool": ["__bool__"], "int": ["__int__", "__index__", "__len__"], "float": ["__float__"],
}


def doc(text, indent):
    first = inspect.cleandoc(text or "").split("\n\n")[0].replace("\n", " ")
    return f'{indent}"""{first}"""\n' if first else ""


def signature(function, method):
    """The parameters with their types."""
    text = function.__text_signature__ or "(*args, **kwargs)"
    text = re.sub(r"^\(\$self(, /)?(, )?", "(self, " if method else "(", text).replace("(self, )", "(self)")
    parts = []
    for part in re.split(r",\s*(?![^()]*\))", text[1:-1]):
        name, _, default = part.strip().partition("=")
        bare = name.strip("*")
        known = "Any" if name == "*values" else PARAMETERS.get(bare, "Any")
        kind = known if bare and name not in ("self", "/", "*") else None
        typed = name if kind is None else f"{name}: {kind}"
        parts.append(f"{typed} = ..." if default else typed)
    return ", ".join(part for part in parts if part)


def method_lines(cls):
    lines = []
    for name, value in sorted(vars(cls).items()):
        if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
            continue
        if type(value).__name__ == "getset_descriptor" and not name.startswith("__"):
            lines.append(f"    @property\n    def {name}(self) -> {ATTRIBUTES.get(name, 'Any')}:\n{doc(value.__doc__, ' ' * 8)}        ...\n")
        elif type(value).__name__ == "method_descriptor" and not name.startswith("__"):
            returns = RETURNS.get(name, "Array")
            lines.append(f"    def {name}({signature(value, True)}) -> {returns}:\n{doc(value.__doc__, ' ' * 8)}        ...\n")
        elif inspect.isfunction(value) and not name.startswith("__") and name != "numpy":
            lines.append(f"    def {name}(self, *args: Any, **kwargs: Any) -> Any:\n{doc(value.__doc__, ' ' * 8)}        ...\n")
        elif isinstance(value, property):
            lines.append(f"    @property\n    def {name}(self) -> Any:\n{doc(value.__doc__, ' ' * 8)}        ...\n")
    return lines


def operator_lines():
    lines = ["    __hash__: None  # type: ignore[assignment]\n"]
    for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
        lines.append(f"    def __{name}__(self, other: ArrayLike, /) -> Array: ...\n")
        lines.append(f"    def __r{name}__(self, other: ArrayLike, /) -> Array: ...\n")
        lines.append(f"    def __i{name}__(self, other: ArrayLike, /) -> Array: ...\n")
    for name in "lt le gt ge".split():
        lines.append(f"    def __{name}__(self, other: ArrayLike, /) -> Array: ...\n")
    for name in "eq ne".split():
        lines.append(f"    def __{name}__(self, other: object, /) -> Array: ...  # type: ignore[override]\n")
    for name in "neg pos abs invert".split():
        lines.append(f"    def __{name}__(self) -> Array: ...\n")
    for kind, names in OPERATORS.items():
        lines += [f"    def {name}(self) -> {kind}: ...\n" for name in names]
    lines += [
        "    def __getitem__(self, key: Any, /) -> Array: ...\n",
        "    def __setitem__(self, key: Any, value: ArrayLike, /) -> None: ...\n",
        "    def __iter__(self) -> Iterator[Array]: ...\n",
        "    def __contains__(self, item: Any, /) -> bool: ...\n",
        "    def __array_namespace__(self, *, api_version: str | None = ...) -> Any: ...\n",
        "    def __dlpack__(self, *, stream: Any = ..., max_version: tuple[int, int] | None = ...,"
        " dl_device: tuple[int, int] | None = ..., copy: bool | None = ...) -> Any: ...\n",
        "    def __dlpack_device__(self) -> tuple[int, int]: ...\n",
        "    def __array__(self, dtype: Any = ..., copy: bool | None = ...) -> Any: ...\n",
        "    def __buffer__(self, flags: int, /) -> memoryview: ...\n",
        "    def numpy(self, *, copy: bool = ...) -> Any:\n"
        '        """The array as a NumPy array: a read-only view of its memory, or a copy that may be changed."""\n        ...\n',
    ]
    return lines


def function_line(name, function):
    # The method of the same name returns its array.
    returns = "None" if name in ("eval", "eval_async") else RETURNS.get(name, "Array")
    return f"def {name}({signature(function, False)}) -> {returns}:\n{doc(function.__doc__, '    ')}    ...\n\n"


def native():
    """The text of ``_native.pyi``."""
    text = HEAD
    ops = {name for name, _, _ in _native._op_table()}
    for cls in (_native.DType, _native.Device, _native.Array):
        text += f"class {cls.__name__}:\n{doc(cls.__doc__, '    ')}"
        if cls is not _native.Array:
            text += "    def __init__(self, object: Any = ..., /) -> None: ...\n"
        text += "".join(method_lines(cls)) + ("".join(operator_lines()) if cls is _native.Array else "") + "\n"
    text += "ArrayLike = Array | bool | int | float | Sequence[Any] | Any\n\n__version__: str\n"
    text += "".join(f"{each.name}: DType\n" for each in wootz._dtypes._ALL) + "\n"
    names = sorted(name for name in dir(_native) if not name.startswith("_"))
    for name in names:
        value = getattr(_native, name)
        if name not in ops and callable(value) and not isinstance(value, type):
            text += function_line(name, value)
    text += "# The op table.\n\n"
    return text + "".join(function_line(name, getattr(_native, name)) for name in sorted(ops)) + 'def __getattr__(name: str) -> Any: ...\n'


def elementwise():
    """The text of ``_elementwise.pyi``."""
    text = HEAD.replace("from os import PathLike\nfrom typing import Any, Iterator, Sequence\n\n", "")
    text += "from ._native import Array, ArrayLike\n"
    ops = sorted(name for name, _, _ in _native._op_table())
    text += "from ._native import (\n" + "".join(f"    {name} as {name},\n" for name in ops) + ")\n"
    text += "from ._native import (\n" + "".join(f"    {op} as {name},\n" for name, op in sorted(_elementwise.ALIASES.items())) + ")\n\n"
    text += "ALIASES: dict[str, str]\n\n"
    for name in ("positive", "conj", "real", "imag"):
        text += f"def {name}(x: ArrayLike, /) -> Array: ...\n"
    for name in ("softmax", "log_softmax"):
        text += f"def {name}(x: ArrayLike, /, axis: int = ...) -> Array: ...\n"
    text += "def rms_norm(x: ArrayLike, /, weight: Array | None = ..., *, eps: float = ...) -> Array: ...\n"
    text += "def layer_norm(x: ArrayLike, /, weight: Array | None = ..., bias: Array | None = ..., *, eps: float = ...) -> Array: ...\n"
    return text


FILES = {PACKAGE / "_native.pyi": native, PACKAGE / "_elementwise.pyi": elementwise}

if __name__ == "__main__":
    for path, make in FILES.items():
        path.write_text(make(), encoding="utf-8")
        print(path)

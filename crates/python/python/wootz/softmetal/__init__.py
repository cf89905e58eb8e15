"""SoftMetal from Python: compile, check, run and profile Metal kernels on any machine.

>>> import numpy as np
>>> from wootz import softmetal
>>> source = '''
... #include <metal_stdlib>
... kernel void twice(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
... '''
>>> result = softmetal.run(source, "twice", np.array([1, 2, 3], np.float32), grid=3)
>>> result["x"]
array([2., 4., 6.], dtype=float32)
"""

import json as _json
import os as _os
import struct as _struct
from dataclasses import dataclass, field
from typing import Any

from .. import _native
from ..errors import ArgumentError, ConversionError, KernelError

__all__ = ["Binding", "CheckResult", "Counters", "Device", "Library", "Report", "RunResult", "check", "run"]

# Scalar types of the Metal language, with their struct module format characters.
_SCALARS = {
    "bool": "?", "char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q",
    "ulong": "Q", "half": "e", "float": "f",
    "int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int32_t": "i", "uint32_t": "I", "int64_t": "q",
    "uint64_t": "Q", "size_t": "Q",
}


@dataclass(frozen=True)
class Binding:
    """A parameter of a kernel."""

    name: str
    kind: str
    index: int
    access: str
    type_name: str
    attribute: str = ""
    condition: str | None = None


@dataclass(frozen=True)
class Report:
    """A finding of the checker: the error, its location, and the thread."""

    kind: str
    kernel: str
    message: str
    file: str
    line: int
    column: int
    buffer: int | None
    offset: int | None
    thread: tuple
    group: tuple

    def __str__(self):
        return f"{self.file}:{self.line}:{self.column}: {self.kind}: {self.message} (kernel `{self.kernel}`)"


@dataclass(frozen=True)
class Counters:
    """Exact counts for one dispatch."""

    threadgroups: int = 0
    threads: int = 0
    device_bytes_read: int = 0
    device_bytes_written: int = 0
    constant_bytes_read: int = 0
    threadgroup_bytes_read: int = 0
    threadgroup_bytes_written: int = 0
    transactions: int = 0
    memory_instructions: int = 0
    flops_f32: int = 0
    flops_f16: int = 0
    simd_operations: int = 0
    divergent_simd_operations: int = 0
    simd_barriers: int = 0
    matrix_products: int = 0
    matrix_memory: int = 0
    barriers: int = 0
    atomics: int = 0


@dataclass
class RunResult:
    """The results of a kernel: arrays by parameter name, findings, counts, and the device's own time."""

    outputs: dict
    reports: list
    counters: Counters | None
    seconds: float
    error: str | None = None

    @property
    def ok(self):
        """Whether the kernel succeeded and the checker found nothing."""
        return self.error is None

    def __getitem__(self, name):
        return self.outputs[name]

    def raise_for_error(self):
        """Raises the error, if any."""
        if self.error is not None:
            raise KernelError(self.error)
        return self


@dataclass
class CheckResult:
    """The kernels of a source that compile, and the errors of the others."""

    kernels: list
    errors: dict = field(default_factory=dict)

    @property
    def ok(self):
        """Whether every kernel compiles."""
        return not self.errors


def _read(source, file_name):
    """The text and name of a source, which is given as text or path."""
    if isinstance(source, _os.PathLike):
        path = _os.fspath(source)
        with open(path, encoding="utf-8") as file:
            return file.read(), file_name or path
    if not isinstance(source, str):
        raise ConversionError(f"Metal source must be text or a path, not {type(source).__name__}")
    return source, file_name or "program.metal"


def _triple(value, name):
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(values) <= 3 or any(not isinstance(v, int) or v < 0 for v in values):
        raise ArgumentError(f"{name}: expected one to three non-negative sizes, not {value!r}")
    return values + (1,) * (3 - len(values))


class Device:
    """A software Metal device.

    ``check`` checks every memory access of a kernel, ``profile`` counts operations, ``shuffle`` shuffles the order of
    threads, ``time_limit`` stops kernels that run too long.
    """

    def __init__(
        self,
        *,
        family="apple7",
        simd_width=None,
        check=False,
        max_reports=10,
        profile=False,
        shuffle=None,
        time_limit=120.0,
    ):
        self._native = _native._SoftDevice(
            {
                "family": family,
                "simd_width": simd_width,
                "check": bool(check),
                "max_reports": max_reports,
                "profile": bool(profile),
                "shuffle": shuffle,
                "time_limit": float(time_limit),
            }
        )

    def library(self, source, *, file_name=None, defines=None, include_dirs=()):
        """Reads Metal source, given as text or by path."""
        text, name = _read(source, file_name)
        pairs = [(key, str(value)) for key, value in (defines or {}).items()]
        return Library(self._native.library(text, name, pairs, list(include_dirs)))


class Library:
    """A Metal source."""

    def __init__(self, native):
        self._native = native

    @property
    def functions(self):
        """The names of the kernels."""
        return self._native.functions()

    def bindings(self, kernel):
        """The parameters of a kernel."""
        return [Binding(**each) for each in _json.loads(self._native.bindings(kernel))]

    def check(self, *kernels):
        """Compiles kernels (all, if none is named) without running them."""
        names = list(kernels) or self.functions
        errors = self._native.check(names)
        return CheckResult(names, {name: error for name, error in zip(names, errors) if error is not None})

    def run(self, kernel, /, *args, grid=None, groups=None, threads=None, constants=None, threadgroup=None, **named):
        """Runs a kernel with NumPy arrays and numbers, in the order of its parameters or by name.

        ``grid`` counts threads, ``groups`` threadgroups. The given arrays are not modified: what the kernel
        wrote is in the result. Findings of the checker and faults are in the result too; ``raise_for_error`` raises them.
        """
        import numpy

        bindings = [b for b in self.bindings(kernel) if b.kind in ("buffer", "constant")]
        given = _bind(kernel, bindings, args, named)
        buffers, values, arrays = [], [], {}
        for binding in bindings:
            if binding.name not in given:
                continue
            value = given[binding.name]
            if isinstance(value, (bool, int, float)):
                values.append((binding.index, _scalar(binding, value)))
                continue
            array = numpy.asarray(value)
            arrays[binding.index] = (binding, array)
            buffers.append((binding.index, numpy.ascontiguousarray(array).tobytes()))
        if (grid is None) == (groups is None):
            raise ArgumentError("run: pass either grid (threads) or groups (threadgroups)")
        size = _triple(grid if groups is None else groups, "grid" if groups is None else "groups")
        if threads is None:
            threads = min(size[0], 256) if groups is None else 1
        dispatch = {
            "kernel": kernel,
            "constants": [_constant(name, value) for name, value in (constants or {}).items()],
            "buffers": buffers,
            "values": values,
            "threadgroup": sorted((threadgroup or {}).items()),
            "grid": size,
            "threads": _triple(threads, "threads"),
            "groups": groups is not None,
        }
        contents, seconds, facts, error = self._native.run(dispatch)
        outputs = {}
        for index, content in contents:
            binding, array = arrays[index]
            if binding.access == "read_write":
                outputs[binding.name] = numpy.frombuffer(bytearray(content), array.dtype).reshape(array.shape)
        facts = _json.loads(facts)
        profiles = facts["profiles"]
        return RunResult(
            outputs,
            [_report(each) for each in facts["reports"]],
            Counters(**profiles[0]["counters"]) if profiles else None,
            seconds,
            error,
        )


def _report(facts):
    facts = dict(facts, thread=tuple(facts["thread"]), group=tuple(facts["group"]))
    return Report(**facts)


def _bind(kernel, bindings, args, named):
    """Arguments by parameter name."""
    names = [b.name for b in bindings]
    if len(args) > len(names):
        raise ArgumentError(f"{kernel}: got {len(args)} arguments for {len(names)} parameters ({', '.join(names)})")
    given = dict(zip(names, args))
    for name, value in named.items():
        if name not in names:
            raise ArgumentError(f"{kernel}: no parameter {name!r}; the parameters are {', '.join(names)}")
        if name in given:
            raise ArgumentError(f"{kernel}: got {name!r} twice")
        given[name] = value
    missing = [b.name for b in bindings if b.name not in given and b.condition is None]
    if missing:
        raise ArgumentError(f"{kernel}: missing arguments: {', '.join(missing)}")
    return given


def _scalar(binding, value):
    kind = binding.type_name.replace("const", "").replace("&", "").strip()
    letter = _SCALARS.get(kind)
    if letter is None:
        raise ArgumentError(f"{binding.name}: {binding.type_name!r} needs an array, not a number")
    try:
        return _struct.pack("=" + letter, value if letter in "?ef" else int(value))
    except (_struct.error, OverflowError) as error:
        raise ArgumentError(f"{binding.name}: {value!r} does not fit {kind}: {error}") from None


def _constant(name, value):
    """A function constant: a bool, an int, a float, or a pair of a type's name and a value."""
    if isinstance(value, tuple):
        kind, value = value
    else:
        kind = {bool: "bool", int: "int", float: "float"}.get(type(value))
        if kind is None:
            raise ArgumentError(f"constant {name}: expected a number, or a pair of type and number")
    return (str(name), kind, float(value))


def check(source, *kernels, family="apple7", file_name=None, defines=None, include_dirs=()):
    """Compiles the kernels of a source, given as text or path, without running them."""
    device = Device(family=family)
    library = device.library(source, file_name=file_name, defines=defines, include_dirs=include_dirs)
    return library.check(*kernels)


def run(source, kernel, /, *args, check=True, profile=True, defines=None, include_dirs=(), file_name=None, **options):
    """Runs a kernel of a source, by default with the checker and profiler. See :meth:`Library.run`."""
    settings = {
        key: options.pop(key)
        for key in ("family", "simd_width", "max_reports", "shuffle", "time_limit")
        if key in options
    }
    device = Device(check=check, profile=profile, **settings)
    library = device.library(source, file_name=file_name, defines=defines, include_dirs=include_dirs)
    return library.run(kernel, *args, **options)

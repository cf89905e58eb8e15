"""Kernels: traced functions of arrays, and source in a device's own language."""

import re
import threading
import time

from .. import _native
from .._elementwise import ALIASES
from .._native import Array, DType, asarray
from .._transforms import Compiled
from ..errors import ArgumentError, ConversionError, DTypeError, KernelError

__all__ = ["Kernel", "SourceKernel", "get_elementwise_kernel", "get_matrix_multiply_kernel", "get_vector_add_kernel"]


def _workgroup_size(source):
    """The workgroup size that WGSL source states in literals, or None."""
    found = re.search(r"@workgroup_size\s*\(\s*([0-9,\s]+?)\s*,?\s*\)", source)
    return tuple(int(part) for part in found.group(1).split(",")) if found else None


class Kernel:
    """A Python function over arrays, traced once per signature and then run as a single plan.

    Also takes NumPy arrays, which are copied to the kernel's device, or to that of the first array argument.
    """

    def __init__(self, function, backend=None):
        if not callable(function):
            raise ConversionError(f"a kernel must be a function, not {type(function).__name__}")
        self.name = getattr(function, "__name__", type(function).__name__)
        self.backend = backend
        self._compiled = Compiled(function, None if backend is None else backend.device)
        self._lock = threading.Lock()

    def __call__(self, *args, **kwargs):
        device = self._device(args)
        if self.backend is not None:
            args = tuple(self.backend._bring(arg) for arg in args)
        else:
            args = tuple(arg if isinstance(arg, (bool, int, float)) else asarray(arg, device=device) for arg in args)
        return self._compiled(*args, **kwargs)

    def _device(self, args):
        placed = [arg.device for arg in args if isinstance(arg, Array)]
        return placed[0] if placed else None

    def launch(self, backend, grid_size, block_size, args):
        """Runs on a backend; returns the results, and the time in seconds as seen by the host. The plan determines the grid."""
        args = [backend._bring(arg) for arg in args]
        start = time.perf_counter()
        value = self._compiled(*args)
        seconds = time.perf_counter() - start
        results = value if isinstance(value, (tuple, list)) else (value,)
        return tuple(results), seconds

    def __repr__(self):
        return f"<wootz kernel {self.name}>"


_SIGNATURE = re.compile(r"^\s*(\w+)\s*\(([^()]*)\)\s*->\s*(\w+)\s*$")


class SourceKernel:
    """A kernel in MSL or WGSL: it reads its inputs in row-major order, one binding each, and writes one
    result, at the binding after them.

    The signature names the function, the dtypes of its inputs and that of its result: ``"scale(float32, float32) ->
    float32"``.
    """

    def __init__(self, backend, source, signature, *, language, constants=None, shape=None):
        if not isinstance(signature, str):
            raise KernelError("a source kernel needs a signature such as 'name(float32, float32) -> float32'")
        match = _SIGNATURE.match(signature)
        if match is None:
            raise KernelError(f"invalid signature {signature!r}; expected e.g. 'name(float32, float32) -> float32'")
        self.backend, self.source, self.language = backend, source, language
        self.name = match[1]
        self.inputs = [DType(each.split()[0]) for each in match[2].split(",") if each.strip()]
        self.output = DType(match[3])
        self.constants = [(str(name), float(value)) for name, value in (constants or {}).items()]
        self.shape = shape

    def __call__(self, *args, grid=None, block=None, shape=None):
        """Runs the kernel; by default the grid has one thread per element of the result."""
        (result,), _ = self._run(args, grid, block, shape)
        return result

    def launch(self, backend, grid_size, block_size, args):
        """Runs on a backend: ``grid_size`` threads in groups of ``block_size``. An extra argument is an array
        that receives the result."""
        if backend.device != self.backend.device:
            raise KernelError(f"{self.name} was compiled for {self.backend.device}, not for {backend.device}")
        out = None
        if len(args) == len(self.inputs) + 1:
            *args, out = args
            if not isinstance(out, Array) or out.dtype != self.output:
                raise DTypeError(f"{self.name}: the result needs an array of {self.output}")
        results, seconds = self._run(args, grid_size, block_size, None if out is None else out.shape)
        if out is not None:
            out._set(results[0])
        return results, seconds

    def _run(self, args, grid, block, shape):
        if len(args) != len(self.inputs):
            raise ArgumentError(f"{self.name}: got {len(args)} arguments for {len(self.inputs)} inputs")
        arrays = []
        for arg, dtype in zip(args, self.inputs):
            if isinstance(arg, (bool, int, float)):
                arg = asarray([arg], dtype=dtype)
            array = self.backend._bring(arg)
            if array.dtype != dtype:
                raise DTypeError(f"{self.name}: got {array.dtype} where the signature says {dtype}")
            arrays.append(array)
        shape = shape or self.shape or (arrays[0].shape if arrays else (1,))
        count = 1
        for extent in shape:
            count *= extent
        grid = _triple(grid or (count,), "grid_size")
        # WGSL source states its workgroup size; one given here could only contradict it.
        block = _triple(_workgroup_size(self.source) or block or (min(count, 256) or 1,), "block_size")
        source = {
            "language": self.language,
            "text": self.source,
            "entry": self.name,
            "grid": grid,
            "group": block,
            "constants": self.constants,
        }
        start = time.perf_counter()
        result = _native._custom(source, arrays, list(shape), self.output)
        try:
            result.eval()
        except (DTypeError, ArgumentError, KernelError):
            raise
        except Exception as error:
            raise KernelError(f"{self.name}: {error}") from error
        return (result,), time.perf_counter() - start

    def __repr__(self):
        return f"<wootz {self.language} kernel {self.name}>"


def _triple(value, name):
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(values) <= 3 or any(not isinstance(v, int) or v < 1 for v in values):
        raise ArgumentError(f"{name}: expected one to three positive sizes, not {value!r}")
    return values + (1,) * (3 - len(values))


def _vector_add(a, b):
    return a + b


def _matrix_multiply(a, b):
    return a @ b


def get_vector_add_kernel():
    """The sum of two arrays, on their device."""
    return Kernel(_vector_add)


def get_matrix_multiply_kernel():
    """The product of two matrices, on their device."""
    return Kernel(_matrix_multiply)


def get_elementwise_kernel(operation):
    """An op of the elementwise table by its name, or by the standard's."""
    table = {name: arity for name, arity, _ in _native._op_table()}
    name = {**ALIASES, "multiply": "mul", "power": "pow"}.get(operation, operation)
    if name not in table:
        raise ArgumentError(f"unknown elementwise op {operation!r}; use one of {', '.join(sorted(table))}")
    op = getattr(_native, name)
    names = ["x", "y", "z"][: table[name]]

    def kernel(*arrays):
        if len(arrays) != len(names):
            raise ArgumentError(f"{operation}: got {len(arrays)} arguments, expected {len(names)}")
        return op(*arrays)

    kernel.__name__ = operation
    return Kernel(kernel)

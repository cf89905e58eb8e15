"""Backends: a device's memory and kernels behind one interface."""

import enum
import threading
import weakref
from dataclasses import dataclass

from .. import _native
from .._native import Array, DType, Device, asarray, devices
from ..errors import ArgumentError, BackendNotAvailableError, BufferError, ConversionError, KernelError, UnsupportedError
from .kernel import Kernel, SourceKernel

__all__ = ["Backend", "BackendType", "CpuBackend", "KernelExecutionResult", "MetalBackend", "WebGpuBackend", "available_backends"]


class BackendType(enum.Enum):
    """Kinds of backends; the value is the device's name."""

    CPU = "cpu"
    METAL = "metal"
    WEBGPU = "webgpu"


@dataclass
class KernelExecutionResult:
    """The result of a kernel, and how it ran."""

    success: bool
    #: Time on the device, if the device measures it; otherwise from the call to the end of the work, as seen by the host.
    execution_time_ms: float
    #: The error, if any.
    error: Exception | None = None
    #: The kernel's results, as arrays on the device.
    results: tuple = ()
    #: The clock that measured the time: ``device`` or ``host``.
    clock: str = "host"

    def raise_for_error(self):
        """Raises the error, if any; otherwise returns the result."""
        if self.error is not None:
            raise self.error
        return self


class Backend:
    """A device's memory and kernels. Create one with :class:`CpuBackend`, :class:`MetalBackend`, :class:`WebGpuBackend`.

    ``convert_float64`` converts float64 arrays to float32 on devices without float64; otherwise they are rejected.
    All methods may be called from many threads.
    """

    backend_type: BackendType
    #: The language of source kernels, or None.
    language: str | None = None

    def __init__(self, device_id=0, *, convert_float64=False):
        if device_id != 0:
            raise ArgumentError(f"{type(self).__name__}: no device {device_id}; the only device is 0")
        self._id = device_id
        self._convert = convert_float64
        self._lock = threading.RLock()
        self._launching = threading.RLock()
        #: Arrays allocated or copied here and not freed, by identity while they are alive.
        self._buffers = weakref.WeakValueDictionary()
        self._kernels = weakref.WeakKeyDictionary()

    @property
    def is_available(self):
        """Whether this machine has such a device."""
        return any(device.name == self.backend_type.value for device in devices())

    @property
    def device(self):
        """The device behind the backend."""
        if not self.is_available:
            names = ", ".join(device.name for device in devices())
            raise BackendNotAvailableError(f"no {self.backend_type.value} device on this machine; available: {names}")
        return Device(self.backend_type.value)

    @property
    def device_count(self):
        """The number of such devices."""
        return sum(device.name == self.backend_type.value for device in devices())

    @property
    def device_id(self):
        """The index of this device."""
        return self._id

    def _dtype(self, dtype):
        """The device's dtype for a dtype: float64 becomes float32 if conversion was requested."""
        dtype = DType(dtype)
        reason = self.device.refuses(dtype)
        if reason is None:
            return dtype
        if dtype.name == "float64" and self._convert:
            return DType("float32")
        hint = "; convert_float64=True would make it float32" if dtype.name == "float64" else ""
        raise UnsupportedError(f"{dtype} is not available on {self.device}: {reason}{hint}")

    def _bring(self, value):
        """An argument on this device."""
        if isinstance(value, (bool, int, float)):
            return value
        return self._place(value if isinstance(value, Array) else asarray(value, device="cpu"))

    def _place(self, array):
        """An array on this device, in a supported dtype."""
        dtype = self._dtype(array.dtype)
        if array.dtype != dtype:
            # Convert where the array is: the device may not be able to read it.
            array = array.astype(dtype).eval()
        return array if array.device == self.device else array.to_device(self.device)

    def _register(self, array):
        with self._lock:
            self._buffers[id(array)] = array
        return array

    def allocate(self, shape, dtype):
        """Allocates an array on the device; its values are unspecified."""
        return self.allocate_zeros(shape, dtype)

    def allocate_zeros(self, shape, dtype):
        """Allocates an array of zeros on the device."""
        array = _native.full(shape, 0, dtype=self._dtype(dtype), device=self.device)
        return self._register(array.copy())

    def free(self, array):
        """Frees an array's memory now. The array becomes empty; arrays computed from it stay valid."""
        with self._lock:
            if not isinstance(array, Array) or self._buffers.get(id(array)) is not array:
                raise BufferError("free: this array was not allocated by this backend, or has already been freed")
            del self._buffers[id(array)]
        array._set(_native.full((0,), 0, dtype=array.dtype, device=self.device))

    def copy_to_device(self, host_array):
        """Copies a host array to the device."""
        source = asarray(host_array, device="cpu")
        placed = self._place(source)
        return self._register(placed.copy() if source.device == self.device else placed.eval())

    def copy_to_host(self, device_array):
        """Copies an array to a writable NumPy array."""
        if not isinstance(device_array, Array):
            raise ConversionError(f"copy_to_host: expected an array, not {type(device_array).__name__}")
        return device_array.numpy(copy=True)

    def synchronize(self):
        """Evaluates all pending arrays of this backend."""
        with self._lock:
            arrays = list(self._buffers.values())
        _native.eval(*arrays)

    def compile_kernel(self, kernel, signature=None, *, constants=None, shape=None):
        """A kernel for this backend: from a Python function over arrays, traced once per signature, or from source
        text in the device's language with a signature such as ``"name(float32, float32) -> float32"``."""
        if callable(kernel):
            return Kernel(kernel, self)
        if not isinstance(kernel, str):
            raise ConversionError(f"a kernel must be a function or source text, not {type(kernel).__name__}")
        if self.language is None:
            raise KernelError(f"{self.backend_type.value} only runs functions; source kernels need metal or webgpu")
        return SourceKernel(self, kernel, signature, language=self.language, constants=constants, shape=shape)

    def execute_kernel(self, kernel, grid_size, block_size, *args):
        """Runs a kernel, or a function, and waits for it. Exceptions are returned in the result."""
        if isinstance(kernel, (Kernel, SourceKernel)):
            runnable = kernel
        elif callable(kernel):
            runnable = self._known(kernel)
        else:
            raise ConversionError(f"a kernel must be a function or a compiled kernel, not {type(kernel).__name__}")
        try:
            # One at a time, so that the device's clock measures only this kernel.
            with self._launching:
                results, seconds = runnable.launch(self, grid_size, block_size, args)
                measured = self.device.last_run_seconds()
        except Exception as error:
            return KernelExecutionResult(False, 0.0, error)
        results = tuple(self._register(each) for each in results)
        clock = "host" if measured is None else "device"
        return KernelExecutionResult(True, (seconds if measured is None else measured) * 1e3, None, results, clock)

    def _known(self, function):
        """The kernel of a function, created at first use and kept while the function lives."""
        with self._lock:
            try:
                kernel = self._kernels.get(function)
                if kernel is None:
                    # A plain wrapper, so that the kernel does not keep its own key alive.
                    kernel = Kernel(_weakly(function), self)
                    kernel.name = getattr(function, "__name__", kernel.name)
                    self._kernels[function] = kernel
            except TypeError:
                kernel = Kernel(function, self)
            return kernel

    def get_memory_info(self):
        """Bytes in this backend's arrays (``allocated``), their number (``buffer_count``), and for the whole device
        the bytes cached for reuse (``cache_memory``) and the peak use (``peak_memory``)."""
        memory = self.device.memory()
        with self._lock:
            arrays = list(self._buffers.values())
        return {
            "allocated": sum(array.nbytes for array in arrays),
            "buffer_count": len(arrays),
            "cache_memory": memory["cached"],
            "peak_memory": memory["peak"],
        }

    def clear_cache(self):
        """Returns cached memory to the system."""
        self.device.trim()

    def __repr__(self):
        state = "" if self.is_available else ", not available"
        return f"<{type(self).__name__} {self._id}{state}>"


def _weakly(function):
    """Calls a function without keeping it alive."""
    reference = weakref.ref(function)

    def call(*args):
        target = reference()
        if target is None:
            raise KernelError("the function of this kernel no longer exists")
        return target(*args)

    return call


class CpuBackend(Backend):
    """The host's CPU."""

    backend_type = BackendType.CPU


class MetalBackend(Backend):
    """A Metal device: Apple's, or SoftMetal elsewhere. Source kernels are in the Metal Shading Language."""

    backend_type = BackendType.METAL
    language = "msl"


class WebGpuBackend(Backend):
    """A WebGPU device. Source kernels are in WGSL."""

    backend_type = BackendType.WEBGPU
    language = "wgsl"


def available_backends():
    """One backend per kind of device that this machine has."""
    return [made for made in (kind() for kind in (CpuBackend, MetalBackend, WebGpuBackend)) if made.is_available]

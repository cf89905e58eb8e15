"""A common interface to all devices: memory, kernels and timing.

>>> import numpy as np
>>> from wootz.compute import CpuBackend
>>> backend = CpuBackend()
>>> a = backend.copy_to_device(np.array([1, 2, 3], np.float32))
>>> result = backend.execute_kernel(lambda x: x * 2, (1,), (1,), a)
>>> backend.copy_to_host(result.results[0])
array([2., 4., 6.], dtype=float32)
"""

from .backend import (
    Backend,
    BackendType,
    CpuBackend,
    KernelExecutionResult,
    MetalBackend,
    WebGpuBackend,
    available_backends,
)
from .kernel import Kernel, SourceKernel, get_elementwise_kernel, get_matrix_multiply_kernel, get_vector_add_kernel
from .unified import UnifiedBuffer

__all__ = [
    "Backend", "BackendType", "CpuBackend", "Kernel", "KernelExecutionResult", "MetalBackend", "SourceKernel",
    "UnifiedBuffer", "WebGpuBackend", "available_backends", "get_elementwise_kernel", "get_matrix_multiply_kernel",
    "get_vector_add_kernel",
]

"""A buffer with coherent host and device views."""

import contextlib
import enum
import threading
import weakref
import zlib

from .._native import Array
from ..errors import BufferError, DTypeError, ShapeError
from .backend import CpuBackend

__all__ = ["BufferState", "UnifiedBuffer"]


class BufferState(enum.Enum):
    """The side that has the newest values."""

    UNALLOCATED = "unallocated"
    CLEAN = "clean"
    HOST_DIRTY = "host dirty"
    DEVICE_DIRTY = "device dirty"
    FREED = "freed"


class UnifiedBuffer:
    """Host and device views of one buffer.

    ``host`` is a writable NumPy array; ``device`` is an array on the device. Reading a side brings it up to
    date first. While a writable view of the host side exists, the host side counts as written, so that no
    write is lost; :meth:`host_write` delimits writes exactly. Assigning to ``device`` makes the device side the
    newest. Writing both sides at once is an error. All methods may be called from many threads.
    """

    def __init__(self, shape, dtype="float32", *, backend=None):
        self._backend = backend if backend is not None else CpuBackend()
        self._shape = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
        self._dtype = self._backend._dtype(dtype)
        self._lock = threading.RLock()
        self._state = BufferState.UNALLOCATED
        self._host = None
        self._device = None
        #: The writable view that was handed out, while it is alive.
        self._view = None
        #: Contents of the host side when the device side became the newest, if the host could still be written.
        self._seen = None

    shape = property(lambda self: self._shape, doc="The extent of each axis.")
    dtype = property(lambda self: self._dtype, doc="The element type.")
    backend = property(lambda self: self._backend, doc="The backend that holds the device side.")

    @property
    def state(self):
        """The side that has the newest values."""
        with self._lock:
            self._notice()
            return self._state

    def allocate(self):
        """Allocates both sides, filled with zeros. The first use does this too."""
        import numpy

        with self._lock:
            self._alive()
            if self._state is BufferState.UNALLOCATED:
                self._host = numpy.zeros(self._shape, self._dtype.name)
                self._device = self._backend.allocate_zeros(self._shape, self._dtype)
                self._state = BufferState.CLEAN
        return self

    def free(self):
        """Frees the memory. The buffer cannot be used any more."""
        with self._lock:
            self._alive()
            self._host = self._device = self._view = None
            self._state = BufferState.FREED

    def _alive(self):
        if self._state is BufferState.FREED:
            raise BufferError("this UnifiedBuffer has been freed")

    def _ready(self):
        self._alive()
        self.allocate()
        self._notice()

    def _held(self):
        """Whether a writable view of the host side is alive."""
        return self._view is not None and self._view() is not None

    def _notice(self):
        """A live writable view may have been written to."""
        if self._state is BufferState.CLEAN and self._held():
            self._state = BufferState.HOST_DIRTY

    def _digest(self):
        return zlib.crc32(self._host.tobytes())

    def _to_host(self):
        if self._state is BufferState.DEVICE_DIRTY:
            if self._seen is not None and self._digest() != self._seen:
                raise BufferError("the host side was written through an old view after the device side was modified: both sides have new values")
            self._host[...] = self._device.numpy()
            self._seen = None
            self._state = BufferState.CLEAN

    def _to_device(self):
        if self._state is BufferState.HOST_DIRTY:
            self._device = self._backend.copy_to_device(self._host)
            self._state = BufferState.HOST_DIRTY if self._held() else BufferState.CLEAN

    @property
    def host(self):
        """The values as a writable NumPy array, up to date."""
        with self._lock:
            self._ready()
            self._to_host()
            view = self._view() if self._view is not None else None
            if view is None:
                view = self._host.view()
                self._view = weakref.ref(view)
            self._state = BufferState.HOST_DIRTY
            return view

    @property
    def host_read(self):
        """The values as a read-only NumPy array, up to date."""
        with self._lock:
            self._ready()
            self._to_host()
            view = self._host.view()
            view.flags.writeable = False
            return view

    @contextlib.contextmanager
    def host_write(self):
        """The host side for writing; other threads wait. Afterwards the host side is the newest."""
        with self._lock:
            self._ready()
            self._to_host()
            view = self._host.view()
            try:
                yield view
            finally:
                view.flags.writeable = False
                if self._state is not BufferState.FREED:
                    self._state = BufferState.HOST_DIRTY

    @property
    def device(self):
        """The values as an array on the device, up to date."""
        with self._lock:
            self._ready()
            self._to_device()
            return self._device

    @device.setter
    def device(self, array):
        with self._lock:
            self._ready()
            if not isinstance(array, Array):
                raise DTypeError(f"the device side must be an array, not {type(array).__name__}")
            if array.shape != self._shape:
                raise ShapeError(f"got an array of shape {array.shape} for a buffer of shape {self._shape}")
            if array.dtype != self._dtype:
                raise DTypeError(f"got an array of {array.dtype} for a buffer of {self._dtype}")
            self._device = self._backend._bring(array)
            self._mark_device()

    @property
    def metal(self):
        """The device side, if it is on Metal."""
        if self._backend.backend_type.value != "metal":
            raise BufferError(f"this buffer is on {self._backend.backend_type.value}, not on metal")
        return self.device

    def update(self, function):
        """Replaces the device side with a function of it; other threads wait."""
        with self._lock:
            self.device = function(self.device)
        return self

    def _mark_device(self):
        self._state = BufferState.DEVICE_DIRTY
        self._seen = self._digest() if self._held() else None

    def mark_host_dirty(self):
        """Marks the host side as modified."""
        with self._lock:
            self._ready()
            if self._state is BufferState.DEVICE_DIRTY:
                raise BufferError("the device side has values that the host side does not have yet: both sides would have new values")
            self._state = BufferState.HOST_DIRTY

    def mark_device_dirty(self):
        """Marks the device side as modified."""
        with self._lock:
            self._ready()
            self._mark_device()

    mark_metal_dirty = mark_device_dirty

    def synchronize(self):
        """Brings both sides up to date."""
        with self._lock:
            self._ready()
            self._to_host()
            self._to_device()

    def __repr__(self):
        return f"<UnifiedBuffer {self._dtype}{list(self._shape)} on {self._backend.backend_type.value}, {self._state.value}>"

//! Buffers: shared ownership of device memory.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A block of device memory. Dropping it frees the memory.
pub trait DeviceMemory: Any + Send + Sync {
    /// Usable bytes.
    fn len(&self) -> usize;

    /// Whether its size is zero.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, if the host can read them in place. Called by [`Buffer::host_bytes`], which ensures that nothing
    /// writes them from then on.
    fn host_bytes(&self) -> Option<&[u8]>;

    /// Whether it is imported memory, which must not be written.
    fn is_imported(&self) -> bool {
        false
    }
}

/// A handle to device memory; clones share it.
#[derive(Clone)]
pub struct Buffer(Arc<Shared<dyn DeviceMemory>>);

struct Shared<M: ?Sized> {
    /// Whether the host may hold a slice of the bytes.
    exposed: AtomicBool,
    memory: M,
}

impl Buffer {
    /// A handle to this memory.
    pub fn new(memory: impl DeviceMemory) -> Buffer {
        Buffer(Arc::new(Shared { exposed: AtomicBool::new(false), memory }))
    }

    /// Usable bytes.
    pub fn len(&self) -> usize {
        self.0.memory.len()
    }

    /// Whether its size is zero.
    pub fn is_empty(&self) -> bool {
        self.0.memory.is_empty()
    }

    /// The device's own type behind the handle.
    pub fn memory<M: DeviceMemory>(&self) -> Option<&M> {
        (&self.0.memory as &dyn Any).downcast_ref()
    }

    /// The bytes, if the host can read them in place. A slice may live as long as any handle, so the buffer is
    /// read-only from now on: see [`Buffer::is_writable`].
    pub fn host_bytes(&self) -> Option<&[u8]> {
        // The order matters to a thread that asks whether it may write: it must see this before anyone reads.
        self.0.exposed.store(true, Ordering::SeqCst);
        self.0.memory.host_bytes()
    }

    /// Whether uploads and plans may write the memory: it is the device's own, and its bytes were never given out for
    /// reading in place. Devices refuse to write any other buffer.
    pub fn is_writable(&self) -> bool {
        !self.0.memory.is_imported() && !self.0.exposed.load(Ordering::SeqCst)
    }

    /// Whether this is the only handle.
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}

//! Buffers: shared ownership of device memory.

use std::any::Any;
use std::sync::Arc;

/// A device's piece of memory. Dropping it gives the memory back.
pub trait DeviceMemory: Any + Send + Sync {
    /// Usable bytes.
    fn len(&self) -> usize;

    /// True when there is nothing in it.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, where the host can read them in place and no work is writing them.
    fn host_bytes(&self) -> Option<&[u8]>;
}

/// A handle to device memory; clones share it.
#[derive(Clone)]
pub struct Buffer(Arc<dyn DeviceMemory>);

impl Buffer {
    /// A handle to this memory.
    pub fn new(memory: impl DeviceMemory) -> Buffer {
        Buffer(Arc::new(memory))
    }

    /// Usable bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The device's own type behind the handle.
    pub fn memory<M: DeviceMemory>(&self) -> Option<&M> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// The bytes, where the host can read them in place.
    pub fn host_bytes(&self) -> Option<&[u8]> {
        self.0.host_bytes()
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

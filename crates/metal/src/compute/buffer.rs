//! Buffers that host and kernels access in turn.

use super::Device;
use crate::memory::MetalMemory;
use bytemuck::{AnyBitPattern, NoUninit};
use parking_lot::Mutex;
use std::marker::PhantomData;
use std::sync::Arc;
use wootz_backend::DeviceMemory;
use wootz_ir::Result;

/// Device memory. Clones share it; the last one returns it to the pool.
#[derive(Clone)]
pub struct Buffer(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub device: Device,
    pub memory: MetalMemory,
    use_: Mutex<Use>,
}

/// The current owner of the buffer.
#[derive(Default)]
struct Use {
    readers: usize,
    runs: usize,
}

impl Buffer {
    pub(super) fn new(device: &Device, memory: MetalMemory) -> Buffer {
        Buffer(Arc::new(Inner { device: device.clone(), memory, use_: Mutex::default() }))
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.memory.len()
    }

    /// Always false: buffers have at least one byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The content in place, as values; a rest shorter than a value is left out. An error while a batch uses the buffer, or where the host
    /// cannot see it.
    pub fn read<T: AnyBitPattern>(&self) -> Result<Contents<'_, T>> {
        let start = self.host("read")?;
        let mut use_ = self.0.use_.lock();
        if use_.runs > 0 {
            return Err(self.0.device.error("read: a batch that uses the buffer has not completed".into()));
        }
        use_.readers += 1;
        Ok(Contents {
            buffer: self,
            start: start.cast(),
            length: self.len() / size_of::<T>().max(1),
            _values: PhantomData,
        })
    }

    /// Copies values to the start of the buffer.
    pub fn write<T: NoUninit>(&self, values: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if bytes.len() > self.len() {
            let detail = format!("write: {} bytes exceed a buffer of {}", bytes.len(), self.len());
            return Err(self.0.device.error(detail));
        }
        let start = self.host("write")?;
        let use_ = self.0.use_.lock();
        if use_.runs > 0 || use_.readers > 0 {
            let detail = "write: the buffer is being read, or a batch that uses it has not completed".into();
            return Err(self.0.device.error(detail));
        }
        // SAFETY: the length was checked, and the lock keeps readers and batches away.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
        Ok(())
    }

    fn host(&self, what: &str) -> Result<*mut u8> {
        self.0.memory.start().ok_or_else(|| {
            self.0.device.error(format!(
                "{what}: a private buffer is not accessible from the host; copy it with a kernel"
            ))
        })
    }

    /// Lends the buffer to a batch until the guard is dropped.
    pub(super) fn lend(&self) -> Result<Lent> {
        let mut use_ = self.0.use_.lock();
        if use_.readers > 0 {
            return Err(self.0.device.error("a batch cannot use a buffer that is being read".into()));
        }
        use_.runs += 1;
        drop(use_);
        Ok(Lent(self.clone()))
    }
}

/// A buffer lent to a batch.
pub(super) struct Lent(Buffer);

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.0.use_.lock().runs -= 1;
    }
}

/// A buffer's content, read in place. No batch can use the buffer while this is held.
pub struct Contents<'a, T> {
    buffer: &'a Buffer,
    start: *const T,
    length: usize,
    _values: PhantomData<&'a [T]>,
}

impl<T: AnyBitPattern> std::ops::Deref for Contents<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory has that many values, starts at a page, is initialised by the device, and nobody writes it while
        // this reader is counted.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl<T> Drop for Contents<'_, T> {
    fn drop(&mut self) {
        self.buffer.0.use_.lock().readers -= 1;
    }
}

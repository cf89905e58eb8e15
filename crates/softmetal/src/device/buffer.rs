//! Device memory.

use crate::check::Shadow;
use crate::error::{Error, Result};
use bytemuck::{AnyBitPattern, NoUninit};
use parking_lot::Mutex;
use std::sync::Arc;

/// The visibility of a buffer's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageMode {
    /// Host and device.
    Shared,
    /// The device alone; the host copies with a blit.
    Private,
}

/// Memory that kernels can use. Cloning gives another handle to the same memory.
#[derive(Debug, Clone)]
pub struct Buffer(pub(crate) Arc<BufferInner>);

pub(crate) struct BufferInner {
    pub pointer: *mut u8,
    pub length: usize,
    pub mode: StorageMode,
    pub label: Mutex<String>,
    map_length: usize,
    shadow: Option<Arc<Shadow>>,
    _owner: Option<Box<dyn std::any::Any + Send + Sync>>,
}

impl std::fmt::Debug for BufferInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer")
            .field("length", &self.length)
            .field("mode", &self.mode)
            .field("label", &*self.label.lock())
            .finish_non_exhaustive()
    }
}

// SAFETY: the memory is valid for the life of the value; host accesses go through methods that copy,
// or through `contents`, whose callers synchronise with the device as Metal asks.
unsafe impl Send for BufferInner {}
// SAFETY: shared references reach the memory only by methods that copy, or by `contents`, whose callers
// synchronise with the device as Metal asks.
unsafe impl Sync for BufferInner {}

const PAGE: usize = 16 << 10;
/// Unreachable bytes around checked buffers, so that a wild index meets no other buffer.
const RED_ZONE: usize = 64 << 10;

impl Buffer {
    pub(crate) fn allocate(length: usize, mode: StorageMode, shadow: Option<Arc<Shadow>>) -> Result<Buffer> {
        let red = if shadow.is_some() { RED_ZONE } else { 0 };
        let body = length.div_ceil(PAGE) * PAGE;
        let map_length = body + 2 * red;
        // SAFETY: a fresh private mapping.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                map_length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(Error::Invalid(format!(
                "out of memory: a buffer of {length} bytes ({})",
                std::io::Error::last_os_error()
            )));
        }
        let pointer = map.cast::<u8>().wrapping_add(red);
        Ok(Buffer::register(BufferInner {
            pointer,
            length,
            mode,
            label: Mutex::default(),
            map_length,
            shadow,
            _owner: None,
        }))
    }

    pub(crate) fn wrap(
        pointer: *mut u8,
        length: usize,
        owner: Box<dyn std::any::Any + Send + Sync>,
        shadow: Option<Arc<Shadow>>,
    ) -> Buffer {
        Buffer::register(BufferInner {
            pointer,
            length,
            mode: StorageMode::Shared,
            label: Mutex::default(),
            map_length: 0,
            shadow,
            _owner: Some(owner),
        })
    }

    fn register(inner: BufferInner) -> Buffer {
        if let Some(s) = &inner.shadow {
            s.add(inner.pointer as usize, inner.length);
        }
        Buffer(Arc::new(inner))
    }

    /// Length in bytes.
    pub fn length(&self) -> usize {
        self.0.length
    }

    /// Storage mode.
    pub fn storage_mode(&self) -> StorageMode {
        self.0.mode
    }

    /// A name for reports.
    pub fn set_label(&self, label: &str) {
        *self.0.label.lock() = label.to_string();
    }

    /// The memory, or null for a private buffer. The caller synchronises with running command buffers.
    pub fn contents(&self) -> *mut u8 {
        match self.0.mode {
            StorageMode::Shared => self.0.pointer,
            StorageMode::Private => std::ptr::null_mut(),
        }
    }

    /// The address that kernels see.
    pub fn gpu_address(&self) -> u64 {
        self.0.pointer as u64
    }

    /// Copies bytes into a shared buffer.
    pub fn write_bytes(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.host_range(offset, bytes.len())?;
        // SAFETY: the range was checked.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.pointer.add(offset), bytes.len()) };
        Ok(())
    }

    /// Copies bytes out of a shared buffer.
    pub fn read_bytes(&self, offset: usize, length: usize) -> Result<Vec<u8>> {
        self.host_range(offset, length)?;
        let mut out = vec![0u8; length];
        // SAFETY: the range was checked.
        unsafe { std::ptr::copy_nonoverlapping(self.0.pointer.add(offset), out.as_mut_ptr(), length) };
        Ok(out)
    }

    /// Copies values into a shared buffer from its start.
    pub fn write<T: NoUninit>(&self, values: &[T]) -> Result<()> {
        self.write_bytes(0, bytemuck::cast_slice(values))
    }

    /// Copies the whole buffer out as values; a rest shorter than a value is left out.
    pub fn read<T: AnyBitPattern>(&self) -> Result<Vec<T>> {
        let n = self.0.length / size_of::<T>();
        let bytes = self.read_bytes(0, n * size_of::<T>())?;
        Ok(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
    }

    fn host_range(&self, offset: usize, length: usize) -> Result<()> {
        if self.0.mode == StorageMode::Private {
            return Err(Error::Invalid(
                "the host cannot reach a private buffer; copy with a blit encoder".into(),
            ));
        }
        self.range(offset, length)
    }

    pub(crate) fn range(&self, offset: usize, length: usize) -> Result<()> {
        if offset.checked_add(length).is_none_or(|end| end > self.0.length) {
            return Err(Error::Invalid(format!(
                "bytes {offset}..+{length} are outside the buffer of {} bytes",
                self.0.length
            )));
        }
        Ok(())
    }
}

impl Drop for BufferInner {
    fn drop(&mut self) {
        if let Some(s) = &self.shadow {
            s.remove(self.pointer as usize);
        }
        if self.map_length > 0 {
            let red = if self.shadow.is_some() { RED_ZONE } else { 0 };
            // SAFETY: the mapping of `allocate`, which nobody uses any more.
            unsafe { libc::munmap(self.pointer.wrapping_sub(red).cast(), self.map_length) };
        }
    }
}

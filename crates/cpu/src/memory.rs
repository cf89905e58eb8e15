//! Host memory as device memory: pooled blocks, and memory that others own.

use std::alloc::{Layout, alloc, dealloc};
use std::sync::Arc;
use wootz_backend::{Buffer, DeviceMemory, HostMemory, Pool};

/// Every buffer starts on a cache line, large ones on a page.
const LINE: usize = 64;
const PAGE: usize = 4096;
/// Blocks of this size and more ask the system for huge pages.
const HUGE: usize = 4 << 20;

/// A block from the system.
pub(crate) struct Block {
    start: *mut u8,
    size: usize,
}

// SAFETY: a block is owned memory without ties to a thread.
unsafe impl Send for Block {}
// SAFETY: a block itself only hands out its address; accesses through it are synchronised by the run that makes them.
unsafe impl Sync for Block {}

impl Block {
    fn layout(size: usize) -> Option<Layout> {
        Layout::from_size_align(size, if size >= PAGE { PAGE } else { LINE }).ok()
    }

    pub fn new(size: usize) -> Option<Block> {
        let layout = Block::layout(size.max(1))?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return None;
        }
        #[cfg(target_os = "linux")]
        if size >= HUGE {
            // SAFETY: the range was just allocated and starts on a page; advice changes no content.
            unsafe { libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = HUGE;
        Some(Block { start, size: size.max(1) })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let layout = Block::layout(self.size).expect("the layout was valid when the block was made");
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start, layout) };
    }
}

/// A buffer of the CPU device.
pub(crate) struct CpuMemory {
    bytes: usize,
    held: Held,
}

enum Held {
    /// From the pool, and back to it on drop.
    Pooled { block: Option<Block>, size: usize, pool: Arc<Pool<Block>> },
    /// Someone else's.
    Imported(HostMemory),
}

impl CpuMemory {
    /// Uninitialised memory from the pool.
    pub fn pooled(pool: &Arc<Pool<Block>>, bytes: usize) -> Option<CpuMemory> {
        let (block, size) = pool.take(bytes, Block::new)?;
        Some(CpuMemory { bytes, held: Held::Pooled { block: Some(block), size, pool: pool.clone() } })
    }

    pub fn imported(memory: HostMemory) -> CpuMemory {
        CpuMemory { bytes: memory.bytes().len(), held: Held::Imported(memory) }
    }

    /// The first byte. Writing needs the right to: the buffer is a result, scratch, or donated.
    pub fn start(&self) -> *mut u8 {
        match &self.held {
            Held::Pooled { block, .. } => block.as_ref().map_or(std::ptr::null_mut(), |b| b.start),
            Held::Imported(memory) => memory.bytes().as_ptr().cast_mut(),
        }
    }

    /// Whether the memory is ours to write.
    pub fn is_writable(&self) -> bool {
        matches!(self.held, Held::Pooled { .. })
    }
}

impl Drop for CpuMemory {
    fn drop(&mut self) {
        if let Held::Pooled { block, size, pool } = &mut self.held
            && let Some(block) = block.take()
        {
            pool.give(block, *size);
        }
    }
}

impl DeviceMemory for CpuMemory {
    fn len(&self) -> usize {
        self.bytes
    }

    fn host_bytes(&self) -> Option<&[u8]> {
        // SAFETY: runs end before their results can be seen, and a donated buffer has no other reader by contract; so
        // nobody writes while this borrow lives. Pooled blocks are plain bytes; every result is fully written.
        Some(unsafe { std::slice::from_raw_parts(self.start(), self.bytes) })
    }
}

/// The CPU memory behind a buffer.
pub(crate) fn memory(buffer: &Buffer) -> Option<&CpuMemory> {
    buffer.memory::<CpuMemory>()
}

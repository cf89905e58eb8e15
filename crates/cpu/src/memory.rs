//! Host memory as device memory: pooled blocks, and imported memory.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::UnsafeCell;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Once};
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
    /// For memory that has no content yet: when it got some.
    blank: Option<Once>,
}

/// Bytes that fit in a buffer's handle: sixteen floats.
const INLINE: usize = 64;

enum Held {
    /// In the handle itself, which needs neither a block nor a lock.
    Inline(UnsafeCell<[u64; INLINE / 8]>),
    /// From the pool, and back to it on drop.
    Pooled { block: Option<Block>, size: usize, pool: Arc<Pool<Block>> },
    /// Imported memory: its address when it was imported, whatever its owner reports later.
    Imported { start: *const u8, _owner: HostMemory },
}

// SAFETY: pooled and inline memory is owned, and imported memory is kept alive by an owner that may be sent and shared.
unsafe impl Send for CpuMemory {}
// SAFETY: a shared handle gives out the address only; runs and uploads synchronise their accesses, and imported memory is
// never written.
unsafe impl Sync for CpuMemory {}

impl CpuMemory {
    /// Memory from the pool for a run, which writes it before anyone reads it.
    pub fn for_run(pool: &Arc<Pool<Block>>, bytes: usize) -> Option<CpuMemory> {
        let (block, size) = pool.take(bytes, Block::new)?;
        let held = Held::Pooled { block: Some(block), size, pool: pool.clone() };
        Some(CpuMemory { bytes, held, blank: None })
    }

    /// Memory from the pool for the caller: zeros, as far as nothing is uploaded.
    pub fn for_caller(pool: &Arc<Pool<Block>>, bytes: usize) -> Option<CpuMemory> {
        let mut memory = CpuMemory::for_run(pool, bytes)?;
        memory.blank = Some(Once::new());
        Some(memory)
    }

    /// Memory in the handle itself, for a run that writes it before anyone reads it; `None` for more than fits.
    pub fn inline(bytes: usize) -> Option<CpuMemory> {
        let held = Held::Inline(UnsafeCell::new([0; INLINE / 8]));
        (bytes <= INLINE).then_some(CpuMemory { bytes, held, blank: None })
    }

    pub fn imported(memory: HostMemory) -> CpuMemory {
        // An owner need not say the same each time, so it is asked once.
        let bytes = memory.bytes();
        let (start, bytes) = (bytes.as_ptr(), bytes.len());
        CpuMemory { bytes, held: Held::Imported { start, _owner: memory }, blank: None }
    }

    /// Sees to it that every byte has a value. `whole` may give them all; what it leaves out is zero.
    pub fn fill(&self, whole: Option<&[u8]>) {
        let Some(blank) = &self.blank else { return };
        blank.call_once(|| match whole {
            // SAFETY: the block has room for `bytes` bytes, and nobody has looked at it yet: everyone comes by here first.
            Some(bytes) if bytes.len() == self.bytes => unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start(), self.bytes);
            },
            // SAFETY: the block has room for `bytes` bytes, and nobody has looked at it yet.
            _ => unsafe { self.start().write_bytes(0, self.bytes) },
        });
    }

    /// The first byte. Writing needs the right to: the buffer is a result, scratch, or donated.
    pub fn start(&self) -> *mut u8 {
        match &self.held {
            Held::Inline(words) => words.get().cast(),
            Held::Pooled { block, .. } => block.as_ref().map_or(std::ptr::null_mut(), |b| b.start),
            Held::Imported { start, .. } => start.cast_mut(),
        }
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
        self.fill(None);
        // SAFETY: every byte has a value: results are fully written before they can be seen, other pooled memory was just
        // filled, and imported memory is valid while its owner lives. Nobody writes while this borrow lives, because a
        // buffer whose bytes were given out is not writable (see `Buffer::is_writable`).
        Some(unsafe { std::slice::from_raw_parts(self.start(), self.bytes) })
    }

    fn is_imported(&self) -> bool {
        matches!(self.held, Held::Imported { .. })
    }
}

/// The bytes of a buffer of the CPU, for whoever holds its only handle; `None` if there are other handles, if it is memory of
/// somebody else, or if the host may still be reading it in place.
pub fn own_bytes(buffer: &mut Buffer) -> Option<&mut [u8]> {
    if !buffer.is_unique() || !buffer.is_writable() {
        return None;
    }
    let memory = memory(buffer)?;
    memory.fill(None);
    // What other handles' threads did comes before what is done with the bytes.
    fence(Ordering::Acquire);
    // SAFETY: every byte has a value, and nobody else can reach them: this is the only handle, which the result borrows, and no
    // slice was given out before.
    Some(unsafe { std::slice::from_raw_parts_mut(memory.start(), memory.bytes) })
}

/// The CPU memory behind a buffer.
pub(crate) fn memory(buffer: &Buffer) -> Option<&CpuMemory> {
    buffer.memory::<CpuMemory>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wootz_backend::PoolLimits;

    const LIMITS: PoolLimits = PoolLimits { live: 1 << 20, cached: 0, blocks: 0 };

    fn buffer(bytes: usize) -> Buffer {
        let memory =
            CpuMemory::inline(bytes).or_else(|| CpuMemory::for_caller(&Arc::new(Pool::new(LIMITS)), bytes));
        Buffer::new(memory.expect("a few bytes"))
    }

    #[test]
    fn only_the_only_handle_gives_bytes_to_write() {
        for bytes in [8, 100] {
            let mut one = buffer(bytes);
            own_bytes(&mut one).expect("nobody else has a handle")[3] = 7;
            assert_eq!(
                own_bytes(&mut one).map(|bytes| (bytes.len(), bytes[2], bytes[3])),
                Some((bytes, 0, 7))
            );
            let other = one.clone();
            assert!(own_bytes(&mut one).is_none(), "two handles");
            drop(other);
            assert!(own_bytes(&mut one).is_some());
            assert_eq!(one.host_bytes().map(|bytes| bytes[3]), Some(7));
            assert!(own_bytes(&mut one).is_none(), "its bytes were given out");
        }
        let mut foreign = Buffer::new(CpuMemory::imported(HostMemory::new(vec![0u8; 100])));
        assert!(own_bytes(&mut foreign).is_none(), "somebody else's memory");
    }
}

//! Shadow memory: the last writer and reader of each byte of device memory. Flat arrays, mapped lazily.

use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The last access to a byte: group number, thread, barrier counts, and a flag, in one word. Zero means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    /// Packs the fields; `flag` means "atomic" for writes and "several readers" for reads.
    pub fn new(group: u32, thread: u32, (epoch, simd_epoch): (u32, u32), flag: bool) -> Stamp {
        Stamp(
            u64::from(group) << 32
                | u64::from(thread & 1023) << 22
                | u64::from(epoch & 2047) << 11
                | u64::from(simd_epoch & 1023) << 1
                | u64::from(flag),
        )
    }

    /// Number of the group, unique over all dispatches.
    pub fn group(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Index of the thread in its group.
    pub fn thread(self) -> u32 {
        (self.0 >> 22 & 1023) as u32
    }

    fn epochs(self) -> (u64, u64) {
        (self.0 >> 11 & 2047, self.0 >> 1 & 1023)
    }

    /// The flag.
    pub fn flag(self) -> bool {
        self.0 & 1 == 1
    }

    /// The same with the flag set.
    pub fn flagged(self) -> Stamp {
        Stamp(self.0 | 1)
    }

    /// Whether two accesses of one group are ordered by a barrier, or belong to one thread.
    pub fn ordered_in_group(self, other: Stamp, simd_width: u32) -> bool {
        let ((e1, s1), (e2, s2)) = (self.epochs(), other.epochs());
        self.thread() == other.thread()
            || e1 != e2
            || (self.thread() / simd_width == other.thread() / simd_width && s1 != s2)
    }
}

/// The last write and the last read of one byte.
#[derive(Debug, Default)]
pub struct Cell {
    write: AtomicU64,
    read: AtomicU64,
}

impl Cell {
    /// The last write.
    pub fn write(&self) -> Stamp {
        Stamp(self.write.load(Ordering::Relaxed))
    }

    /// The last read.
    pub fn read(&self) -> Stamp {
        Stamp(self.read.load(Ordering::Relaxed))
    }

    /// Sets the last write.
    pub fn set_write(&self, s: Stamp) {
        self.write.store(s.0, Ordering::Relaxed);
    }

    /// Sets the last read.
    pub fn set_read(&self, s: Stamp) {
        self.read.store(s.0, Ordering::Relaxed);
    }
}

/// The cells of a range of memory.
#[derive(Debug)]
pub struct Cells {
    map: *mut Cell,
    count: usize,
}

// SAFETY: the cells are atomics; the mapping lives as long as the value.
unsafe impl Send for Cells {}
// SAFETY: the cells are atomics; the mapping lives as long as the value.
unsafe impl Sync for Cells {}

impl Cells {
    /// One cell per byte, all zero; pages come on first use.
    pub fn new(count: usize) -> Option<Cells> {
        let len = count.max(1) * size_of::<Cell>();
        // SAFETY: a fresh private mapping of zeros, which is a valid value of atomics.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        (map != libc::MAP_FAILED).then_some(Cells { map: map.cast(), count })
    }

    /// The cells of bytes `from..from + n`, cut at the end.
    pub fn range(&self, from: usize, n: usize) -> &[Cell] {
        let end = (from + n).min(self.count);
        let from = from.min(end);
        // SAFETY: the range lies in the mapping.
        unsafe { std::slice::from_raw_parts(self.map.add(from), end - from) }
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`.
        unsafe { libc::munmap(self.map.cast(), self.count.max(1) * size_of::<Cell>()) };
    }
}

/// A buffer's memory with its cells.
#[derive(Debug)]
pub struct Allocation {
    /// First address.
    pub start: usize,
    /// One cell per byte; `None` when the system gave no room.
    pub cells: Option<Cells>,
    /// Groups below this number are ordered before what comes now, by a barrier for this buffer.
    ordered: AtomicU32,
}

impl Allocation {
    /// The first group since the last barrier, where `section` is that of the last one for all buffers.
    pub fn section(&self, section: u32) -> u32 {
        section.max(self.ordered.load(Ordering::Relaxed))
    }
}

/// All device memory of a checked device.
#[derive(Debug)]
pub struct Shadow {
    allocations: RwLock<Vec<Arc<Allocation>>>,
    next_group: AtomicU32,
}

impl Shadow {
    /// Nothing allocated yet.
    pub fn new() -> Shadow {
        Shadow { allocations: RwLock::default(), next_group: AtomicU32::new(1) }
    }

    /// Registers a buffer.
    pub fn add(&self, start: usize, length: usize) {
        self.allocations.write().push(Arc::new(Allocation {
            start,
            cells: Cells::new(length),
            ordered: AtomicU32::new(0),
        }));
    }

    /// Forgets a buffer.
    pub fn remove(&self, start: usize) {
        self.allocations.write().retain(|a| a.start != start);
    }

    /// The buffer that starts at an address.
    pub fn find(&self, start: usize) -> Option<Arc<Allocation>> {
        self.allocations.read().iter().find(|a| a.start == start).cloned()
    }

    /// Orders everything so far before what comes next, for one buffer.
    pub fn order(&self, start: usize) {
        if let Some(allocation) = self.find(start) {
            allocation.ordered.store(self.next_group(), Ordering::Relaxed);
        }
    }

    /// The number that the next group will get.
    pub fn next_group(&self) -> u32 {
        self.next_group.load(Ordering::Relaxed)
    }

    /// Reserves numbers for the groups of a dispatch.
    pub fn reserve(&self, groups: u32) -> u32 {
        self.next_group.fetch_add(groups, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_keep_their_fields_and_order() {
        let a = Stamp::new(7, 1023, (3, 9), false);
        assert_eq!((a.group(), a.thread(), a.flag(), a.flagged().flag()), (7, 1023, false, true));
        let b = Stamp::new(7, 1, (3, 9), false);
        assert!(!a.ordered_in_group(b, 32));
        assert!(a.ordered_in_group(Stamp::new(7, 1, (4, 9), false), 32));
        assert!(a.ordered_in_group(Stamp::new(7, 1000, (3, 10), false), 32));
        assert!(!a.ordered_in_group(Stamp::new(7, 1, (3, 10), false), 32));
    }
}

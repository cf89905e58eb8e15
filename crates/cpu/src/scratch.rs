//! Scratch memory for kernels, aligned for vector loads, in huge pages if it is large.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use wootz_backend::inject::{Point, fails};

/// The payload of the unwind out of a kernel that got no working memory, in bytes. The device makes an error of it.
pub(crate) struct NoMemory(pub usize);

impl NoMemory {
    /// Leaves the kernel.
    pub fn raise(self) -> ! {
        // Not a mistake that a panic hook would have to tell of.
        std::panic::resume_unwind(Box::new(self))
    }
}

/// Alignment of everything in a [`Scratch`]: one cache line, one AVX-512 register.
pub const ALIGN: usize = 64;
/// The size of a huge page on x86-64 and (with 4 kB pages) on ARM.
const HUGE: usize = 2 << 20;

/// The alignment that an allocation of `bytes` should have: that of huge pages, if it is worth one.
pub const fn alignment_for(bytes: usize) -> usize {
    if bytes >= HUGE { HUGE } else { ALIGN }
}

/// Asks the system to back the huge pages inside this memory by huge pages: fewer page faults at first touch,
/// fewer TLB misses later. Only a hint; call it before the first touch.
///
/// # Safety
/// The `bytes` from `start` on are one allocation of the caller's.
pub unsafe fn advise_huge_pages(start: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    if bytes >= HUGE {
        let first = (start as usize).next_multiple_of(HUGE);
        let length = (start as usize + bytes).saturating_sub(first) / HUGE * HUGE;
        // SAFETY: the range lies inside the caller's memory, and the advice changes no contents. A refusal
        // leaves everything as it was.
        unsafe { libc::madvise(first as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

/// A growing block of aligned memory.
pub struct Scratch {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: it owns plain memory; nothing about it is tied to a thread.
unsafe impl Send for Scratch {}

impl Scratch {
    /// No memory yet.
    pub const fn new() -> Self {
        Scratch { start: std::ptr::null_mut(), bytes: 0 }
    }

    /// At least `bytes` bytes, aligned to [`ALIGN`]; the contents are what the last user left, or zeros.
    pub fn reserve(&mut self, bytes: usize) -> *mut u8 {
        if bytes > self.bytes {
            self.free();
            let layout = Self::layout(bytes);
            self.start = match fails(Point::Memory) {
                true => std::ptr::null_mut(),
                // SAFETY: the layout has a size above 0, because `bytes` is above what we had.
                false => unsafe { alloc_zeroed(layout) },
            };
            if self.start.is_null() {
                NoMemory(bytes).raise();
            }
            // SAFETY: allocated just now, with this size.
            unsafe { advise_huge_pages(self.start, bytes) };
            self.bytes = bytes;
        }
        self.start
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, alignment_for(bytes)).expect("scratch sizes are far below isize::MAX")
    }

    fn free(&mut self) {
        if self.bytes > 0 {
            // SAFETY: allocated in `reserve` with exactly this layout.
            unsafe { dealloc(self.start, Self::layout(self.bytes)) };
            self.bytes = 0;
        }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.free();
    }
}

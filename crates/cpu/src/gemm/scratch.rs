//! Working memory for packed panels, aligned for vector loads and reused between calls.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Alignment of everything in a [`Scratch`]: one cache line, one AVX-512 register.
pub const ALIGN: usize = 64;

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
            // SAFETY: the layout has a size above 0, because `bytes` is above what we had.
            self.start = unsafe { alloc_zeroed(layout) };
            if self.start.is_null() {
                handle_alloc_error(layout);
            }
            self.bytes = bytes;
        }
        self.start
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, ALIGN).expect("scratch sizes are far below isize::MAX")
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

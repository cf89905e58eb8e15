//! Memory that a worker reuses from step to step and run to run.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;

const ALIGNMENT: usize = 64;

/// A growing, aligned piece of memory, handed out in stack order.
pub struct Workspace {
    base: *mut u8,
    size: usize,
    used: usize,
    /// Pieces outgrown while some of them were in use; freed at the next reset.
    retired: Vec<(*mut u8, usize)>,
}

impl Workspace {
    const fn new() -> Workspace {
        // Slices of nothing are aligned too.
        let base = std::ptr::without_provenance_mut(ALIGNMENT);
        Workspace { base, size: 0, used: 0, retired: Vec::new() }
    }

    /// `bytes` of uninitialised memory, aligned for any vector, valid until the workspace is reset.
    pub fn reserve(&mut self, bytes: usize) -> *mut u8 {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        if self.used + bytes > self.size {
            self.grow(bytes);
        }
        // SAFETY: there is room for `bytes` more behind `used`.
        let pointer = unsafe { self.base.add(self.used) };
        self.used += bytes;
        pointer
    }

    /// `n` values of a plain type.
    pub fn slice<T: bytemuck::Pod>(&mut self, n: usize) -> &'static mut [T] {
        let pointer = self.reserve(n * size_of::<T>()).cast::<T>();
        // SAFETY: fresh, aligned memory of the right size that no one else has; zeroed, so initialised. It outlives
        // its use because workspaces are reset only between steps and freed only with their thread.
        unsafe {
            pointer.write_bytes(0, n);
            std::slice::from_raw_parts_mut(pointer, n)
        }
    }

    /// Forgets everything handed out.
    pub fn reset(&mut self) {
        self.used = 0;
        for (base, size) in self.retired.drain(..) {
            // SAFETY: allocated below with this layout, and nothing handed out is in use any more.
            unsafe { dealloc(base, layout(size)) };
        }
    }

    fn grow(&mut self, bytes: usize) {
        if self.size > 0 {
            self.retired.push((self.base, self.size));
        }
        self.size = (2 * self.size).max(bytes).max(64 << 10).next_multiple_of(ALIGNMENT);
        self.used = 0;
        // SAFETY: the size is not zero.
        self.base = unsafe { alloc(layout(self.size)) };
        if self.base.is_null() {
            handle_alloc_error(layout(self.size));
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.reset();
        if self.size > 0 {
            // SAFETY: allocated in `grow` with this layout.
            unsafe { dealloc(self.base, layout(self.size)) };
        }
    }
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, ALIGNMENT).expect("workspaces are far smaller than the address space")
}

/// Runs `f` with this thread's workspace, empty.
pub fn with_workspace<R>(f: impl FnOnce(&mut Workspace) -> R) -> R {
    thread_local! {
        static WORKSPACE: RefCell<Workspace> = const { RefCell::new(Workspace::new()) };
    }
    WORKSPACE.with(|workspace| {
        let mut workspace = workspace.borrow_mut();
        workspace.reset();
        f(&mut workspace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_asked_for_first() {
        let mut workspace = Workspace::new();
        assert!(workspace.slice::<u64>(0).is_empty());
        assert_eq!(workspace.slice::<u64>(3), [0; 3]);
    }
}

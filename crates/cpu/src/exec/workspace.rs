//! Scratch memory that a worker reuses across steps and runs.

use crate::scratch::NoMemory;
use std::alloc::{Layout, alloc, dealloc};
use std::cell::{Cell, RefCell};
use wootz_backend::inject::{Point, fails};

const ALIGNMENT: usize = 64;

/// A growing, aligned piece of memory, handed out in stack order. What is handed out borrows the workspace, so that it
/// cannot be reset meanwhile.
pub struct Workspace {
    base: Cell<*mut u8>,
    size: Cell<usize>,
    used: Cell<usize>,
    /// Pieces outgrown while some of them were in use; freed at the next reset.
    retired: RefCell<Vec<(*mut u8, usize)>>,
}

impl Workspace {
    const fn new() -> Workspace {
        // Slices of nothing are aligned too.
        let base = std::ptr::without_provenance_mut(ALIGNMENT);
        Workspace {
            base: Cell::new(base),
            size: Cell::new(0),
            used: Cell::new(0),
            retired: RefCell::new(Vec::new()),
        }
    }

    /// `bytes` of uninitialised memory, aligned for any vector, valid until the workspace is reset.
    pub fn reserve(&self, bytes: usize) -> *mut u8 {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        if self.used.get() + bytes > self.size.get() {
            self.grow(bytes);
        }
        // SAFETY: there is room for `bytes` more behind `used`.
        let pointer = unsafe { self.base.get().add(self.used.get()) };
        self.used.set(self.used.get() + bytes);
        pointer
    }

    /// `n` zeros of a plain type.
    #[allow(clippy::mut_from_ref, reason = "every call hands out other memory, as an arena does")]
    pub fn slice<T: bytemuck::Pod>(&self, n: usize) -> &mut [T] {
        assert!(align_of::<T>() <= ALIGNMENT, "no plain type is aligned to more than a cache line");
        let bytes = n.checked_mul(size_of::<T>()).expect("workspaces are far smaller than the address space");
        let pointer = self.reserve(bytes).cast::<T>();
        // SAFETY: fresh, aligned memory of the right size that no one else has; zeroed, which is a value of every `Pod`.
        // It stays valid while the workspace is borrowed, because only `reset` and `drop`, which need it exclusively,
        // reuse or free memory that was handed out.
        unsafe {
            pointer.write_bytes(0, n);
            std::slice::from_raw_parts_mut(pointer, n)
        }
    }

    /// Frees everything allocated from it.
    pub fn reset(&mut self) {
        self.used.set(0);
        for (base, size) in self.retired.get_mut().drain(..) {
            // SAFETY: allocated in `grow` with this layout, and nothing handed out is in use any more.
            unsafe { dealloc(base, layout(size)) };
        }
    }

    fn grow(&self, bytes: usize) {
        let old = self.size.get();
        let size = (2 * old).max(bytes).max(64 << 10).next_multiple_of(ALIGNMENT);
        // SAFETY: the size is not zero.
        let base = if fails(Point::Memory) { std::ptr::null_mut() } else { unsafe { alloc(layout(size)) } };
        if base.is_null() {
            NoMemory(size).raise();
        }
        if old > 0 {
            self.retired.borrow_mut().push((self.base.get(), old));
        }
        self.base.set(base);
        self.size.set(size);
        self.used.set(0);
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.reset();
        if self.size.get() > 0 {
            // SAFETY: allocated in `grow` with this layout.
            unsafe { dealloc(self.base.get(), layout(self.size.get())) };
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
    WORKSPACE.with(|workspace| match workspace.try_borrow_mut() {
        Ok(mut workspace) => {
            workspace.reset();
            f(&mut workspace)
        }
        // A user's kernel that evaluates a tensor itself: rare enough for memory of its own.
        Err(_) => f(&mut Workspace::new()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_asked_for_first() {
        let workspace = Workspace::new();
        assert!(workspace.slice::<u64>(0).is_empty());
        assert_eq!(workspace.slice::<u64>(3), [0; 3]);
    }

    #[test]
    fn slices_stay_valid_while_the_workspace_grows() {
        let mut workspace = Workspace::new();
        for _ in 0..2 {
            let first = workspace.slice::<u32>(5);
            first.fill(7);
            let large = workspace.slice::<u8>(1 << 20);
            large.fill(1);
            assert_eq!(first, [7; 5]);
            workspace.reset();
        }
    }
}

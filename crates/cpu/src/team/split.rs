//! Sharing work between workers: static shares, a dynamic counter, and pointers that may cross threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Share `index` of `count` of the range `0..n`, in multiples of `grain` (a grain of 0 counts as 1).
pub fn split_range(n: usize, grain: usize, index: usize, count: usize) -> Range<usize> {
    let grain = grain.max(1);
    let grains = n.div_ceil(grain);
    let (each, rest) = (grains / count, grains % count);
    let first = index * each + index.min(rest);
    let last = first + each + usize::from(index < rest);
    (first * grain).min(n)..(last * grain).min(n)
}

/// A dynamic counter over `0..n`: workers take the next chunk as they become free.
///
/// Create it before the region and share it by reference; every element is handed out once.
pub struct Chunks {
    next: AtomicUsize,
    n: usize,
    grain: usize,
}

impl Chunks {
    /// A counter that hands out `grain` elements at a time (at least 1).
    pub fn new(n: usize, grain: usize) -> Self {
        Chunks { next: AtomicUsize::new(0), n, grain: grain.max(1) }
    }

    /// The next chunk, or `None` when all are taken.
    pub fn next(&self) -> Option<Range<usize>> {
        // Look first, so that workers that come late and often cannot overflow the counter.
        if self.next.load(Ordering::Relaxed) >= self.n {
            return None;
        }
        let start = self.next.fetch_add(self.grain, Ordering::Relaxed);
        (start < self.n).then(|| start..self.n.min(start.saturating_add(self.grain)))
    }

    /// Starts again from 0. Only when no worker may call [`Chunks::next`] meanwhile.
    pub fn reset(&self) {
        self.next.store(0, Ordering::Relaxed);
    }
}

/// A raw pointer that may be sent to the workers of a region.
///
/// Making one is safe, using it is not: whoever dereferences it answers for bounds, lifetime and for
/// disjointness of what the workers write.
#[derive(Debug)]
pub struct SyncPtr<T>(*mut T);

// SAFETY: only a pointer value crosses threads here; every dereference is an unsafe act of its own.
unsafe impl<T> Send for SyncPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SyncPtr<T> {}

impl<T> Clone for SyncPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SyncPtr<T> {}

impl<T> SyncPtr<T> {
    /// Wraps a pointer.
    pub const fn new(pointer: *mut T) -> Self {
        SyncPtr(pointer)
    }

    /// The pointer to a slice's first element; the slice stays borrowed only for this call.
    pub fn of(slice: &mut [T]) -> Self {
        SyncPtr(slice.as_mut_ptr())
    }

    /// The wrapped pointer.
    pub const fn get(self) -> *mut T {
        self.0
    }

    /// The elements `range` as a mutable slice.
    ///
    /// # Safety
    /// The range must lie inside one live allocation of initialised `T`, and nobody else may touch those
    /// elements while the slice lives.
    pub unsafe fn slice_mut<'a>(self, range: Range<usize>) -> &'a mut [T] {
        // SAFETY: the caller promises exactly this.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}

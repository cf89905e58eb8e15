//! Work distribution: static shares, dynamic chunks, and pointers that may cross threads.

use crate::sync::{AtomicU64, Ordering};
use std::ops::Range;

/// Share `index` of `count` of the range `0..n`, in multiples of `grain` (a grain of 0 counts as 1).
pub fn split_range(n: usize, grain: usize, index: usize, count: usize) -> Range<usize> {
    let grain = grain.max(1);
    let grains = n.div_ceil(grain);
    let (each, rest) = (grains / count, grains % count);
    let first = index * each + index.min(rest);
    let last = first + each + usize::from(index < rest);
    (first * grain).min(n)..(last * grain).min(n)
}

/// Counts the pieces that workers of a region have taken, loop after loop.
///
/// The upper half is the number of the loop, the lower half the next piece of it. A worker that finds a later loop than
/// its own knows that its own has no pieces left: otherwise nobody would have gone on.
#[derive(Default)]
pub(super) struct Claims(AtomicU64);

impl Claims {
    /// Starts a new region. Only between regions, when no worker takes pieces.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// The next of `pieces` of loop `number`, or `None` when all are taken.
    pub fn take(&self, number: u32, pieces: u32) -> Option<u32> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let next = match ((seen >> 32) as u32).cmp(&number) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => seen as u32,
                std::cmp::Ordering::Greater => return None,
            };
            if next >= pieces {
                return None;
            }
            let claim = (number as u64) << 32 | (next as u64 + 1);
            match self.0.compare_exchange_weak(seen, claim, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(next),
                Err(now) => seen = now,
            }
        }
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
// SAFETY: a shared `SyncPtr` gives out the pointer's value only.
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

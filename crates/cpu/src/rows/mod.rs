//! Row kernels: softmax and norms, one row at a time on one thread; rows are distributed over workers.
//!
//! Inputs and outputs may be the same memory ([`RowIo::in_place`]). Sums consist of short chains in the row's own
//! type, combined in f64.
//!
//! Edge cases:
//! - Softmax and log-softmax of a row of −inf (or with +inf) are NaN, as their formulas say.
//! - log-sum-exp of a row of −inf, and of an empty row, is −inf; with +inf in the row it is +inf.
//! - Empty rows have empty results.

mod norm;
mod softmax;
#[cfg(test)]
mod tests;

pub use norm::{Affine, layer_norm, rms_norm};
pub use softmax::{log_softmax, logsumexp, softmax};

use crate::isa::{Real, prefetch};
use std::marker::PhantomData;

/// Elements handled at a time: four registers of f32 with AVX2.
const LANES: usize = 32;

/// A row to read and a row to write, which may be one and the same.
pub struct RowIo<'a, T> {
    from: *const T,
    to: *mut T,
    len: usize,
    /// What will be read next, if anybody knows: brought nearer while this row is computed.
    next: *const T,
    memory: PhantomData<&'a mut [T]>,
}

impl<'a, T: Copy> RowIo<'a, T> {
    /// Two rows.
    ///
    /// # Panics
    /// If their lengths differ.
    pub fn new(from: &'a [T], to: &'a mut [T]) -> Self {
        assert_eq!(from.len(), to.len());
        RowIo {
            next: from.as_ptr(),
            from: from.as_ptr(),
            to: to.as_mut_ptr(),
            len: to.len(),
            memory: PhantomData,
        }
    }

    /// One row, replaced by its result.
    pub fn in_place(row: &'a mut [T]) -> Self {
        RowIo {
            next: row.as_ptr(),
            from: row.as_ptr(),
            to: row.as_mut_ptr(),
            len: row.len(),
            memory: PhantomData,
        }
    }

    /// With the row that will be read next, which need not exist.
    pub fn followed_by(self, next: *const T) -> Self {
        RowIo { next, ..self }
    }

    /// The row to write, holding what there was to read.
    pub fn copied(self) -> &'a mut [T] {
        // SAFETY: both rows have `len` elements for `'a`; they are the same or do not overlap.
        unsafe {
            if self.from != self.to.cast_const() {
                std::ptr::copy_nonoverlapping(self.from, self.to, self.len);
            }
            std::slice::from_raw_parts_mut(self.to, self.len)
        }
    }
}

impl<T: Real> RowIo<'_, T> {
    /// Prefetches a piece of what will be read next. Called in the pass that computes most, while memory has little to do.
    #[inline(always)]
    fn fetch_next(&self, start: usize) {
        for line in (0..LANES * size_of::<T>()).step_by(64) {
            prefetch(self.next.wrapping_add(start).wrapping_byte_add(line));
        }
    }

    /// Writes one piece.
    #[inline(always)]
    fn write(&mut self, start: usize, out: &[T; LANES]) {
        let count = LANES.min(self.len - start);
        // SAFETY: `count` elements from `start` on are inside the output.
        unsafe {
            if count == LANES {
                self.to.add(start).cast::<[T; LANES]>().write_unaligned(*out);
            } else {
                std::ptr::copy_nonoverlapping(out.as_ptr(), self.to.add(start), count);
            }
        }
    }

    /// The input from `start` on, padded with `pad` behind its end. Kernels loop over pieces themselves: a method that takes a
    /// closure may end as a call of it for each piece, compiled without the instruction set.
    #[inline(always)]
    fn piece(&self, start: usize, pad: T) -> [T; LANES] {
        let count = LANES.min(self.len - start);
        // SAFETY: `count` elements from `start` on are inside the input.
        unsafe {
            if count == LANES {
                return self.from.add(start).cast::<[T; LANES]>().read_unaligned();
            }
            let mut piece = [pad; LANES];
            std::ptr::copy_nonoverlapping(self.from.add(start), piece.as_mut_ptr(), count);
            piece
        }
    }

    /// From here on reads see what was written.
    #[inline(always)]
    fn reread(&mut self) {
        self.from = self.to;
    }
}

/// Joins the partial sums of a row.
#[inline(always)]
fn join<T: Real>(lanes: &[T; LANES]) -> f64 {
    let mut sum = 0.0;
    for lane in lanes {
        sum += lane.to_f64();
    }
    sum
}

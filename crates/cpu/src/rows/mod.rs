//! Whole-row kernels: softmax and norms, one row at a time on one thread; rows are divided over workers.
//!
//! Inputs and outputs may be the same memory ([`RowIo::in_place`]). Sums run in short chains of the row's own type
//! and are joined in f64.
//!
//! Rows that the textbook leaves open:
//! - Softmax and log-softmax of a row of −inf (or with +inf) are NaN, as their formulas say.
//! - log-sum-exp of a row of −inf, and of an empty row, is −inf; with +inf in the row it is +inf.
//! - Empty rows have empty results.

mod norm;
mod softmax;
#[cfg(test)]
mod tests;

pub use norm::{Affine, layer_norm, rms_norm};
pub use softmax::{log_softmax, logsumexp, softmax};

use crate::isa::Real;
use std::marker::PhantomData;

/// Elements handled at a time: four registers of f32 with AVX2.
const LANES: usize = 32;

/// A row to read and a row to write, which may be one and the same.
pub struct RowIo<'a, T> {
    from: *const T,
    to: *mut T,
    len: usize,
    memory: PhantomData<&'a mut [T]>,
}

impl<'a, T: Real> RowIo<'a, T> {
    /// Two rows.
    ///
    /// # Panics
    /// If their lengths differ.
    pub fn new(from: &'a [T], to: &'a mut [T]) -> Self {
        assert_eq!(from.len(), to.len());
        RowIo { from: from.as_ptr(), to: to.as_mut_ptr(), len: to.len(), memory: PhantomData }
    }

    /// One row, replaced by its result.
    pub fn in_place(row: &'a mut [T]) -> Self {
        RowIo { from: row.as_ptr(), to: row.as_mut_ptr(), len: row.len(), memory: PhantomData }
    }

    /// Calls `f` with the input in pieces. The last piece is padded with `pad`.
    #[inline(always)]
    fn read(&self, pad: T, mut f: impl FnMut(&[T; LANES])) {
        for start in (0..self.len).step_by(LANES) {
            f(&self.piece(start, pad));
        }
    }

    /// Writes `f` of the input's pieces to the output.
    #[inline(always)]
    fn map(&mut self, pad: T, mut f: impl FnMut(&[T; LANES]) -> [T; LANES]) {
        for start in (0..self.len).step_by(LANES) {
            let out = f(&self.piece(start, pad));
            self.write(start, &out);
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
    lanes.iter().map(|v| v.to_f64()).sum()
}

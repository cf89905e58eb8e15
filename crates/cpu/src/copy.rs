//! Copies of any layout into contiguous memory.
//!
//! [`Gather`] takes a shape and the source's strides, and divides the rows of the result over workers. Where the
//! source is contiguous along another axis than the result, blocks are transposed in registers; results larger than
//! the caches are written past them ([`copy_bytes`]). Elements are 1, 2, 4 or 8 bytes, whatever they mean.

#[cfg(test)]
mod tests;

use crate::isa::{Isa, Kernel, dispatch, transpose_block, transpose_side};
use crate::team::{SyncPtr, Worker};
use std::marker::PhantomData;
use std::ops::Range;

/// Copies of this size and more are written past the caches: they would not stay in them anyway.
const STREAM_BYTES: usize = 8 << 20;
/// Side of the squares that transposing copies work through, small enough that both sides stay in the first cache.
const SQUARE: usize = 32;

/// Copies bytes; large copies bypass the caches where the processor can.
///
/// # Panics
/// If the lengths differ.
pub fn copy_bytes(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    if from.len() < STREAM_BYTES {
        return to.copy_from_slice(from);
    }
    stream_bytes(from, to);
}

/// As [`copy_bytes`], but always past the caches: for a share of a large copy.
///
/// # Panics
/// If the lengths differ.
pub fn stream_bytes(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_sfence, _mm_stream_si128};
        let head = to.as_ptr().align_offset(64).min(to.len());
        let body = (to.len() - head) / 64 * 64;
        to[..head].copy_from_slice(&from[..head]);
        to[head + body..].copy_from_slice(&from[head + body..]);
        for i in (head..head + body).step_by(64) {
            // SAFETY: 64 bytes from `i` on are inside both slices, the target is aligned, and SSE2 is part of x86-64.
            unsafe {
                let (from, to) = (from.as_ptr().add(i), to.as_mut_ptr().add(i));
                let line: [_; 4] = std::array::from_fn(|q| _mm_loadu_si128(from.add(16 * q).cast()));
                for q in 0..4 {
                    _mm_stream_si128(to.add(16 * q).cast(), line[q]);
                }
            }
        }
        // SAFETY: SSE2. Streamed stores are not ordered with later ones without it.
        unsafe { _mm_sfence() };
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// A copy of a strided array into contiguous memory.
pub struct Gather<'a, T> {
    from: *const T,
    shape: &'a [usize],
    strides: &'a [isize],
    memory: PhantomData<&'a [T]>,
}

// SAFETY: it is a shared borrow of `[T]` in all but type.
unsafe impl<T: Sync> Sync for Gather<'_, T> {}

impl<'a, T: Copy + Send + Sync> Gather<'a, T> {
    /// The array whose first element is at `from`; strides are in elements, any sign, 0 included.
    ///
    /// # Safety
    /// Every element must be readable as long as this lives, and nobody may write it.
    ///
    /// # Panics
    /// If there are not as many strides as axes.
    pub unsafe fn new(from: *const T, shape: &'a [usize], strides: &'a [isize]) -> Self {
        assert_eq!(shape.len(), strides.len());
        Gather { from, shape, strides, memory: PhantomData }
    }

    /// Writes this worker's share of the copy. A barrier must follow before the result is read.
    ///
    /// # Safety
    /// `to` must have room for all elements, touched by nobody else than the workers of this copy.
    pub unsafe fn run(&self, worker: &Worker, to: SyncPtr<T>) {
        let count: usize = self.shape.iter().product();
        if count == 0 {
            return;
        }
        let axes = self.shape.len();
        // The axis along which the source is contiguous; blocks span it and the last axis.
        let across = (0..axes).rev().find(|&a| self.strides[a] == 1 && self.shape[a] > 1);
        match across {
            Some(a) if a + 1 < axes && self.shape[axes - 1] > 1 => {
                // SAFETY: the same promises.
                unsafe { self.transposing(worker, to, a) }
            }
            // SAFETY: the same promises.
            _ => unsafe { self.by_rows(worker, to) },
        }
    }

    /// The source's offset of the `index`-th point over `axes`, counted like the result.
    fn offset(&self, mut index: usize, axes: impl DoubleEndedIterator<Item = usize>) -> isize {
        let mut offset = 0;
        for a in axes.rev() {
            offset += (index % self.shape[a]) as isize * self.strides[a];
            index /= self.shape[a];
        }
        offset
    }

    /// # Safety
    /// As for [`Gather::run`].
    unsafe fn by_rows(&self, worker: &Worker, to: SyncPtr<T>) {
        let last = self.shape.len().saturating_sub(1);
        let (width, stride) =
            (self.shape.last().copied().unwrap_or(1), self.strides.last().copied().unwrap_or(1));
        let rows: usize = self.shape[..last].iter().product();
        let stream = rows * width * size_of::<T>() >= STREAM_BYTES;
        // Few long rows are divided themselves.
        let pieces = if rows >= worker.count() { 1 } else { worker.count().div_ceil(rows) };
        let piece = width.div_ceil(pieces);
        for index in worker.split(rows * pieces, 1) {
            let (row, start) = (index / pieces, (index % pieces) * piece);
            let range = start.min(width)..width.min(start + piece);
            let from = self.from.wrapping_offset(self.offset(row, 0..last));
            // SAFETY: the caller promises both sides; rows and their pieces are disjoint.
            unsafe {
                copy_row(
                    from,
                    stride,
                    to.slice_mut(row * width + range.start..row * width + range.end),
                    range,
                    stream,
                )
            };
        }
    }

    /// # Safety
    /// As for [`Gather::run`].
    unsafe fn transposing(&self, worker: &Worker, to: SyncPtr<T>, across: usize) {
        let last = self.shape.len() - 1;
        let (rows, columns) = (self.shape[across], self.shape[last]);
        let inner: usize = self.shape[across + 1..last].iter().product();
        let outer: usize = self.shape[..across].iter().product();
        // Result rows along `across` are this far apart.
        let row_stride = inner * columns;
        let strips = rows.div_ceil(SQUARE);
        for index in worker.split(outer * inner * strips, 1) {
            let (strip, plane) = (index % strips, index / strips);
            let (i, o) = (plane % inner, plane / inner);
            let offset = self.offset(o, 0..across) + self.offset(i, across + 1..last);
            let first = strip * SQUARE;
            let strip = first..rows.min(first + SQUARE);
            let from = self.from.wrapping_offset(offset);
            let to = to.get().wrapping_add(o * rows * row_stride + i * columns);
            dispatch(Strip { from, stride: self.strides[last], to, row_stride, strip, columns });
        }
    }
}

/// # Safety
/// `from` must have the row's elements of `range` at `stride`.
unsafe fn copy_row<T: Copy>(from: *const T, stride: isize, to: &mut [T], range: Range<usize>, stream: bool) {
    let from = from.wrapping_offset(range.start as isize * stride);
    // SAFETY: the caller promises the source; byte views of plain elements are valid.
    unsafe {
        if stride == 1 {
            let bytes = size_of_val(to);
            let source = std::slice::from_raw_parts(from.cast::<u8>(), bytes);
            let target = std::slice::from_raw_parts_mut(to.as_mut_ptr().cast::<u8>(), bytes);
            if stream && bytes >= 4096 {
                stream_bytes(source, target)
            } else {
                target.copy_from_slice(source)
            }
        } else if stride == 0 {
            if let Some(len) = (!to.is_empty()).then_some(to.len()) {
                to[..len].fill(*from);
            }
        } else {
            for (i, t) in to.iter_mut().enumerate() {
                *t = *from.offset(i as isize * stride);
            }
        }
    }
}

/// Some rows of a transposed plane: `to[r * row_stride + c] = from[c * stride + r]`.
struct Strip<T> {
    from: *const T,
    stride: isize,
    to: *mut T,
    row_stride: usize,
    strip: Range<usize>,
    columns: usize,
}

impl<T: Copy> Kernel for Strip<T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let side = transpose_side::<I>(size_of::<T>());
        for c0 in (0..self.columns).step_by(SQUARE) {
            let c1 = self.columns.min(c0 + SQUARE);
            for r in self.strip.clone().step_by(side) {
                for c in (c0..c1).step_by(side) {
                    let (from, to) = (self.source(c, r), self.target(r, c));
                    // SAFETY: whole blocks inside the plane go to the register form, the rest element by element;
                    // `Gather::run`'s caller promises that both planes exist.
                    unsafe {
                        if side > 1 && r + side <= self.strip.end && c + side <= c1 {
                            transpose_block::<I, T>(from, self.stride, side, to, self.row_stride as isize);
                        } else {
                            for r in r..self.strip.end.min(r + side) {
                                for c in c..c1.min(c + side) {
                                    *self.target(r, c) = *self.source(c, r);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

impl<T> Strip<T> {
    #[inline(always)]
    fn source(&self, c: usize, r: usize) -> *const T {
        self.from.wrapping_offset(c as isize * self.stride + r as isize)
    }

    #[inline(always)]
    fn target(&self, r: usize, c: usize) -> *mut T {
        self.to.wrapping_add(r * self.row_stride + c)
    }
}

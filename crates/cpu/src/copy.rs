//! Copies of any layout into contiguous memory.
//!
//! [`Gather`] takes a shape and the source's strides, and distributes the rows of the result over workers. If the
//! source is contiguous along a different axis than the result, blocks are transposed in registers; results larger
//! than the caches are written with non-temporal stores ([`copy_bytes`]). Elements are 1, 2, 4 or 8 bytes of any
//! type.

#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use crate::isa::Level;
use crate::isa::{Isa, Kernel, dispatch, line_side, transpose_block, transpose_lines, transpose_side};
use crate::stop;
use crate::team::{SyncPtr, Worker};
use std::marker::PhantomData;
use std::ops::Range;

/// Copies of at least this size bypass the caches: they would not stay in them anyway.
const STREAM_BYTES: usize = 8 << 20;
/// Side of the squares that transposing copies work through without registers, small enough that both sides stay in the first
/// cache.
const SQUARE: usize = 32;
/// A patch of a transposing copy, as rows and columns of the result: long enough along the source that the hardware sees where
/// reading goes (from 1 KiB on it takes half the time that it takes with 512 bytes),
const BAND: usize = 256;
/// and no longer across it than its pages have room in the translation buffer.
const STRIP: usize = 64;

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

/// Like [`copy_bytes`], but always bypassing the caches.
///
/// # Panics
/// If the lengths differ.
pub fn stream_bytes(from: &[u8], to: &mut [u8]) {
    let _end = EndOfStreams;
    stream_piece(from, to);
}

/// A piece of a copy that bypasses the caches. An [`EndOfStreams`] must be dropped on this thread before another one may read it:
/// one for all pieces, because it waits until memory has them, which for each piece would take longer than the copy.
///
/// # Panics
/// If the lengths differ.
pub fn stream_piece(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    dispatch(Stream { from, to });
}

/// Orders streamed stores of this thread before its later ones when it is dropped.
pub struct EndOfStreams;

impl Drop for EndOfStreams {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE is part of x86-64.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

struct Stream<'a> {
    from: &'a [u8],
    to: &'a mut [u8],
}

impl Kernel for Stream<'_> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Stream { from, to } = self;
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::*;
            let head = to.as_ptr().align_offset(64).min(to.len());
            let body = (to.len() - head) / 64 * 64;
            to[..head].copy_from_slice(&from[..head]);
            to[head + body..].copy_from_slice(&from[head + body..]);
            for i in (head..head + body).step_by(64) {
                // SAFETY: 64 bytes from `i` on are inside both slices, the target is aligned, and the registers are those of
                // `I`, of which SSE2 is part of x86-64.
                unsafe {
                    let (from, to) = (from.as_ptr().add(i), to.as_mut_ptr().add(i));
                    if I::LEVEL >= Level::Avx512 {
                        _mm512_stream_si512(to.cast(), _mm512_loadu_si512(from.cast()));
                    } else if I::LEVEL >= Level::Avx2 {
                        let low = _mm256_loadu_si256(from.cast());
                        let high = _mm256_loadu_si256(from.add(32).cast());
                        _mm256_stream_si256(to.cast(), low);
                        _mm256_stream_si256(to.add(32).cast(), high);
                    } else {
                        let (a, b) = (_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.add(16).cast()));
                        let c = _mm_loadu_si128(from.add(32).cast());
                        let d = _mm_loadu_si128(from.add(48).cast());
                        _mm_stream_si128(to.cast(), a);
                        _mm_stream_si128(to.add(16).cast(), b);
                        _mm_stream_si128(to.add(32).cast(), c);
                        _mm_stream_si128(to.add(48).cast(), d);
                    }
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        to.copy_from_slice(from);
    }
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
        let _end = stream.then_some(EndOfStreams);
        // Few long rows are divided themselves.
        let pieces = if rows >= worker.count() { 1 } else { worker.count().div_ceil(rows) };
        let piece = width.div_ceil(pieces);
        for index in worker.split(rows * pieces, 1) {
            if index.is_multiple_of(64) {
                stop::check();
            }
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
        let stream = outer * rows * row_stride * size_of::<T>() >= STREAM_BYTES;
        let _end = stream.then_some(EndOfStreams);
        let (bands, strips) = (rows.div_ceil(BAND), columns.div_ceil(STRIP));
        for index in worker.split(outer * inner * bands * strips, 1) {
            stop::check();
            let (strip, index) = (index % strips, index / strips);
            let (band, plane) = (index % bands, index / bands);
            let (i, o) = (plane % inner, plane / inner);
            let offset = self.offset(o, 0..across) + self.offset(i, across + 1..last);
            let (row, column) = (band * BAND, strip * STRIP);
            let stride = self.strides[last];
            dispatch(Patch {
                from: self.from.wrapping_offset(offset + column as isize * stride + row as isize),
                stride,
                to: to.get().wrapping_add((o * rows + row) * row_stride + i * columns + column),
                row_stride,
                rows: BAND.min(rows - row),
                columns: STRIP.min(columns - column),
                stream,
            });
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
                stream_piece(source, target)
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

/// A patch of a transposed plane: `to[r * row_stride + c] = from[c * stride + r]`.
struct Patch<T> {
    from: *const T,
    stride: isize,
    to: *mut T,
    row_stride: usize,
    rows: usize,
    columns: usize,
    /// The result is larger than the caches.
    stream: bool,
}

impl<T: Copy> Kernel for Patch<T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let line = line_side::<I>(size_of::<T>());
        // Lines of the result can be written past the caches if rows start with one.
        let aligned =
            self.to.addr().is_multiple_of(64) && (self.row_stride * size_of::<T>()).is_multiple_of(64);
        let past = self.stream && aligned && line > 0;
        let step = if line > 0 { line } else { SQUARE };
        // Along the source within a step of columns: what is prefetched for its first squares serves the next ones.
        for c in (0..self.columns).step_by(step) {
            for r in (0..self.rows).step_by(step) {
                let whole = line > 0 && r + line <= self.rows && c + line <= self.columns;
                let (from, stride) = (self.source(c, r), self.stride);
                let (to, row_stride) = (self.target(r, c), self.row_stride as isize);
                // SAFETY: whole squares inside the patch go to the register form, the rest to others; `Gather::run`'s
                // caller promises that both planes exist. A fence follows the last patch.
                unsafe {
                    match (whole, past) {
                        (true, true) => transpose_lines::<I, T, true>(from, stride, to, row_stride),
                        (true, false) => transpose_lines::<I, T, false>(from, stride, to, row_stride),
                        (false, _) => {
                            self.part::<I>(r..self.rows.min(r + step), c..self.columns.min(c + step))
                        }
                    }
                }
            }
        }
    }
}

impl<T: Copy> Patch<T> {
    #[inline(always)]
    fn source(&self, c: usize, r: usize) -> *const T {
        self.from.wrapping_offset(c as isize * self.stride + r as isize)
    }

    #[inline(always)]
    fn target(&self, r: usize, c: usize) -> *mut T {
        self.to.wrapping_add(r * self.row_stride + c)
    }

    /// A part that is no whole square of lines: by smaller blocks where there are some, else element by element.
    ///
    /// # Safety
    /// The part lies in the patch, whose planes exist.
    #[inline(always)]
    unsafe fn part<I: Isa>(&self, rows: Range<usize>, columns: Range<usize>) {
        let side = transpose_side::<I>(size_of::<T>());
        let side = if side > 1 { side } else { SQUARE };
        for r in rows.clone().step_by(side) {
            for c in columns.clone().step_by(side) {
                let (from, to) = (self.source(c, r), self.target(r, c));
                // SAFETY: whole blocks inside the part go to the register form, the rest element by element.
                unsafe {
                    if side < SQUARE && r + side <= rows.end && c + side <= columns.end {
                        transpose_block::<I, T>(from, self.stride, side, to, self.row_stride as isize);
                    } else {
                        for r in r..rows.end.min(r + side) {
                            for c in c..columns.end.min(c + side) {
                                *self.target(r, c) = *self.source(c, r);
                            }
                        }
                    }
                }
            }
        }
    }
}

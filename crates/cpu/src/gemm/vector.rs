//! Matrix-vector products: memory-bound, so the matrix is read once, in order.
//!
//! A matrix stored along depth is computed as dot products, six lanes at a time (each is a separate stream for the
//! hardware prefetchers: six give 50 % more bandwidth than one); one stored along its lanes, by adding scaled runs to
//! a block of sums that stays in L1.

use super::plan::{Gemm, Shape};
use super::sink::Sink;
use super::source::{Dots, PackSource, Strided};
use crate::isa::{Isa, Kernel, Lanes, Real, dispatch};
use crate::team::{SyncPtr, Worker};
use std::ops::Range;

/// Lanes along depth that are summed at a time: with two registers of sums each, as many as there are registers for.
const DOTS: usize = 6;
/// Lanes whose sums are held at a time when the matrix is stored along lanes.
const LANE_BLOCK: usize = 2048;
/// Registers of sums that are held over the whole depth; where the lanes need more than twice as many, rows are streamed.
const HELD: usize = 4;

/// Depth from which workers divide it where there are few lanes.
const DEEP: usize = 8192;

/// Whether workers may divide the depth of a product and add up their sums, so that rounding depends on how many there are.
pub fn divides_depth(m: usize, n: usize, k: usize) -> bool {
    (m == 1 || n == 1) && k >= DEEP
}

/// The product when C is a single row or column.
///
/// # Safety
/// As [`Gemm::run`], with m or n equal to 1.
pub(super) unsafe fn gemv<T: Real>(
    gemm: &Gemm<T>,
    worker: &Worker,
    (matrix, lanes): (Strided<T>, usize),
    vector: &dyn PackSource<T>,
    c: &dyn Sink<T>,
    memory: SyncPtr<u8>,
) {
    let Shape { m, n, k } = gemm.shape;
    let start = memory.get().cast::<T>();
    let count = worker.count();
    let own_vector = start.wrapping_add(gemm.round(k) * worker.index());
    let sums = |worker: usize| start.wrapping_add(gemm.round(k) * count + gemm.round(lanes) * worker);
    // SAFETY: `scratch_bytes` has, per worker, k numbers for the vector and one sum per lane.
    unsafe {
        let out = |i: usize, values: &[T]| {
            if n == 1 {
                values.iter().enumerate().for_each(|(r, v)| c.store(i + r, 0, std::slice::from_ref(v)));
            } else {
                c.store(0, i, values);
            }
        };
        let mine = std::slice::from_raw_parts_mut(sums(worker.index()), lanes);
        if count > 1 && lanes < 16 * count && divides_depth(m, n, k) {
            // Few lanes: the workers divide the depth and add up.
            let depth = worker.split(k, 64);
            let vector = contiguous(vector, depth.clone(), own_vector);
            dispatch(Sums { matrix, vector, lanes: 0..lanes, depth, out: mine });
            worker.barrier();
            for lane in worker.split(lanes, 1) {
                let parts = (0..count).map(|w| *sums(w).add(lane));
                let total = parts.fold(T::ZERO, |total, part| total + part);
                out(lane, &[total]);
            }
        } else {
            let share = worker.split(lanes, 16);
            let mine = &mut mine[share.clone()];
            let vector = contiguous(vector, 0..k, own_vector);
            dispatch(Sums { matrix, vector, lanes: share.clone(), depth: 0..k, out: &mut *mine });
            out(share.start, mine);
        }
    }
}

/// The product when C is a single row or column and the matrix gives dot products of its lanes.
///
/// # Safety
/// As [`Gemm::run`], with m or n equal to 1.
pub(super) unsafe fn gemv_by_dots<T: Real>(
    gemm: &Gemm<T>,
    worker: &Worker,
    (matrix, lanes): (&dyn Dots<T>, usize),
    vector: &dyn PackSource<T>,
    c: &dyn Sink<T>,
    memory: SyncPtr<u8>,
) {
    let Shape { n, k, .. } = gemm.shape;
    let own = memory.get().cast::<T>().wrapping_add(gemm.round(k) * worker.index());
    // SAFETY: `scratch_bytes` has k numbers per worker.
    let values = unsafe { std::slice::from_raw_parts_mut(own, k) };
    vector.pack(0..1, 0..k, 1, values);
    for lane in worker.split(lanes, 16) {
        let (row, column) = if n == 1 { (lane, 0) } else { (0, lane) };
        c.store(row, column, &[matrix.dot(lane, values)]);
    }
}

/// A range of the vector with a stride of 1: itself, or what its source makes of it.
///
/// # Safety
/// `room` must have space for as many numbers.
unsafe fn contiguous<T: Real>(vector: &dyn PackSource<T>, depth: Range<usize>, room: *mut T) -> &[T] {
    // SAFETY: the operand has these readable elements, `room` as many writable ones.
    unsafe {
        match vector.strided() {
            Some(s) if s.depth == 1 => std::slice::from_raw_parts(s.at(0, depth.start), depth.len()),
            _ => {
                let values = std::slice::from_raw_parts_mut(room, depth.len());
                vector.pack(0..1, depth, 1, values);
                values
            }
        }
    }
}

/// The sum of the first `len` of some numbers, in few steps that wait for each other. The loops have constant bounds, so that they
/// become shuffles of registers.
#[inline(always)]
fn pairwise<T: Real>(mut parts: [T; 16], len: usize) -> T {
    if len > 8 {
        (0..8).for_each(|l| parts[l] += parts[l + 8]);
    }
    if len > 4 {
        (0..4).for_each(|l| parts[l] += parts[l + 4]);
    }
    if len > 2 {
        (0..2).for_each(|l| parts[l] += parts[l + 2]);
    }
    if len > 1 { parts[0] + parts[1] } else { parts[0] }
}

/// `out[l] = Σ_d matrix(lane l, d) · vector[d]` over ranges of lanes and depth.
struct Sums<'a, T> {
    matrix: Strided<'a, T>,
    /// The numbers of `depth`.
    vector: &'a [T],
    lanes: Range<usize>,
    depth: Range<usize>,
    out: &'a mut [T],
}

impl<T: Real> Sums<'_, T> {
    /// R lanes at once, each stored along depth.
    #[inline(always)]
    fn dots<I: Isa, const R: usize>(&self, lane: usize) -> [T; R] {
        let (first, n) = (self.depth.start, self.depth.len());
        let mut rows = [self.matrix.at(lane, first); R];
        for r in 1..R {
            rows[r] = self.matrix.at(lane + r, first);
        }
        let vector = self.vector;
        let len = <T::Lanes<I> as Lanes>::LEN;
        // SAFETY: every row has `n` readable elements from `first` on, and so has the vector; this runs under the
        // target features of `I`.
        unsafe {
            let mut acc = [[T::Lanes::<I>::zero(); 2]; R];
            let whole = n / (2 * len) * (2 * len);
            for d in (0..whole).step_by(2 * len) {
                let v0 = T::Lanes::<I>::load(vector.as_ptr().add(d));
                let v1 = T::Lanes::<I>::load(vector.as_ptr().add(d + len));
                for r in 0..R {
                    acc[r][0] = T::Lanes::<I>::load(rows[r].add(d)).mul_add(v0, acc[r][0]);
                    acc[r][1] = T::Lanes::<I>::load(rows[r].add(d + len)).mul_add(v1, acc[r][1]);
                }
            }
            // A loop: the closure of `array::from_fn` may be compiled without the instruction set.
            let mut sums = [T::ZERO; R];
            for r in 0..R {
                let mut parts = [T::ZERO; 16];
                acc[r][0].add(acc[r][1]).store(parts.as_mut_ptr());
                let mut sum = pairwise(parts, len);
                for d in whole..n {
                    sum = I::mul_add(*rows[r].add(d), vector[d], sum);
                }
                sums[r] = sum;
            }
            sums
        }
    }

    #[inline(always)]
    fn along_depth<I: Isa>(&mut self) {
        let (first, n) = (self.lanes.start, self.lanes.len());
        let whole = n / DOTS * DOTS;
        for i in (0..whole).step_by(DOTS) {
            let sums = self.dots::<I, DOTS>(first + i);
            self.out[i..i + DOTS].copy_from_slice(&sums);
        }
        for i in whole..n {
            self.out[i] = self.dots::<I, 1>(first + i)[0];
        }
    }

    #[inline(always)]
    fn along_lanes<I: Isa>(&mut self) {
        let (n, len) = (self.lanes.len(), <T::Lanes<I> as Lanes>::LEN);
        let mut done = 0;
        if n <= 2 * HELD * len {
            while n - done >= HELD * len {
                self.held::<I, HELD>(done);
                done += HELD * len;
            }
            while n - done >= len {
                self.held::<I, 1>(done);
                done += len;
            }
        }
        self.streamed::<I>(done..n);
    }

    /// R registers of lanes from `start` on, whose sums stay in registers: for so few lanes that a row is a few cache lines.
    #[inline(always)]
    fn held<I: Isa, const R: usize>(&mut self, start: usize) {
        let (lane, n, len) = (self.lanes.start + start, self.depth.len(), <T::Lanes<I> as Lanes>::LEN);
        // SAFETY: the lanes and depths are the operand's, and `out` has room for the lanes; this runs under the target features
        // of `I`.
        unsafe {
            // Even and odd depths, so that an addition need not wait for the last one.
            let mut acc = [[T::Lanes::<I>::zero(); R]; 2];
            for d in (0..n - n % 2).step_by(2) {
                self.add_row::<I, R>(&mut acc[0], lane, d);
                self.add_row::<I, R>(&mut acc[1], lane, d + 1);
            }
            if n % 2 == 1 {
                self.add_row::<I, R>(&mut acc[0], lane, n - 1);
            }
            let out = self.out[start..start + R * len].as_mut_ptr();
            for r in 0..R {
                acc[0][r].add(acc[1][r]).store(out.add(r * len));
            }
        }
    }

    /// Adds the product of a number of the vector, the one of `depth` number `d`, and the lanes from `lane` on.
    ///
    /// # Safety
    /// The operand has these lanes, which are adjacent, and this runs under the target features of `I`.
    #[inline(always)]
    unsafe fn add_row<I: Isa, const R: usize>(&self, acc: &mut [T::Lanes<I>; R], lane: usize, d: usize) {
        let row = self.matrix.at(lane, self.depth.start + d);
        // SAFETY: the caller's promise; the vector has a number for each depth.
        unsafe {
            let v = T::Lanes::<I>::splat(self.vector.as_ptr().add(d));
            for r in 0..R {
                let lanes = T::Lanes::<I>::load(row.add(r * <T::Lanes<I> as Lanes>::LEN));
                acc[r] = lanes.mul_add(v, acc[r]);
            }
        }
    }

    /// Lanes whose sums are in the first cache, while the rows of the matrix go by.
    #[inline(always)]
    fn streamed<I: Isa>(&mut self, own: Range<usize>) {
        let matrix = self.matrix;
        self.out[own.clone()].fill(T::ZERO);
        for block in own.clone().step_by(LANE_BLOCK) {
            let len = LANE_BLOCK.min(own.end - block);
            let lane = self.lanes.start + block;
            let mut d = self.depth.start;
            while d < self.depth.end {
                let step = (self.depth.end - d).min(4);
                // SAFETY: at each depth the lanes of the block are adjacent and readable.
                let row = |i: usize| unsafe { std::slice::from_raw_parts(matrix.at(lane, d + i), len) };
                let out = &mut self.out[block..block + len];
                if step == 4 {
                    let (r0, r1, r2, r3) = (row(0), row(1), row(2), row(3));
                    let v = &self.vector[d - self.depth.start..][..4];
                    for l in 0..len {
                        let low = I::mul_add(r1[l], v[1], I::mul_add(r0[l], v[0], out[l]));
                        out[l] = I::mul_add(r3[l], v[3], I::mul_add(r2[l], v[2], low));
                    }
                } else {
                    for i in 0..step {
                        let (r, v) = (row(i), self.vector[d - self.depth.start + i]);
                        for l in 0..len {
                            out[l] = I::mul_add(r[l], v, out[l]);
                        }
                    }
                }
                d += step;
            }
        }
    }
}

impl<T: Real> Kernel for Sums<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(mut self) {
        if self.matrix.depth == 1 {
            self.along_depth::<I>();
        } else if self.matrix.lane == 1 {
            self.along_lanes::<I>();
        } else {
            for (i, lane) in self.lanes.clone().enumerate() {
                let mut sum = T::ZERO;
                for (d, &v) in self.depth.clone().zip(self.vector) {
                    // SAFETY: every element of the operand is readable.
                    sum = I::mul_add(unsafe { *self.matrix.at(lane, d) }, v, sum);
                }
                self.out[i] = sum;
            }
        }
    }
}

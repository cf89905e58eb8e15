//! Matrix times vector: bound by the memory that the matrix comes through, so it is read once, in order.
//!
//! A matrix stored along depth is summed by dot products, six lanes at a time (each is a stream of its own to the
//! hardware's prefetchers: six bring 50 % more than one); one stored along its lanes by
//! adding scaled runs into a block of sums that stays in the first cache.

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
    a: Strided<T>,
    b: Strided<T>,
    c: &dyn Sink<T>,
    memory: SyncPtr<u8>,
) {
    let Shape { m, n, k } = gemm.shape;
    let (matrix, vector, lanes) = if n == 1 { (a, b, m) } else { (b, a, n) };
    let start = memory.get().cast::<T>();
    let count = worker.count();
    let own_vector = start.wrapping_add(gemm.round(k) * worker.index());
    let sums = |worker: usize| start.wrapping_add(gemm.round(k) * count + gemm.round(lanes) * worker);
    // SAFETY: `scratch_bytes` has, per worker, k numbers for the vector and one sum per lane.
    unsafe {
        let vector = contiguous(vector, k, own_vector);
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

/// The vector with a stride of 1: itself, or a copy.
///
/// # Safety
/// `room` must have space for k numbers.
unsafe fn contiguous<'a, T: Real>(vector: Strided<'a, T>, k: usize, room: *mut T) -> &'a [T] {
    // SAFETY: the operand has k readable elements, `room` as many writable ones.
    unsafe {
        if vector.depth == 1 {
            return std::slice::from_raw_parts(vector.start, k);
        }
        for d in 0..k {
            *room.add(d) = *vector.start.offset(d as isize * vector.depth);
        }
        std::slice::from_raw_parts(room, k)
    }
}

/// `out[l] = Σ_d matrix(lane l, d) · vector[d]` over ranges of lanes and depth.
struct Sums<'a, T> {
    matrix: Strided<'a, T>,
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
        let rows: [*const T; R] = std::array::from_fn(|r| self.matrix.at(lane + r, first));
        let vector = &self.vector[self.depth.clone()];
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
            std::array::from_fn(|r| {
                let mut parts = [T::ZERO; 16];
                acc[r][0].add(acc[r][1]).store(parts.as_mut_ptr());
                let mut sum = parts[..len].iter().fold(T::ZERO, |a, &b| a + b);
                for d in whole..n {
                    sum = I::mul_add(*rows[r].add(d), vector[d], sum);
                }
                sum
            })
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
        let (n, matrix) = (self.lanes.len(), self.matrix);
        self.out.fill(T::ZERO);
        for block in (0..n).step_by(LANE_BLOCK) {
            let len = LANE_BLOCK.min(n - block);
            let lane = self.lanes.start + block;
            let mut d = self.depth.start;
            while d < self.depth.end {
                let step = (self.depth.end - d).min(4);
                // SAFETY: at each depth the lanes of the block are adjacent and readable.
                let row = |i: usize| unsafe { std::slice::from_raw_parts(matrix.at(lane, d + i), len) };
                let out = &mut self.out[block..block + len];
                if step == 4 {
                    let (r0, r1, r2, r3) = (row(0), row(1), row(2), row(3));
                    let v = &self.vector[d..d + 4];
                    for l in 0..len {
                        let low = I::mul_add(r1[l], v[1], I::mul_add(r0[l], v[0], out[l]));
                        out[l] = I::mul_add(r3[l], v[3], I::mul_add(r2[l], v[2], low));
                    }
                } else {
                    for i in 0..step {
                        let (r, v) = (row(i), self.vector[d + i]);
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
                for d in self.depth.clone() {
                    // SAFETY: every element of the operand is readable.
                    sum = I::mul_add(unsafe { *self.matrix.at(lane, d) }, self.vector[d], sum);
                }
                self.out[i] = sum;
            }
        }
    }
}

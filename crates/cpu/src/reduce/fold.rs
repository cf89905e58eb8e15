//! The two folds: a run into a number, and rows into a row.

use super::number::{Number, Reducer};
use crate::isa::{Isa, Kernel, dispatch};
use std::marker::PhantomData;

/// Independent chains: enough for eight registers of f32 with AVX2, to hide the latency of an addition.
const LANES: usize = 64;
/// Elements per block: chains of 64 steps, whose results are then combined more carefully.
const BLOCK: usize = 64 * LANES;

/// Folds a run into one number.
pub fn reduce<R: Reducer<T>, T: Number>(x: &[T]) -> T {
    let mut parts = [R::IDENTITY; 64];
    let mut used = 0;
    for block in x.chunks(BLOCK) {
        if used == parts.len() {
            parts[0] = R::finish(&parts);
            used = 1;
        }
        parts[used] = dispatch(Block::<R, T> { x: block, op: PhantomData });
        used += 1;
    }
    R::finish(&parts[..used])
}

/// Folds runs of `inner` elements, one behind the other, into one number each. For runs too short for [`reduce`] to be worth its
/// setting up; the elements of each are combined one after the other.
///
/// # Panics
/// If the runs reach beyond `x`.
pub fn reduce_short<R: Reducer<T>, T: Number>(x: &[T], inner: usize, out: &mut [T]) {
    assert!(inner > 0 && x.len() / inner >= out.len(), "{} runs of {inner} exceed {}", out.len(), x.len());
    dispatch(Short::<R, T> { x, inner, out, op: PhantomData });
}

struct Short<'a, R, T> {
    x: &'a [T],
    inner: usize,
    out: &'a mut [T],
    op: PhantomData<R>,
}

impl<R: Reducer<T>, T: Number> Kernel for Short<'_, R, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        // Lengths that are known are unrolled.
        match self.inner {
            2 => self.fixed::<2>(),
            3 => self.fixed::<3>(),
            4 => self.fixed::<4>(),
            8 => self.fixed::<8>(),
            16 => self.fixed::<16>(),
            inner => {
                for (to, run) in self.out.iter_mut().zip(self.x.chunks_exact(inner)) {
                    *to = run[1..].iter().fold(run[0], |a, &b| R::combine(a, b));
                }
            }
        }
    }
}

impl<R: Reducer<T>, T: Number> Short<'_, R, T> {
    #[inline(always)]
    fn fixed<const N: usize>(self) {
        for (to, run) in self.out.iter_mut().zip(self.x.as_chunks::<N>().0) {
            let mut value = run[0];
            for v in &run[1..] {
                value = R::combine(value, *v);
            }
            *to = value;
        }
    }
}

/// The sum of f32 numbers as f64: blocks in f32, their sums in f64.
pub fn sum_wide(x: &[f32]) -> f64 {
    x.chunks(BLOCK).map(|block| dispatch(Block::<super::Sum, f32> { x: block, op: PhantomData }) as f64).sum()
}

struct Block<'a, R, T> {
    x: &'a [T],
    op: PhantomData<R>,
}

impl<R: Reducer<T>, T: Number> Kernel for Block<'_, R, T> {
    type Out = T;
    #[inline(always)]
    fn run<I: Isa>(self) -> T {
        let mut lanes = [R::IDENTITY; LANES];
        let (chunks, rest) = self.x.as_chunks::<LANES>();
        for chunk in chunks {
            for l in 0..LANES {
                lanes[l] = R::combine(lanes[l], chunk[l]);
            }
        }
        for (lane, &v) in lanes.iter_mut().zip(rest) {
            *lane = R::combine(*lane, v);
        }
        // Pairwise, so that the last steps are few.
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for l in 0..width {
                lanes[l] = R::combine(lanes[l], lanes[l + width]);
            }
        }
        lanes[0]
    }
}

/// Folds `rows` rows into the accumulators: `acc[j] = acc[j] ∘ x[r * stride + j]` over all rows r.
///
/// # Panics
/// If the rows reach beyond `x`.
pub fn fold_rows<R: Reducer<T>, T: Number>(acc: &mut [T], x: &[T], rows: usize, stride: usize) {
    if rows == 0 || acc.is_empty() {
        return;
    }
    let reach = (rows - 1).checked_mul(stride).and_then(|r| r.checked_add(acc.len()));
    assert!(
        reach.is_some_and(|r| r <= x.len()),
        "{rows} rows of {} at stride {stride} exceed {}",
        acc.len(),
        x.len()
    );
    if stride == acc.len() && stride < LANES / 2 {
        return fold_narrow::<R, T>(acc, &x[..rows * stride]);
    }
    dispatch(Rows::<R, T> { acc, x, rows, stride, op: PhantomData });
}

/// Adjacent rows shorter than a register or two: several at once are one run with a period.
fn fold_narrow<R: Reducer<T>, T: Number>(acc: &mut [T], x: &[T]) {
    let width = acc.len();
    let period = width * (4 * LANES / width);
    let mut wide = [R::IDENTITY; 4 * LANES];
    let whole = x.len() / period;
    fold_wide::<R, T>(&mut wide[..period], x, whole);
    for row in wide[..period].chunks_exact(width).chain(x[whole * period..].chunks_exact(width)) {
        for (a, &v) in acc.iter_mut().zip(row) {
            *a = R::combine(*a, v);
        }
    }
}

fn fold_wide<R: Reducer<T>, T: Number>(acc: &mut [T], x: &[T], rows: usize) {
    let stride = acc.len();
    dispatch(Rows::<R, T> { acc, x, rows, stride, op: PhantomData });
}

struct Rows<'a, R, T> {
    acc: &'a mut [T],
    x: &'a [T],
    rows: usize,
    stride: usize,
    op: PhantomData<R>,
}

impl<R: Reducer<T>, T: Number> Kernel for Rows<'_, R, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let n = self.acc.len();
        let row = |r: usize| &self.x[r * self.stride..r * self.stride + n];
        let acc = &mut self.acc[..n];
        let eights = self.rows / 8 * 8;
        for r in (0..eights).step_by(8) {
            let (a, b, c, d) = (row(r), row(r + 1), row(r + 2), row(r + 3));
            let (e, f, g, h) = (row(r + 4), row(r + 5), row(r + 6), row(r + 7));
            for j in 0..n {
                let low = R::combine(R::combine(a[j], b[j]), R::combine(c[j], d[j]));
                let high = R::combine(R::combine(e[j], f[j]), R::combine(g[j], h[j]));
                acc[j] = R::combine(acc[j], R::combine(low, high));
            }
        }
        for r in eights..self.rows {
            let a = row(r);
            for j in 0..n {
                acc[j] = R::combine(acc[j], a[j]);
            }
        }
    }
}

//! A stack of rows against a range of keys: two small products per tile of keys, with an online softmax in between.

use super::{Attention, AttentionShape, TILE, Unit};
use crate::gemm::tile::{Ahead, TileArgs, Tiling};
use crate::gemm::{LoadAs, PackStrided, Strided};
use crate::isa::{Isa, Kernel, Real, dispatch};
use crate::math::{Elementary, max};
use std::ops::Range;

/// The working memory and running state of one stack.
pub(super) struct Stack<'m, T: Real> {
    tiling: Tiling<T>,
    rows: usize,
    depth: usize,
    width: usize,
    /// Columns of `mixed` and of packed values: the width in whole tiles.
    padded: usize,
    /// Queries, scaled: rows × depth.
    q: &'m mut [T],
    /// Keys in panels: depth × TILE.
    k: &'m mut [T],
    /// Values in panels: TILE × padded.
    v: &'m mut [T],
    /// Scores, then weights: rows × TILE.
    scores: &'m mut [T],
    /// Weighted values so far: rows × padded.
    mixed: &'m mut [T],
    /// The largest score so far, per row.
    largest: &'m mut [T],
    /// The sum of weights so far, per row.
    sum: &'m mut [T],
    mask: &'m mut [T],
}

impl<'m, T: Elementary> Stack<'m, T> {
    fn lengths(s: &AttentionShape, rows: usize, tiling: &Tiling<T>) -> [usize; 8] {
        let padded = s.width.next_multiple_of(tiling.cols);
        let tile = TILE.next_multiple_of(tiling.cols);
        let lengths =
            [rows * s.depth, s.depth * tile, TILE * padded, rows * tile, rows * padded, rows, rows, TILE];
        lengths.map(|n| n.next_multiple_of(16))
    }

    /// Numbers of memory that a stack needs.
    pub fn len(s: &AttentionShape, rows: usize, tiling: &Tiling<T>) -> usize {
        Self::lengths(s, rows, tiling).iter().sum()
    }

    pub fn new(s: &AttentionShape, rows: usize, tiling: Tiling<T>, memory: &'m mut [T]) -> Self {
        let mut rest = memory;
        let [q, k, v, scores, mixed, largest, sum, mask] = Self::lengths(s, rows, &tiling).map(|n| {
            let (part, tail) = std::mem::take(&mut rest).split_at_mut(n);
            rest = tail;
            part
        });
        let padded = s.width.next_multiple_of(tiling.cols);
        Stack {
            rows: 0,
            depth: s.depth,
            width: s.width,
            tiling,
            padded,
            q,
            k,
            v,
            scores,
            mixed,
            largest,
            sum,
            mask,
        }
    }

    /// Makes the stack one of the rows of a unit.
    pub fn take<S>(&mut self, problem: &Attention<T, S>, unit: &Unit) {
        self.rows = problem.shape.heads / problem.shape.groups * unit.queries.len();
    }

    /// Starts anew, and attends to all keys of the unit.
    pub fn run<S: LoadAs<T>>(&mut self, problem: &Attention<T, S>, unit: &Unit) {
        self.take(problem, unit);
        self.mixed.fill(T::ZERO);
        self.sum.fill(T::ZERO);
        self.largest.fill(T::of(f64::NEG_INFINITY));
        let scale = T::of(problem.rule.scale);
        for row in 0..self.rows {
            let [b, h, t] = row_of(problem, unit, row);
            let (from, stride) = (problem.q.at(b, h, t), problem.q.strides[3]);
            let own = &mut self.q[row * self.depth..][..self.depth];
            for (d, q) in own.iter_mut().enumerate() {
                // SAFETY: `Heads::new` promises that every element is readable. (One stride is told apart for the sake of the
                // loop, which becomes two.)
                *q = unsafe { *from.offset(if stride == 1 { d as isize } else { d as isize * stride }) }
                    * scale;
            }
        }
        for start in unit.keys.clone().step_by(TILE) {
            self.tile(problem, unit, start..unit.keys.end.min(start + TILE));
        }
    }

    fn tile<S: LoadAs<T>>(&mut self, problem: &Attention<T, S>, unit: &Unit, keys: Range<usize>) {
        let cols = self.tiling.cols;
        // SAFETY: `Heads::new` promises that every element of the operand is readable.
        let (k, v) = unsafe {
            let (k, v) = (problem.k, problem.v);
            (
                Strided::new(k.at(unit.b, unit.g, keys.start), k.strides[2], k.strides[3]),
                Strided::new(v.at(unit.b, unit.g, keys.start), v.strides[3], v.strides[2]),
            )
        };
        let (count, depth, width) = (keys.len(), self.depth, self.width);
        pack(k, count, depth, cols, self.k);
        let (a, c) = (self.q.as_ptr(), self.scores.as_mut_ptr());
        // SAFETY: queries, packed keys and scores have the lengths that `lengths` gave them.
        unsafe {
            self.multiply((a, depth), depth, Panels::packed(self.k, cols, depth), (c, TILE), (count, false))
        };
        for row in 0..self.rows {
            self.weigh(problem, row_of(problem, unit, row), row, keys.clone());
        }
        // Values whose rows are whole registers are read where they are.
        let bare = Panels::bare(v, cols).filter(|_| width.is_multiple_of(cols));
        let finite = match &bare {
            // SAFETY: `Heads::new` promises that every element of the operand is readable.
            Some(v) => unsafe { v.is_finite(count, width) },
            None => {
                pack(v, width, count, cols, self.v);
                let packed = &self.v[..count * self.padded];
                dispatch(AllFinite { start: packed.as_ptr(), stride: 0, rows: 1, width: packed.len() })
            }
        };
        if finite {
            let (a, c) = (self.scores.as_ptr(), self.mixed.as_mut_ptr());
            let v = bare.unwrap_or_else(|| Panels::packed(self.v, cols, count));
            // SAFETY: weights, values and the mixture have the lengths that `lengths` and the operand gave them.
            unsafe { self.multiply((a, TILE), count, v, (c, self.padded), (width, true)) };
        } else {
            pack(v, width, count, cols, self.v);
            self.mix_carefully(count);
        }
    }

    /// `c (+)= a · b` for all rows.
    ///
    /// # Safety
    /// `a` must have `rows` rows of `k` at its stride, `b` must have whole registers of `columns` of that depth, and `c` must
    /// have room for `rows` rows of `columns` at its stride.
    unsafe fn multiply(
        &self,
        a: (*const T, usize),
        k: usize,
        b: Panels<T>,
        c: (*mut T, usize),
        (columns, accumulate): (usize, bool),
    ) {
        let (tile_rows, cols) = (self.tiling.rows, self.tiling.cols);
        for (panel, column) in (0..columns).step_by(cols).enumerate() {
            for row in (0..self.rows).step_by(tile_rows) {
                let args = TileArgs {
                    k,
                    a: a.0.wrapping_add(row * a.1),
                    a_row: a.1 as isize,
                    a_depth: 1,
                    b: b.start.wrapping_add(panel * b.panel),
                    b_depth: b.depth,
                    c: c.0.wrapping_add(row * c.1 + column),
                    c_row: c.1 as isize,
                    c_col: 1,
                    cols: cols.min(columns - column),
                    accumulate,
                    keep: std::ptr::null_mut(),
                    ahead: Ahead::NOTHING,
                };
                // SAFETY: the caller promises the operands; the kernel was chosen for this processor.
                unsafe { self.tiling.strided[tile_rows.min(self.rows - row) - 1](&args) };
            }
        }
    }

    /// Turns the scores of a row into weights, and rescales the accumulated values to the new maximum.
    fn weigh<S: LoadAs<T>>(
        &mut self,
        problem: &Attention<T, S>,
        place: [usize; 3],
        row: usize,
        keys: Range<usize>,
    ) {
        let scores = &mut self.scores[row * TILE..][..keys.len()];
        if let Some(cap) = problem.rule.softcap {
            dispatch(Cap { scores: &mut *scores, cap: T::of(cap) });
        }
        if let Some(mask) = problem.mask {
            let values = &mut self.mask[..keys.len()];
            mask(place, keys.clone(), values);
            scores.iter_mut().zip(values.iter()).for_each(|(s, &m)| *s += m);
        }
        let visible = problem.rule.visible(place[2], problem.shape.keys);
        let place = |key: usize| key.clamp(keys.start, keys.end) - keys.start;
        let none = T::of(f64::NEG_INFINITY);
        scores[..place(visible.start)].fill(none);
        scores[place(visible.end)..].fill(none);
        let mixed = &mut self.mixed[row * self.padded..][..self.padded];
        let (largest, factor, sum) = dispatch(Soften { scores, mixed, largest: self.largest[row] });
        self.largest[row] = largest;
        if factor != T::ONE {
            self.sum[row] = self.sum[row] * factor;
        }
        self.sum[row] += sum;
    }

    /// The second product when a value is NaN or infinite: weights of zero must leave it out.
    fn mix_carefully(&mut self, count: usize) {
        let cols = self.tiling.cols;
        for row in 0..self.rows {
            for s in 0..count {
                let weight = self.scores[row * TILE + s];
                for c in 0..if weight == T::ZERO { 0 } else { self.width } {
                    let value = self.v[c / cols * cols * count + s * cols + c % cols];
                    self.mixed[row * self.padded + c] += weight * value;
                }
            }
        }
    }

    /// Returns the results of the unit.
    pub fn finish<S: LoadAs<T>>(&mut self, problem: &Attention<T, S>, unit: &Unit) {
        for row in 0..self.rows {
            let mixed = &mut self.mixed[row * self.padded..][..self.width];
            let at = row_of(problem, unit, row);
            let sink = problem.sinks.map(|sinks| sinks[at[1]]);
            let scale = share(self.sum[row], self.largest[row], sink);
            mixed.iter_mut().for_each(|m| *m = *m * scale);
            (problem.result)(at, mixed);
        }
    }

    /// Keeps the state of a part.
    pub fn save(&self, slot: &mut [T]) {
        let (mixed, rest) = slot.split_at_mut(self.rows * self.padded);
        mixed.copy_from_slice(&self.mixed[..mixed.len()]);
        rest[..self.rows].copy_from_slice(&self.largest[..self.rows]);
        rest[self.rows..2 * self.rows].copy_from_slice(&self.sum[..self.rows]);
    }

    /// Joins the state of a part to ours, or starts with it.
    pub fn join(&mut self, slot: &[T], first: bool) {
        let (mixed, rest) = slot.split_at(self.rows * self.padded);
        for row in 0..self.rows {
            let (other, sum) = (rest[row], rest[self.rows + row]);
            let own = if first { T::of(f64::NEG_INFINITY) } else { self.largest[row] };
            let largest = if other > own { other } else { own };
            let relative = |v: T| if v == largest { T::ONE } else { T::of((v - largest).to_f64().exp()) };
            let (f, g) = (if first { T::ZERO } else { relative(own) }, relative(other));
            let ours = &mut self.mixed[row * self.padded..][..self.padded];
            for (m, &o) in ours.iter_mut().zip(&mixed[row * self.padded..]) {
                *m = if first { o } else { *m * f + o * g };
            }
            self.sum[row] = if first { sum } else { self.sum[row] * f + sum * g };
            self.largest[row] = largest;
        }
    }
}

/// What weighted values are multiplied by: one over the sum of weights, which are relative to the largest score, and of the
/// sink's.
fn share<T: Elementary>(sum: T, largest: T, sink: Option<T>) -> T {
    let Some(sink) = sink.filter(|_| sum != T::ZERO) else {
        return if sum == T::ZERO { T::ZERO } else { T::ONE / sum };
    };
    let (sum, largest, sink) = (sum.to_f64(), largest.to_f64(), sink.to_f64());
    let most = largest.max(sink);
    let kept = (largest - most).exp();
    T::of(kept / (sum * kept + (sink - most).exp()))
}

/// Which query a row of a stack is: heads of the group within queries.
fn row_of<T, S>(problem: &Attention<T, S>, unit: &Unit, row: usize) -> [usize; 3] {
    let per_query = problem.shape.heads / problem.shape.groups;
    [unit.b, unit.g * per_query + row % per_query, unit.queries.start + row / per_query]
}

/// Packs `lanes` lanes of an operand into panels, zero-padded.
fn pack<T: Real, S: LoadAs<T>>(source: Strided<S>, lanes: usize, depth: usize, width: usize, out: &mut [T]) {
    for (panel, first) in (0..lanes).step_by(width).enumerate() {
        let out = &mut out[panel * width * depth..][..width * depth];
        let lanes = first..lanes.min(first + width);
        if lanes.len() < width {
            out.fill(T::ZERO);
        }
        dispatch(PackStrided { source, lanes, depth: 0..depth, width, out });
    }
}

/// The right operand of a product, a register's columns at a time.
struct Panels<T> {
    start: *const T,
    /// From panel to panel,
    panel: usize,
    /// and from step to step of depth within one.
    depth: isize,
}

impl<T: Real> Panels<T> {
    /// Packed panels.
    fn packed(panels: &[T], cols: usize, depth: usize) -> Self {
        Panels { start: panels.as_ptr(), panel: cols * depth, depth: cols as isize }
    }

    /// Memory as it is, if its lanes lie side by side in T.
    fn bare<S: LoadAs<T>>(source: Strided<S>, cols: usize) -> Option<Self> {
        let (start, depth) = source.side_by_side()?;
        S::PLAIN.then(|| Panels { start: start.cast(), panel: cols, depth })
    }

    /// Whether no number is NaN or infinite in panels that lie side by side.
    ///
    /// # Safety
    /// `rows` rows of `width` must be readable.
    unsafe fn is_finite(&self, rows: usize, width: usize) -> bool {
        dispatch(AllFinite { start: self.start, stride: self.depth, rows, width })
    }
}

/// Whether no number is NaN or infinite in readable rows of `width`.
struct AllFinite<T> {
    start: *const T,
    stride: isize,
    rows: usize,
    width: usize,
}

impl<T: Real> Kernel for AllFinite<T> {
    type Out = bool;
    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        // Zero times a number is zero, unless it is NaN or infinite; and NaN stays.
        let mut lanes = [T::ZERO; LANES];
        for r in 0..self.rows {
            // SAFETY: whoever made this promised readable rows.
            let row = unsafe {
                std::slice::from_raw_parts(self.start.offset(r as isize * self.stride), self.width)
            };
            let (pieces, rest) = row.as_chunks::<LANES>();
            for piece in pieces {
                for l in 0..LANES {
                    lanes[l] += piece[l] * T::ZERO;
                }
            }
            for (l, &v) in rest.iter().enumerate() {
                lanes[l] += v * T::ZERO;
            }
        }
        fold(lanes, |a, b| a + b) == T::ZERO
    }
}

struct Cap<'a, T> {
    scores: &'a mut [T],
    cap: T,
}

impl<T: Elementary> Kernel for Cap<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for s in self.scores {
            *s = (*s / self.cap).v_tanh::<I>() * self.cap;
        }
    }
}

/// Scores to weights relative to the new maximum, and what older weights have mixed likewise: (maximum, factor for older weights,
/// sum of the new ones).
struct Soften<'a, T> {
    scores: &'a mut [T],
    mixed: &'a mut [T],
    largest: T,
}

impl<T: Elementary> Kernel for Soften<'_, T> {
    type Out = (T, T, T);
    #[inline(always)]
    fn run<I: Isa>(self) -> (T, T, T) {
        let none = T::of(f64::NEG_INFINITY);
        let mut lanes = [self.largest; LANES];
        let (pieces, rest) = self.scores.as_chunks::<LANES>();
        for piece in pieces {
            for l in 0..LANES {
                lanes[l] = max(piece[l], lanes[l]);
            }
        }
        for (l, &s) in lanes.iter_mut().zip(rest) {
            *l = max(s, *l);
        }
        let largest = fold(lanes, |a, b| max(b, a));
        // Nothing visible yet: any finite shift gives weights of zero.
        let shift = if largest == none { T::ZERO } else { largest };
        let mut sums = [T::ZERO; LANES];
        let (pieces, rest) = self.scores.as_chunks_mut::<LANES>();
        for piece in pieces {
            for l in 0..LANES {
                piece[l] = (piece[l] - shift).v_exp_weight::<I>();
                sums[l] += piece[l];
            }
        }
        for (l, s) in rest.iter_mut().enumerate() {
            *s = (*s - shift).v_exp_weight::<I>();
            sums[l] += *s;
        }
        let factor =
            if self.largest == largest { T::ONE } else { (self.largest - shift).v_exp_weight::<I>() };
        if factor != T::ONE {
            for m in self.mixed {
                *m = *m * factor;
            }
        }
        (largest, factor, fold(sums, |a, b| a + b))
    }
}

/// Scores that are handled at a time.
const LANES: usize = 32;

/// Joins lanes, halves with halves. The loops have constant bounds, so that they become shuffles of registers.
#[inline(always)]
fn fold<T: Real>(mut lanes: [T; LANES], join: impl Fn(T, T) -> T) -> T {
    macro_rules! halve {
        ($($half:literal)*) => {$(
            for l in 0..$half {
                lanes[l] = join(lanes[l], lanes[l + $half]);
            }
        )*};
    }
    const { assert!(LANES == 32, "the halves below are those of 32") };
    halve!(16 8 4 2 1);
    lanes[0]
}

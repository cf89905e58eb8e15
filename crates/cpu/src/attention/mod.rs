//! Scaled-dot-product attention with grouped heads.
//!
//! `out[b,h,t] = Σ_s softmax_s(cap(scale · q[b,h,t] · k[b,g,s]) + mask[b,h,t,s]) · v[b,g,s]`, where heads share their
//! group's keys and values. With a position, query t sees the keys up to `position + t`; with a window, only the last
//! `window` of those.
//!
//! The unit of work is a stack of rows (all heads of a group, some queries) that read the same keys: keys and values
//! pass through the cache once per stack, in tiles, with an online softmax, so that no score is stored for longer
//! than a tile. If there are fewer units than workers (decoding one token), the keys are split too, and the parts are
//! combined after a barrier.
//!
//! Promises: a query that sees no keys gives zeros; masked or zero-weighted values never reach the result, even if
//! they are NaN or infinite.

mod stack;
#[cfg(test)]
mod tests;

use crate::gemm::LoadAs;
use crate::gemm::tile::{Tiling, tiling};
use crate::isa::level;
use crate::math::Elementary;
use crate::scratch::ALIGN;
use crate::team::{SyncPtr, Worker, split_range};
use stack::Stack;
use std::marker::PhantomData;
use std::ops::Range;

/// Keys per tile: enough to pay for the sums and maxima over the lanes of a row, few enough that the scores of a stack stay in
/// the second-level cache.
const TILE: usize = 128;
/// Rows per stack: enough to pay for packing the keys,
const LEAST_ROWS: usize = 48;
/// and more where that still leaves enough stacks,
const MOST_ROWS: usize = 192;
/// which is this many. A constant, as the next one is.
const STACKS: usize = 64;
/// With fewer units than this, keys are split too. A constant, so that results do not depend on the number of workers.
const UNITS: usize = 32;
/// Keys that are worth a part of their own.
const PART: usize = 256;

/// The sizes of a problem.
#[derive(Clone, Copy, Debug)]
pub struct AttentionShape {
    /// Independent sequences.
    pub batch: usize,
    /// Query heads; a multiple of `groups`.
    pub heads: usize,
    /// Key and value heads.
    pub groups: usize,
    /// Queries per sequence.
    pub queries: usize,
    /// Keys per sequence.
    pub keys: usize,
    /// Length of queries and keys.
    pub depth: usize,
    /// Length of values and results.
    pub width: usize,
}

/// The processing of scores, and which keys a query sees.
#[derive(Clone, Copy, Debug)]
pub struct AttentionRule {
    /// Factor of the scores.
    pub scale: f64,
    /// `cap · tanh(score / cap)`, if any.
    pub softcap: Option<f64>,
    /// The position of query 0 among the keys, if attention is causal.
    pub position: Option<i64>,
    /// Maximum number of keys that a query sees, its own being the last; only with a position.
    pub window: Option<usize>,
}

impl AttentionRule {
    /// The keys that query `t` sees, of `keys`.
    pub fn visible(&self, t: usize, keys: usize) -> Range<usize> {
        let Some(position) = self.position else { return 0..keys };
        let end = (position + t as i64 + 1).clamp(0, keys as i64);
        let start = self.window.map_or(0, |w| position + t as i64 + 1 - w as i64).clamp(0, end);
        start as usize..end as usize
    }
}

/// An operand `[batch, head, row, element]` in memory, with strides in elements.
pub struct Heads<'a, S> {
    start: *const S,
    strides: [isize; 4],
    memory: PhantomData<&'a [S]>,
}

impl<S> Clone for Heads<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for Heads<'_, S> {}
// SAFETY: it is a shared borrow of `[S]` in all but type.
unsafe impl<S: Sync> Sync for Heads<'_, S> {}

impl<S> Heads<'_, S> {
    /// The operand whose first element is at `start`.
    ///
    /// # Safety
    /// Every element of the problem's operand must be readable as long as this lives, and nobody may write it.
    pub const unsafe fn new(start: *const S, strides: [isize; 4]) -> Self {
        Heads { start, strides, memory: PhantomData }
    }

    fn at(&self, b: usize, h: usize, row: usize) -> *const S {
        let [sb, sh, sr, _] = self.strides;
        self.start.wrapping_offset(b as isize * sb + h as isize * sh + row as isize * sr)
    }
}

/// Fills the mask of `(b, h, t)` for a range of keys; it is added to the scores.
pub type MaskFn<'a, T> = &'a (dyn Fn([usize; 3], Range<usize>, &mut [T]) + Sync);
/// Takes the result of `(b, h, t)`.
pub type ResultFn<'a, T> = &'a (dyn Fn([usize; 3], &[T]) + Sync);

/// A whole problem: operands in T (queries) and S (keys and values, widened while packed).
#[derive(Clone, Copy)]
pub struct Attention<'a, T, S> {
    /// The sizes.
    pub shape: AttentionShape,
    /// Scores and visibility.
    pub rule: AttentionRule,
    /// Queries `[batch, heads, queries, depth]`.
    pub q: Heads<'a, T>,
    /// Keys `[batch, groups, keys, depth]`.
    pub k: Heads<'a, S>,
    /// Values `[batch, groups, keys, width]`.
    pub v: Heads<'a, S>,
    /// An additive mask.
    pub mask: Option<MaskFn<'a, T>>,
    /// Attention sinks: a score per head that takes part in the softmax but contributes nothing.
    pub sinks: Option<&'a [T]>,
    /// Whether a query's result must not depend on the number of queries; its keys are then not split.
    pub batch_invariant: bool,
    /// Where results go; called from all workers at once, each row once.
    pub result: ResultFn<'a, T>,
}

/// How the work is divided.
#[derive(Clone, Copy, Debug)]
struct Division {
    /// Queries per stack.
    queries: usize,
    /// Stacks per (batch, group).
    stacks: usize,
    /// Parts that the keys of a stack are divided into.
    parts: usize,
}

/// One unit: which rows, against which keys.
#[derive(Clone, Debug)]
struct Unit {
    b: usize,
    g: usize,
    queries: Range<usize>,
    keys: Range<usize>,
}

impl<T: Elementary, S: LoadAs<T>> Attention<'_, T, S> {
    fn division(&self) -> Division {
        let s = &self.shape;
        let per_query = (s.heads / s.groups.max(1)).max(1);
        let most = s.queries.saturating_mul(s.batch * s.groups) / STACKS;
        let queries = most.min(MOST_ROWS / per_query).max(LEAST_ROWS / per_query).clamp(1, s.queries.max(1));
        let stacks = s.queries.div_ceil(queries);
        let units = (s.batch * s.groups * stacks).max(1);
        let worthwhile = self.seen().div_ceil(PART).max(1);
        let parts = if self.batch_invariant { 1 } else { UNITS.div_ceil(units) };
        Division { queries, stacks, parts: parts.min(worthwhile) }
    }

    /// Keys that the last query sees.
    fn seen(&self) -> usize {
        self.rule.visible(self.shape.queries.saturating_sub(1), self.shape.keys).len()
    }

    fn unit(&self, division: Division, index: usize) -> Unit {
        let (part, index) = (index % division.parts, index / division.parts);
        let (stack, index) = (index % division.stacks, index / division.stacks);
        let first = stack * division.queries;
        let queries = first..self.shape.queries.min(first + division.queries);
        // Whole tiles, so that the keys of a tile, and the order of sums, are the same whichever queries are in a stack.
        let start = self.rule.visible(queries.start, self.shape.keys).start / TILE * TILE;
        let end = self.rule.visible(queries.end - 1, self.shape.keys).end.max(start);
        let share = split_range(end - start, TILE, part, division.parts);
        let keys = start + share.start..start + share.end;
        Unit { b: index / self.shape.groups, g: index % self.shape.groups, queries, keys }
    }

    /// Bytes of working memory that [`Attention::run`] needs with up to `workers` workers.
    pub fn scratch_bytes(&self, workers: usize) -> usize {
        let own = Stack::<T>::len(&self.shape, self.rows(), &self.tiling()) * workers;
        let division = self.division();
        let slots = if division.parts == 1 { 0 } else { self.units(division) };
        (own + slots * self.rows() * (self.padded_width() + 2)) * size_of::<T>() + ALIGN
    }

    fn units(&self, division: Division) -> usize {
        self.shape.batch * self.shape.groups * division.stacks * division.parts
    }

    fn tiling(&self) -> Tiling<T> {
        tiling::<T>(level())
    }

    /// The most rows of a stack.
    fn rows(&self) -> usize {
        self.division().queries * (self.shape.heads / self.shape.groups.max(1)).max(1)
    }

    fn padded_width(&self) -> usize {
        self.shape.width.next_multiple_of(self.tiling().cols)
    }

    /// This worker's part of the problem.
    ///
    /// Returns without a barrier: before anybody uses the results or the memory again, there must be one.
    ///
    /// # Safety
    /// Every worker of the region must call it with the same arguments; `memory` must have
    /// [`Attention::scratch_bytes`] bytes for that many workers, used by nobody else meanwhile.
    pub unsafe fn run(&self, worker: &Worker, memory: SyncPtr<u8>) {
        let s = &self.shape;
        if s.batch * s.heads * s.queries * s.width == 0 {
            return;
        }
        let division = self.division();
        let units = self.units(division);
        let own = Stack::<T>::len(s, self.rows(), &self.tiling());
        let start = memory.get().cast::<T>();
        // SAFETY: `scratch_bytes` has a stack per worker.
        let stack = unsafe { std::slice::from_raw_parts_mut(start.add(own * worker.index()), own) };
        let mut stack = Stack::new(s, self.rows(), self.tiling(), stack);
        let slot = self.rows() * (self.padded_width() + 2);
        let slots = start.wrapping_add(own * worker.count());
        for index in worker.split(units, 1) {
            crate::stop::check();
            let unit = self.unit(division, index);
            stack.run(self, &unit);
            if division.parts == 1 {
                stack.finish(self, &unit);
            } else {
                // SAFETY: every part has a slot of its own.
                stack.save(unsafe { std::slice::from_raw_parts_mut(slots.add(slot * index), slot) });
            }
        }
        if division.parts == 1 {
            return;
        }
        worker.barrier();
        for first in worker.split(units / division.parts, 1) {
            let index = first * division.parts;
            let unit = self.unit(division, index);
            // The last unit that this worker has run may have had fewer rows, or it has run none.
            stack.take(self, &unit);
            for part in 0..division.parts {
                // SAFETY: the barrier has ended all writing of the slots.
                let saved = unsafe { std::slice::from_raw_parts(slots.add(slot * (index + part)), slot) };
                stack.join(saved, part == 0);
            }
            stack.finish(self, &unit);
        }
    }
}

//! The position of the extreme value: the first one, with NaN before everything else.

use super::number::{Max, Min, Number, Reducer};
use super::reduce;
use crate::isa::{Isa, Kernel, dispatch};
use std::marker::PhantomData;

/// Elements whose extreme value is found at once; only the winning block is searched for the place.
const BLOCK: usize = 1024;

/// An order for arg-reductions.
pub trait ArgOrder<T>: Copy + Send + Sync + 'static {
    /// The reduction that finds the value.
    type Value: Reducer<T>;
    /// Whether `candidate` takes the place of an earlier `best`.
    fn beats(candidate: T, best: T) -> bool;
}

/// The place of the largest.
#[derive(Clone, Copy, Debug)]
pub struct ArgMax;
/// The place of the smallest.
#[derive(Clone, Copy, Debug)]
pub struct ArgMin;

impl<T: Number> ArgOrder<T> for ArgMax {
    type Value = Max;
    #[inline(always)]
    fn beats(candidate: T, best: T) -> bool {
        (candidate > best) | (candidate.is_nan() & !best.is_nan())
    }
}

impl<T: Number> ArgOrder<T> for ArgMin {
    type Value = Min;
    #[inline(always)]
    fn beats(candidate: T, best: T) -> bool {
        (candidate < best) | (candidate.is_nan() & !best.is_nan())
    }
}

/// The place of the extreme value of a run and the value, or `None` if it is empty.
///
/// Parts of a run combine in order: a later part's value takes the place only if it [`ArgOrder::beats`] the earlier.
pub fn arg_reduce<O: ArgOrder<T>, T: Number>(x: &[T]) -> Option<(usize, T)> {
    let mut best: Option<(usize, T)> = None;
    for (i, block) in x.chunks(BLOCK).enumerate() {
        let value = reduce::<O::Value, T>(block);
        if best.is_none_or(|(_, b)| O::beats(value, b)) {
            best = Some((i, value));
        }
    }
    best.map(|(i, value)| {
        let block = &x[i * BLOCK..x.len().min((i + 1) * BLOCK)];
        (i * BLOCK + dispatch(Search { block, value }), value)
    })
}

/// Elements that are compared with the extreme value at once.
const PIECE: usize = 64;

/// The first place of a value in a block that has it.
struct Search<'a, T> {
    block: &'a [T],
    value: T,
}

impl<T: Number> Kernel for Search<'_, T> {
    type Out = usize;
    #[inline(always)]
    fn run<I: Isa>(self) -> usize {
        let nan = self.value.is_nan();
        let is_it = |v: &T| (*v == self.value) | (nan & v.is_nan());
        let is_here = |piece: &[T; PIECE]| piece.iter().fold(false, |found, v| found | is_it(v));
        let (pieces, rest) = self.block.as_chunks::<PIECE>();
        let here = pieces.iter().position(is_here);
        let (start, piece) = here.map_or((pieces.len() * PIECE, rest), |i| (i * PIECE, &pieces[i][..]));
        start + piece.iter().position(is_it).unwrap_or(0)
    }
}

/// Folds one row into places and values: where `x[j]` beats `values[j]`, it and `index` take the place.
///
/// Before the first row, fill `values` with that row and `places` with its index.
///
/// # Panics
/// If the lengths differ.
pub fn arg_fold_row<O: ArgOrder<T>, T: Number>(values: &mut [T], places: &mut [i64], x: &[T], index: i64) {
    assert!(values.len() == x.len() && places.len() == x.len());
    dispatch(Row::<O, T> { values, places, x, index, order: PhantomData });
}

struct Row<'a, O, T> {
    values: &'a mut [T],
    places: &'a mut [i64],
    x: &'a [T],
    index: i64,
    order: PhantomData<O>,
}

impl<O: ArgOrder<T>, T: Number> Kernel for Row<'_, O, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let n = self.x.len();
        let (values, places, x) = (&mut self.values[..n], &mut self.places[..n], &self.x[..n]);
        for j in 0..n {
            let wins = O::beats(x[j], values[j]);
            values[j] = if wins { x[j] } else { values[j] };
            places[j] = if wins { self.index } else { places[j] };
        }
    }
}

//! Dot products of one weight row and one activation row, straight from the blocks: memory-bound.

use std::ops::Range;

use super::format::{Format, chunk_bytes, padded_tail};
use super::simd::{Couple, Place, Simd};
use super::{Acts, Output, Record, TILE_FROM, Weights};
use crate::isa::{AHEAD, prefetch};

/// # Safety
/// As [`crate::quant::matmul_rows`], with fewer than [`TILE_FROM`] rows of activations.
#[inline(always)]
pub(super) unsafe fn rows<S: Simd, C: Couple<S>, F: Format>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output<'_>,
) {
    // SAFETY: the caller's promises.
    unsafe {
        match acts.layout().precise() {
            false => rows_of::<S, C, F, false>(weights, acts, rows, out),
            true => rows_of::<S, C, F, true>(weights, acts, rows, out),
        }
    }
}

/// The same, with fine codes if `PRECISE`.
///
/// # Safety
/// As `rows`.
#[inline(always)]
unsafe fn rows_of<S: Simd, C: Couple<S>, F: Format, const PRECISE: bool>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output<'_>,
) {
    let Some(last) = acts.rows().checked_sub(1) else { return };
    let mut records = [acts.record(0); TILE_FROM - 1];
    for (a, record) in records.iter_mut().enumerate().skip(1) {
        *record = acts.record(a.min(last));
    }
    let row_bytes = weights.row_bytes();
    for r in rows {
        // From the row's start to the end of the matrix: see `dot_row`.
        let row = &weights.bytes[r * row_bytes..];
        for (a, record) in records.iter().enumerate().take(last + 1) {
            // SAFETY: the row has `cols / 32` groups, and the activations are padded to whole chunks.
            // The output is the caller's promise.
            unsafe {
                *out.row(a).add(r) = dot_row::<S, C, F, PRECISE>(row, weights.cols / 32, record);
            }
        }
    }
}

/// Running sums of a row: products, and offsets.
struct Sums<S: Simd, C: Couple<S>> {
    products: C::Sums,
    offsets: S::Floats,
}

/// The dot product of a weight row and an activation row.
///
/// # Safety
/// `row` must hold `groups` groups of the format, and the record as many, padded to whole chunks.
#[inline(always)]
unsafe fn dot_row<S: Simd, C: Couple<S>, F: Format, const PRECISE: bool>(
    row: &[u8],
    groups: usize,
    act: &Record<'_>,
) -> f32 {
    // SAFETY: `row` holds `groups` groups and perhaps more; the record holds at least as many, rounded up to whole chunks.
    unsafe {
        let mut sums = Sums::<S, C> { products: C::none(), offsets: S::no_floats() };
        let chunks = groups / 8;
        for c in 0..chunks {
            let at = row.as_ptr().add(c * chunk_bytes::<F>());
            for line in (0..chunk_bytes::<F>()).step_by(64) {
                prefetch(at.wrapping_add(AHEAD + line));
            }
            chunk::<S, C, F, PRECISE>(at, act, c, 8, &mut sums);
        }
        let rest = groups % 8;
        if rest > 0 {
            let tail = row.get_unchecked(chunks * chunk_bytes::<F>()..);
            // A whole chunk can be read where rows follow; the last ones are copied to have zeros after them.
            let copy;
            let at = if tail.len() >= chunk_bytes::<F>() {
                tail.as_ptr()
            } else {
                copy = padded_tail::<F>(tail.as_ptr(), rest);
                copy.as_ptr()
            };
            chunk::<S, C, F, PRECISE>(at, act, chunks, rest, &mut sums);
        }
        let mut all = C::both(sums.products);
        if F::OFFSET {
            all = S::add(all, sums.offsets);
        }
        S::sum(all)
    }
}

/// Final scales of a chunk, in memory so that each can be broadcast by a load.
#[repr(C, align(32))]
struct Stored([f32; 16]);

/// Adds the first `groups` groups of chunk `c`.
///
/// # Safety
/// 8 groups must be readable at `w`, and the record must have chunk `c`.
#[inline(always)]
unsafe fn chunk<S: Simd, C: Couple<S>, F: Format, const PRECISE: bool>(
    w: *const u8,
    act: &Record<'_>,
    c: usize,
    groups: usize,
    sums: &mut Sums<S, C>,
) {
    // SAFETY: the caller has 8 readable groups at `w`, and activations for chunk `c`.
    unsafe {
        let mut s = F::scales::<S>(w);
        if groups < 8 {
            // Those of other rows, which the activations' zeros would not cancel if they are not finite. Blocks that make up
            // less than a chunk have one scale for each group.
            s.scale[0] = S::first(s.scale[0], groups);
            if F::OFFSET {
                s.offset[0] = S::first(s.offset[0], groups);
            }
        }
        let mut stored = Stored([0f32; 16]);
        let scales = stored.0.as_mut_ptr();
        let act_scale = S::load(act.scales.as_ptr().add(c * 8));
        if F::SPLIT {
            let [low, high] = S::twice(act_scale);
            S::store(S::mul(s.scale[0], low), scales);
            S::store(S::mul(s.scale[1], high), scales.add(8));
        } else {
            S::store(S::mul(s.scale[0], act_scale), scales);
        }
        if F::OFFSET {
            if F::SPLIT {
                let half_sums = act.half_sums.as_ptr().add(c * 16);
                sums.offsets = S::mul_add(s.offset[0], S::load(half_sums), sums.offsets);
                sums.offsets = S::mul_add(s.offset[1], S::load(half_sums.add(8)), sums.offsets);
            } else {
                let act_sums = S::load(act.sums.as_ptr().add(c * 8));
                sums.offsets = S::mul_add(s.offset[0], act_sums, sums.offsets);
            }
        }
        macro_rules! couple {
            ($($first:literal $second:literal,)*) => {$(
                if groups > $first {
                    let codes = [F::codes::<S, $first>(w), F::codes::<S, $second>(w)];
                    let first = c * 256 + 32 * $first;
                    let at = Place {
                        codes: act.codes.as_ptr().add(first),
                        fine: act.fine.as_ptr().wrapping_add(first),
                        scales: scales.add(if F::SPLIT { 2 * $first } else { $first }),
                    };
                    sums.products = if F::SPLIT {
                        if F::SIGNED {
                            C::add::<PRECISE, true, true>(sums.products, codes, at)
                        } else {
                            C::add::<PRECISE, true, false>(sums.products, codes, at)
                        }
                    } else if F::SIGNED {
                        C::add::<PRECISE, false, true>(sums.products, codes, at)
                    } else {
                        C::add::<PRECISE, false, false>(sums.products, codes, at)
                    };
                }
            )*};
        }
        couple!(0 1, 2 3, 4 5, 6 7,);
    }
}

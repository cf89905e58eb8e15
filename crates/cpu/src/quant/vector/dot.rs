//! One weight row × one activation row at a time, straight from the blocks: memory-bound.

use std::ops::Range;

use super::format::{Format, chunk_bytes, padded_tail};
use super::simd::Simd;
use super::{Acts, Output, Record, TILE_FROM, Weights};
use crate::isa::{AHEAD, prefetch};

/// # Safety
/// As [`crate::quant::matmul_rows`], with fewer than [`TILE_FROM`] rows of activations.
#[inline(always)]
pub(super) unsafe fn rows<S: Simd, F: Format>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output,
) {
    // SAFETY: the caller's promises.
    unsafe {
        match acts.layout().precise() {
            false => rows_of::<S, F, false>(weights, acts, rows, out),
            true => rows_of::<S, F, true>(weights, acts, rows, out),
        }
    }
}

/// The same, with fine codes if `PRECISE`.
///
/// # Safety
/// As `rows`.
#[inline(always)]
unsafe fn rows_of<S: Simd, F: Format, const PRECISE: bool>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output,
) {
    let Some(last) = acts.rows().checked_sub(1) else { return };
    let records: [Record<'_>; TILE_FROM - 1] = std::array::from_fn(|a| acts.record(a.min(last)));
    let row_bytes = weights.row_bytes();
    for r in rows {
        // From the row's start to the end of the matrix: see `dot_row`.
        let row = &weights.bytes[r * row_bytes..];
        for (a, record) in records.iter().enumerate().take(last + 1) {
            // SAFETY: the row has `cols / 32` groups, and the activations are padded to whole chunks.
            // The output is the caller's promise.
            unsafe {
                *out.ptr.add(a * out.stride + r) = dot_row::<S, F, PRECISE>(row, weights.cols / 32, record);
            }
        }
    }
}

/// Running sums of a row: products in two chains, of every other group each, so that additions overlap; and offsets.
struct Sums<S: Simd> {
    products: [S::Floats; 2],
    offsets: S::Floats,
}

/// The dot product of a weight row and an activation row.
///
/// # Safety
/// `row` must hold `groups` groups of the format, and the record as many, padded to whole chunks.
#[inline(always)]
unsafe fn dot_row<S: Simd, F: Format, const PRECISE: bool>(
    row: &[u8],
    groups: usize,
    act: &Record<'_>,
) -> f32 {
    // SAFETY: `row` holds `groups` groups and perhaps more; the record holds at least as many, rounded up to whole chunks.
    unsafe {
        let zero = S::no_floats();
        let mut sums = Sums::<S> { products: [zero; 2], offsets: zero };
        let chunks = groups / 8;
        for c in 0..chunks {
            let at = row.as_ptr().add(c * chunk_bytes::<F>());
            for line in (0..chunk_bytes::<F>()).step_by(64) {
                prefetch(at.wrapping_add(AHEAD + line));
            }
            chunk::<S, F, PRECISE>(at, act, c, 8, &mut sums);
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
            chunk::<S, F, PRECISE>(at, act, chunks, rest, &mut sums);
        }
        let mut all = S::add(sums.products[0], sums.products[1]);
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
unsafe fn chunk<S: Simd, F: Format, const PRECISE: bool>(
    w: *const u8,
    act: &Record<'_>,
    c: usize,
    groups: usize,
    sums: &mut Sums<S>,
) {
    // SAFETY: the caller has 8 readable groups at `w`, and activations for chunk `c`.
    unsafe {
        let mut s = F::scales::<S>(w);
        if F::OFFSET && groups < 8 {
            // Offsets of other rows, which the activations' zeros would not cancel if they are not finite.
            s.offset[0] = S::first(s.offset[0], groups);
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
        macro_rules! group {
            ($($g:literal)*) => {$(
                if groups > $g {
                    let codes = F::codes::<S, $g>(w);
                    let at = c * 256 + 32 * $g;
                    let a = S::load_bytes(act.codes.as_ptr().add(at).cast());
                    let mut products = S::dot(S::no_ints(), codes, a, F::SIGNED);
                    if PRECISE {
                        let a = S::load_bytes(act.fine.as_ptr().add(at).cast());
                        products = S::dot(S::times_256(products), codes, a, F::SIGNED);
                    }
                    // One scale for all 8 sums of a group, or one for each half of them.
                    let scale =
                        if F::SPLIT { S::splat_two(scales.add(2 * $g)) } else { S::splat(scales.add($g)) };
                    let sum = &mut sums.products[$g % 2];
                    *sum = S::mul_add(S::from_ints(products), scale, *sum);
                }
            )*};
        }
        group!(0 1 2 3 4 5 6 7);
    }
}

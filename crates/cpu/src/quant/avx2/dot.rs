//! One weight row × one activation row at a time, straight from the blocks: memory-bound.

use std::arch::x86_64::*;
use std::ops::Range;

use super::{Format, chunk_bytes, multiply, padded_tail};
use crate::isa::{AHEAD, prefetch};
use crate::quant::{ActRow, Acts, Output, Weights};

/// # Safety
/// As [`super::run`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn rows<F: Format>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output,
) {
    let row_bytes = weights.row_bytes();
    for r in rows {
        // From the row's start to the end of the matrix: see `dot_row`.
        let row = &weights.bytes[r * row_bytes..];
        for a in 0..acts.rows() {
            // SAFETY: the row has `cols / 32` groups, and the activations are padded to whole chunks.
            // The output is the caller's promise.
            unsafe { *out.ptr.add(a * out.stride + r) = dot_row::<F>(row, weights.cols / 32, &acts.row(a)) };
        }
    }
}

/// Running sums of a row: products in two chains, so that additions overlap, and offsets.
struct Sums {
    products: [__m256; 2],
    offsets: __m256,
}

/// The dot product of a weight row and an activation row.
///
/// # Safety
/// `row` must hold `groups` groups of the format, and `act` as many, padded to whole chunks.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn dot_row<F: Format>(row: &[u8], groups: usize, act: &ActRow<'_>) -> f32 {
    // SAFETY: `row` holds `groups` groups and perhaps more; `act` holds at least as many, rounded up to whole chunks.
    unsafe {
        let zero = _mm256_setzero_ps();
        let mut sums = Sums { products: [zero; 2], offsets: zero };
        let chunks = groups / 8;
        for c in 0..chunks {
            let at = row.as_ptr().add(c * chunk_bytes::<F>());
            for line in (0..chunk_bytes::<F>()).step_by(64) {
                prefetch(at.wrapping_add(AHEAD + line));
            }
            chunk::<F>(at, act, c, 8, &mut sums);
        }
        let rest = groups % 8;
        if rest > 0 {
            let tail = row.get_unchecked(chunks * chunk_bytes::<F>()..);
            // A whole chunk can be read where rows follow; the last ones are copied to have zeros after them.
            if tail.len() >= chunk_bytes::<F>() {
                chunk::<F>(tail.as_ptr(), act, chunks, rest, &mut sums);
            } else {
                let copy = padded_tail::<F>(tail.as_ptr(), rest);
                chunk::<F>(copy.as_ptr(), act, chunks, rest, &mut sums);
            }
        }
        let mut all = _mm256_add_ps(sums.products[0], sums.products[1]);
        if F::OFFSET {
            all = _mm256_add_ps(all, sums.offsets);
        }
        horizontal_sum(all)
    }
}

/// Final scales of a chunk, in memory so that each can be broadcast by a load.
#[repr(C, align(32))]
struct Stored([f32; 16]);

/// Adds the first `groups` groups of chunk `c`.
///
/// # Safety
/// 8 groups must be readable at `w`, and `act` must have chunk `c`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn chunk<F: Format>(w: *const u8, act: &ActRow<'_>, c: usize, groups: usize, sums: &mut Sums) {
    // SAFETY: the caller has 8 readable groups at `w`, and activations for chunk `c`.
    unsafe {
        let mut s = F::scales(w);
        if F::OFFSET && groups < 8 {
            // Offsets of other rows, which the activations' zeros would not cancel if they are not finite.
            let here = _mm256_cmpgt_epi32(
                _mm256_set1_epi32(groups as i32),
                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
            );
            s.offset[0] = _mm256_and_ps(s.offset[0], _mm256_castsi256_ps(here));
        }
        let act_scale = _mm256_loadu_ps(act.scales.as_ptr().add(c * 8));
        let mut stored = Stored([0f32; 16]);
        let scales = &mut stored.0;
        if F::SPLIT {
            let low = _mm256_permutevar8x32_ps(act_scale, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
            let high = _mm256_permutevar8x32_ps(act_scale, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7));
            _mm256_storeu_ps(scales.as_mut_ptr(), _mm256_mul_ps(s.scale[0], low));
            _mm256_storeu_ps(scales.as_mut_ptr().add(8), _mm256_mul_ps(s.scale[1], high));
        } else {
            _mm256_storeu_ps(scales.as_mut_ptr(), _mm256_mul_ps(s.scale[0], act_scale));
        }
        if F::OFFSET {
            if F::SPLIT {
                let half_sums = act.half_sums.as_ptr().add(c * 16);
                sums.offsets = _mm256_fmadd_ps(s.offset[0], _mm256_loadu_ps(half_sums), sums.offsets);
                sums.offsets = _mm256_fmadd_ps(s.offset[1], _mm256_loadu_ps(half_sums.add(8)), sums.offsets);
            } else {
                let act_sums = _mm256_loadu_ps(act.sums.as_ptr().add(c * 8));
                sums.offsets = _mm256_fmadd_ps(s.offset[0], act_sums, sums.offsets);
            }
        }
        let acts = act.codes.as_ptr().add(c * 256);
        macro_rules! group {
            ($($g:literal)*) => {$(
                if groups > $g {
                    let a = _mm256_loadu_si256(acts.add(32 * $g).cast());
                    let products = _mm256_cvtepi32_ps(multiply::<F>(F::codes::<$g>(w), a));
                    let scale = group_scale::<F>(&stored, $g);
                    sums.products[$g % 2] = _mm256_fmadd_ps(products, scale, sums.products[$g % 2]);
                }
            )*};
        }
        group!(0 1 2 3 4 5 6 7);
    }
}

/// The scale of each of the 8 sums of a group: one for all, or one per half.
///
/// # Safety
/// `g` must be below 8.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn group_scale<F: Format>(scales: &Stored, g: usize) -> __m256 {
    // SAFETY: `g` is below 8, so the reads are within the array, and pairs are aligned to 8 bytes.
    unsafe {
        if F::SPLIT {
            let both = _mm256_castpd_ps(_mm256_broadcast_sd(&*scales.0.as_ptr().add(2 * g).cast::<f64>()));
            _mm256_permutevar_ps(both, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1))
        } else {
            _mm256_broadcast_ss(&scales.0[g])
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn horizontal_sum(v: __m256) -> f32 {
    let s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
    let s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)))
}

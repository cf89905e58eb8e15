//! Panels: 8 weight rows unpacked for the tile kernel.
//!
//! For every group of 32 columns a panel holds 8 vectors, each with 4 consecutive codes of all 8 rows, so that a
//! vector times 4 broadcast activations gives one partial sum per row; and the rows' scales and offsets.

use std::arch::x86_64::*;

use super::{Format, chunk_bytes, padded_tail};
use crate::quant::Weights;

/// Rows of a panel.
pub(super) const ROWS: usize = 8;

/// Columns that a panel holds at most: two panels stay in the first-level cache beside the activations.
pub(super) const COLS: usize = 768;

const GROUPS: usize = COLS / 32;

/// Codes, scales and offsets of 8 rows × up to [`COLS`] columns.
#[repr(C, align(64))]
pub(super) struct Panel {
    /// Per group: 8 vectors of 4 codes × 8 rows.
    pub codes: [[[u8; 32]; 8]; GROUPS],
    /// Per group of 32 (or two per group, if split): scales of the 8 rows.
    pub scales: [[f32; 8]; 2 * GROUPS],
    /// Offsets, as the scales.
    pub offsets: [[f32; 8]; 2 * GROUPS],
}

impl Panel {
    pub fn boxed() -> Box<Panel> {
        // SAFETY: every field is plain numbers, for which zero bytes are valid.
        unsafe { Box::<Panel>::new_zeroed().assume_init() }
    }
}

/// Unpacks columns `cols` (a range of whole chunks, except at the row's end) of rows `first..first + ROWS`.
/// Rows at or past `end` repeat the last row; their results are not stored.
///
/// # Safety
/// `first < end <= rows` of the weights, at most [`COLS`] columns, starting at a chunk; features as [`super::run`].
#[inline(always)]
pub(super) unsafe fn unpack<F: Format>(
    weights: &Weights<'_>,
    (first, end): (usize, usize),
    cols: std::ops::Range<usize>,
    panel: &mut Panel,
) {
    let row_bytes = weights.row_bytes();
    let groups = cols.len() / 32;
    // SAFETY: every pointer is within its row's bytes; a chunk that the row has only in part is copied.
    unsafe {
        let start = cols.start / 256 * chunk_bytes::<F>();
        let rows: [*const u8; ROWS] =
            std::array::from_fn(|i| weights.bytes.as_ptr().add((first + i).min(end - 1) * row_bytes + start));
        for c in 0..groups.div_ceil(8) {
            let here = (groups - c * 8).min(8);
            let chunks = rows.map(|r| r.add(c * chunk_bytes::<F>()));
            if here == 8 {
                unpack_chunk::<F>(chunks, panel, c, 8);
            } else {
                let tails = chunks.map(|t| padded_tail::<F>(t, here));
                unpack_chunk::<F>(std::array::from_fn(|i| tails[i].as_ptr()), panel, c, here);
            }
        }
    }
}

#[inline(always)]
unsafe fn unpack_chunk<F: Format>(rows: [*const u8; ROWS], panel: &mut Panel, c: usize, groups: usize) {
    // SAFETY: the caller has 8 readable groups at each pointer, and the panel has room for chunk `c`.
    unsafe {
        let scales = rows.map(|r| F::scales(r));
        for part in 0..if F::SPLIT { 2 } else { 1 } {
            let at = if F::SPLIT { c * 16 + part * 8 } else { c * 8 };
            let count = if F::SPLIT { (2 * groups).saturating_sub(part * 8).min(8) } else { groups };
            store_transposed(scales.map(|s| s.scale[part]), &mut panel.scales[at..at + count]);
            if F::OFFSET {
                store_transposed(scales.map(|s| s.offset[part]), &mut panel.offsets[at..at + count]);
            }
        }
        macro_rules! group {
            ($($g:literal)*) => {$(
                if groups > $g {
                    let codes = rows.map(|r| _mm256_castsi256_ps(F::codes::<$g>(r)));
                    let columns = transpose(codes);
                    for (out, v) in panel.codes[c * 8 + $g].iter_mut().zip(columns) {
                        _mm256_store_ps(out.as_mut_ptr().cast(), v);
                    }
                }
            )*};
        }
        group!(0 1 2 3 4 5 6 7);
    }
}

#[inline(always)]
unsafe fn store_transposed(rows: [__m256; 8], out: &mut [[f32; 8]]) {
    // SAFETY: register arithmetic and stores to whole elements of `out`.
    unsafe {
        for (out, v) in out.iter_mut().zip(transpose(rows)) {
            _mm256_storeu_ps(out.as_mut_ptr(), v);
        }
    }
}

/// Transposes 8 × 8 numbers of 32 bits.
#[inline(always)]
unsafe fn transpose(r: [__m256; 8]) -> [__m256; 8] {
    // SAFETY: register arithmetic; the features are the caller's.
    unsafe {
        let lo = |i: usize| _mm256_unpacklo_ps(r[i], r[i + 1]);
        let hi = |i: usize| _mm256_unpackhi_ps(r[i], r[i + 1]);
        let (a, b) = ([lo(0), lo(2), lo(4), lo(6)], [hi(0), hi(2), hi(4), hi(6)]);
        let low = |x: __m256, y: __m256| _mm256_shuffle_ps::<0x44>(x, y);
        let high = |x: __m256, y: __m256| _mm256_shuffle_ps::<0xee>(x, y);
        let top = [low(a[0], a[1]), high(a[0], a[1]), low(b[0], b[1]), high(b[0], b[1])];
        let bottom = [low(a[2], a[3]), high(a[2], a[3]), low(b[2], b[3]), high(b[2], b[3])];
        std::array::from_fn(|i| {
            if i < 4 {
                _mm256_permute2f128_ps::<0x20>(top[i], bottom[i])
            } else {
                _mm256_permute2f128_ps::<0x31>(top[i - 4], bottom[i - 4])
            }
        })
    }
}

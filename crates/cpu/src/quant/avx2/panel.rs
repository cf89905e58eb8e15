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

const _: () = assert!(COLS.is_multiple_of(256), "a panel starts at a chunk and has room for whole ones");

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
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
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

// Closures do not inherit the target features under which these functions are inlined, so a vector that passes
// through `map` or `from_fn` costs a call; hence the plain loops.

/// Unpacks chunk `c` of 8 rows, of which the first `groups` groups count.
///
/// # Safety
/// A whole chunk must be readable at each of `rows`, and the panel must have chunk `c`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn unpack_chunk<F: Format>(rows: [*const u8; ROWS], panel: &mut Panel, c: usize, groups: usize) {
    // SAFETY: the caller has 8 readable groups at each pointer, and the panel has room for chunk `c`.
    unsafe {
        let zero = [_mm256_setzero_ps(); ROWS];
        let (mut scales, mut offsets) = ([zero; 2], [zero; 2]);
        for i in 0..ROWS {
            let s = F::scales(rows[i]);
            for part in 0..2 {
                scales[part][i] = s.scale[part];
                offsets[part][i] = s.offset[part];
            }
        }
        for part in 0..if F::SPLIT { 2 } else { 1 } {
            let at = if F::SPLIT { c * 16 + part * 8 } else { c * 8 };
            store_transposed(&scales[part], panel.scales[at].as_mut_ptr());
            if F::OFFSET {
                store_transposed(&offsets[part], panel.offsets[at].as_mut_ptr());
            }
        }
        macro_rules! group {
            ($($g:literal)*) => {$(
                if groups > $g {
                    let mut codes = zero;
                    for i in 0..ROWS {
                        codes[i] = _mm256_castsi256_ps(F::codes::<$g>(rows[i]));
                    }
                    store_transposed(&codes, panel.codes[c * 8 + $g].as_mut_ptr().cast());
                }
            )*};
        }
        group!(0 1 2 3 4 5 6 7);
    }
}

/// Transposes 8 × 8 numbers of 32 bits, to memory.
///
/// # Safety
/// 64 values must be writable at `out`, which must be aligned to 32 bytes.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn store_transposed(r: &[__m256; 8], out: *mut f32) {
    // SAFETY: the caller has room for 8 vectors at `out`, aligned to 32 bytes; the rest is register arithmetic.
    unsafe {
        let mut quads = [[_mm256_setzero_ps(); 4]; 2];
        for h in 0..2 {
            let (a, b) =
                (_mm256_unpacklo_ps(r[4 * h], r[4 * h + 1]), _mm256_unpackhi_ps(r[4 * h], r[4 * h + 1]));
            let (c, d) = (
                _mm256_unpacklo_ps(r[4 * h + 2], r[4 * h + 3]),
                _mm256_unpackhi_ps(r[4 * h + 2], r[4 * h + 3]),
            );
            quads[h] = [
                _mm256_shuffle_ps::<0x44>(a, c),
                _mm256_shuffle_ps::<0xee>(a, c),
                _mm256_shuffle_ps::<0x44>(b, d),
                _mm256_shuffle_ps::<0xee>(b, d),
            ];
        }
        for i in 0..4 {
            _mm256_store_ps(out.add(8 * i), _mm256_permute2f128_ps::<0x20>(quads[0][i], quads[1][i]));
            _mm256_store_ps(out.add(8 * i + 32), _mm256_permute2f128_ps::<0x31>(quads[0][i], quads[1][i]));
        }
    }
}

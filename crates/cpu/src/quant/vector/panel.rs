//! Panels: 16 weight rows unpacked for the tile kernel.
//!
//! For every group of 32 columns a panel holds 8 lines, each with 4 consecutive codes of all 16 rows, so that a line (one
//! vector of 16 lanes, or two of 8) times 4 broadcast activations gives one partial sum per row; and the rows' scales and
//! offsets.

use super::Weights;
use super::format::{Format, chunk_bytes, padded_tail};
use super::simd::Simd;

/// Rows of a panel.
pub(super) const ROWS: usize = 16;

/// Rows that are unpacked together: as many as a vector of [`Simd`] has lanes.
const HALF: usize = 8;

/// Columns that a panel holds at most: one stays in the first-level cache beside the activations.
pub(super) const COLS: usize = 768;

const GROUPS: usize = COLS / 32;

const _: () = assert!(COLS.is_multiple_of(256), "a panel starts at a chunk and has room for whole ones");

/// Codes, scales and offsets of 16 rows × up to [`COLS`] columns.
#[repr(C, align(64))]
pub(super) struct Panel {
    /// Per group: 8 lines of 4 codes × 16 rows.
    pub codes: [[[[u8; 4]; ROWS]; 8]; GROUPS],
    /// Per group of 32 (or two per group, if split): scales of the rows.
    pub scales: [[f32; ROWS]; 2 * GROUPS],
    /// Offsets, as the scales.
    pub offsets: [[f32; ROWS]; 2 * GROUPS],
}

impl Panel {
    pub fn boxed() -> Box<Panel> {
        // SAFETY: every field is plain numbers, for which zero bytes are valid.
        unsafe { Box::<Panel>::new_zeroed().assume_init() }
    }
}

/// Unpacks columns `cols` (a range of whole chunks, except at the row's end) of rows `first..first + ROWS`.
/// Rows at or past `end` repeat the last row; their results are not stored. With `SHIFT`, signed codes become unsigned ones that
/// are larger by 128.
///
/// # Safety
/// `first < end <= rows` of the weights, at most [`COLS`] columns, starting at a chunk; and as [`crate::quant::matmul_rows`].
#[inline(always)]
pub(super) unsafe fn unpack<S: Simd, F: Format, const SHIFT: bool>(
    weights: &Weights<'_>,
    (first, end): (usize, usize),
    cols: std::ops::Range<usize>,
    panel: &mut Panel,
) {
    let row_bytes = weights.row_bytes();
    let groups = cols.len() / 32;
    let mut tails = [[0u8; 8 * 36]; HALF];
    // SAFETY: every pointer is within its row's bytes; a chunk that the row has only in part is copied.
    unsafe {
        let start = cols.start / 256 * chunk_bytes::<F>();
        for half in 0..ROWS / HALF {
            let first = first + half * HALF;
            let mut rows = [weights.bytes.as_ptr(); HALF];
            for (i, row) in rows.iter_mut().enumerate() {
                *row = row.add((first + i).min(end - 1) * row_bytes + start);
            }
            for c in 0..groups.div_ceil(8) {
                let here = (groups - c * 8).min(8);
                let mut chunks = rows;
                for (chunk, tail) in chunks.iter_mut().zip(&mut tails) {
                    *chunk = chunk.add(c * chunk_bytes::<F>());
                    if here < 8 {
                        *tail = padded_tail::<F>(*chunk, here);
                        *chunk = tail.as_ptr();
                    }
                }
                unpack_chunk::<S, F, SHIFT>(chunks, panel, half * HALF, (c, here));
            }
        }
    }
}

// A vector that passes through the closure of `map` or `from_fn` may cost a call, because closures are not compiled for
// the instruction set unless they are inlined; hence the plain loops.

/// Unpacks chunk `c` of 8 rows, of which the first `groups` groups count, to the panel's rows from `row` on.
///
/// # Safety
/// A whole chunk must be readable at each of `rows`, and the panel must have chunk `c`.
#[inline(always)]
unsafe fn unpack_chunk<S: Simd, F: Format, const SHIFT: bool>(
    rows: [*const u8; HALF],
    panel: &mut Panel,
    row: usize,
    (c, groups): (usize, usize),
) {
    // SAFETY: the caller has 8 readable groups at each pointer, and the panel has room for chunk `c`.
    unsafe {
        let zero = [S::no_floats(); HALF];
        let (mut scales, mut offsets) = ([zero; 2], [zero; 2]);
        for i in 0..HALF {
            let s = F::scales::<S>(rows[i]);
            for part in 0..2 {
                scales[part][i] = s.scale[part];
                offsets[part][i] = s.offset[part];
            }
        }
        for part in 0..if F::SPLIT { 2 } else { 1 } {
            let at = if F::SPLIT { c * 16 + part * 8 } else { c * 8 };
            S::store_transposed(
                &scales[part],
                panel.scales[at..at + 8].as_mut_ptr().cast::<f32>().add(row),
                ROWS,
            );
            if F::OFFSET {
                let to = panel.offsets[at..at + 8].as_mut_ptr().cast::<f32>().add(row);
                S::store_transposed(&offsets[part], to, ROWS);
            }
        }
        macro_rules! group {
            ($($g:literal)*) => {$(
                if groups > $g {
                    let mut codes = zero;
                    for i in 0..HALF {
                        let plain = F::codes::<S, $g>(rows[i]);
                        let shifted = if SHIFT { S::add_bytes(plain, S::splat_byte(128)) } else { plain };
                        codes[i] = S::as_words(shifted);
                    }
                    let to = panel.codes[c * 8 + $g].as_mut_ptr().cast::<f32>().add(row);
                    S::store_transposed(&codes, to, ROWS);
                }
            )*};
        }
        group!(0 1 2 3 4 5 6 7);
    }
}

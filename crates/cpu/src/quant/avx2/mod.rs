//! Products with AVX2: `vpmaddubsw` of unsigned weight codes and signed activation codes.
//!
//! A format says only how 32 of its codes become bytes of a register and where its scales are ([`Format`]);
//! [`dot`] (few activations) and [`panel`] + [`tile`] (many) are written once for all of them.

mod dot;
mod nibbles;
mod panel;
mod superblocks;
mod tile;

use std::arch::x86_64::*;
use std::ops::Range;

use wootz_blocks::BlockFormat;

use super::{Acts, Output, Weights};

/// A format as the kernels see it: chunks of 8 groups of 32 codes, which is 8 small blocks or one large block.
///
/// # Safety
/// Functions read only the bytes of the chunk. All need AVX2, FMA and F16C, and inline into functions that have them.
trait Format {
    /// Bytes of a block.
    const BYTES: usize;
    /// Whether a block is a whole chunk of 256 values (else it has 32).
    const LARGE: bool;
    /// Whether each 16 codes have a scale of their own (else each 32).
    const SPLIT: bool;
    /// Whether codes are signed bytes (else unsigned, and any offset is part of the scales).
    const SIGNED: bool;
    /// Whether offsets are to be added.
    const OFFSET: bool;
    /// Largest unsigned code, which bounds how many 16-bit products can be summed.
    const MAX_CODE: usize;

    /// Codes of group `G` of the chunk.
    ///
    /// # Safety
    /// The chunk must have that group.
    unsafe fn codes<const G: usize>(chunk: *const u8) -> __m256i;

    /// Scales and offsets of the 8 groups; all 8 blocks must be readable.
    ///
    /// # Safety
    /// As said, the whole chunk is read.
    unsafe fn scales(chunk: *const u8) -> Scales;
}

/// Scales and offsets of a chunk: of groups of 32 in `[0]`, or of groups of 16, the first 8 in `[0]`.
#[derive(Clone, Copy)]
struct Scales {
    scale: [__m256; 2],
    offset: [__m256; 2],
}

/// Bytes of a chunk.
const fn chunk_bytes<F: Format>() -> usize {
    if F::LARGE { F::BYTES } else { 8 * F::BYTES }
}

/// A chunk's copy, with zeros behind the blocks that are there.
///
/// # Safety
/// `blocks` must be below 8, and as many blocks readable at `tail`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn padded_tail<F: Format>(tail: *const u8, blocks: usize) -> [u8; 8 * 36] {
    let mut copy = [0u8; 8 * 36];
    // SAFETY: the caller has `blocks` < 8 blocks of at most 36 bytes at `tail`.
    unsafe { std::ptr::copy_nonoverlapping(tail, copy.as_mut_ptr(), blocks * F::BYTES) };
    copy
}

/// From this many activation rows on, unpacking weights into tiles is cheaper than decoding them per row.
const TILE_FROM: usize = 4;

/// See [`super::matmul_rows`].
///
/// # Safety
/// As there; `rows` must lie within the weights, the columns agree, and the processor must have AVX2, FMA and F16C.
pub(super) unsafe fn matmul_rows(weights: &Weights<'_>, acts: &Acts<'_>, rows: Range<usize>, out: Output) {
    use nibbles::*;
    use superblocks::*;
    let run = match weights.format {
        BlockFormat::Q4_0 => run::<Q4_0>,
        BlockFormat::Q4_1 => run::<Q4_1>,
        BlockFormat::Q5_0 => run::<Q5_0>,
        BlockFormat::Q5_1 => run::<Q5_1>,
        BlockFormat::Q8_0 => run::<Q8_0>,
        BlockFormat::Q2_K => run::<Q2K>,
        BlockFormat::Q3_K => run::<Q3K>,
        BlockFormat::Q4_K => run::<Q4K>,
        BlockFormat::Q5_K => run::<Q5K>,
        BlockFormat::Q6_K => run::<Q6K>,
        BlockFormat::IQ4_NL => run::<Iq4Nl>,
        BlockFormat::IQ4_XS => run::<Iq4Xs>,
        BlockFormat::MXFP4 => run::<Mxfp4>,
        BlockFormat::Q8_K | BlockFormat::F32 | BlockFormat::F16 | BlockFormat::BF16 => {
            unreachable!("Weights::new refuses {}", weights.format)
        }
    };
    // SAFETY: the caller's promises.
    unsafe { run(weights, acts, rows, out) }
}

/// The product with one kernel or the other.
///
/// # Safety
/// As [`matmul_rows`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn run<F: Format>(weights: &Weights<'_>, acts: &Acts<'_>, rows: Range<usize>, out: Output) {
    // SAFETY: this function has the features; the rest is the caller's promise.
    unsafe {
        if acts.rows() < TILE_FROM {
            dot::rows::<F>(weights, acts, rows, out);
        } else {
            tile::rows::<F>(weights, acts, rows, out);
        }
    }
}

/// Sums of 4 products each: 32 codes × 32 activations to 8 integers.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn multiply<F: Format>(codes: __m256i, acts: __m256i) -> __m256i {
    let pairs = if F::SIGNED {
        // |w| * (a with the sign of w): at most 2 * 128 * 127, which fits 16 bits.
        _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(acts, codes))
    } else {
        _mm256_maddubs_epi16(codes, acts)
    };
    _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
}

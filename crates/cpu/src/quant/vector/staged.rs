//! Formats whose codes come from tables: rows are unpacked to plain codes first, and those are multiplied.
//!
//! What unpacks is the definition in `wootz-blocks`. A few rows at a time are unpacked, into memory that stays in the
//! second-level cache, so that every kernel serves these formats as it serves a format of signed bytes.

use std::cell::RefCell;
use std::ops::Range;

use wootz_blocks::{BlockFormat, CodedBlock, Group, formats::*};

use super::format::{Format, Scales};
use super::simd::Simd;
use super::{Acts, Kernel, Output, TILE_FROM, Weights};
use crate::quant::Stored;

/// Rows unpacked together: some tiles, or, for a few activations, what the first-level cache holds.
const ROWS: (usize, usize) = (64, 4);

/// A chunk of 256 values, unpacked.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(super) struct Chunk {
    codes: [i8; 256],
    /// Of groups of 16.
    scales: [f32; 16],
}

/// The format of unpacked chunks.
pub(super) struct Staged;

impl Format for Staged {
    const BYTES: usize = size_of::<Chunk>();
    const LARGE: bool = true;
    const SPLIT: bool = true;
    const SIGNED: bool = true;
    const OFFSET: bool = false;
    const MAX_CODE: usize = 128;

    #[inline(always)]
    unsafe fn codes<S: Simd, const G: usize>(chunk: *const u8) -> S::Bytes {
        // SAFETY: the caller has the chunk.
        unsafe { S::load_bytes(chunk.add(32 * G)) }
    }

    #[inline(always)]
    unsafe fn scales<S: Simd>(chunk: *const u8) -> Scales<S> {
        // SAFETY: the caller has the chunk, whose scales follow its codes.
        unsafe {
            let scales = chunk.add(256).cast::<f32>();
            Scales { scale: [S::load(scales), S::load(scales.add(8))], offset: [S::no_floats(); 2] }
        }
    }
}

/// Unpacks a row, with zeros behind it.
type Unpack = fn(&[u8], &mut [Chunk]);

/// What unpacks rows of the format; `None` if kernels read its blocks.
fn unpacker(format: BlockFormat) -> Option<Unpack> {
    Some(match format {
        BlockFormat::IQ1_S => unpack::<iq1::BlockIq1S>,
        BlockFormat::IQ1_M => unpack::<iq1::BlockIq1M>,
        BlockFormat::IQ2_XXS => unpack::<iq2::BlockIq2Xxs>,
        BlockFormat::IQ2_XS => unpack::<iq2::BlockIq2Xs>,
        BlockFormat::IQ2_S => unpack::<iq2::BlockIq2S>,
        BlockFormat::IQ3_XXS => unpack::<iq3::BlockIq3Xxs>,
        BlockFormat::IQ3_S => unpack::<iq3::BlockIq3S>,
        BlockFormat::TQ1_0 => unpack::<ternary::BlockTq1>,
        BlockFormat::TQ2_0 => unpack::<ternary::BlockTq2>,
        BlockFormat::Q1_0 => unpack::<ternary::BlockQ1>,
        BlockFormat::NVFP4 => unpack::<nvfp4::BlockNvfp4>,
        BlockFormat::Q4_0
        | BlockFormat::Q4_1
        | BlockFormat::Q5_0
        | BlockFormat::Q5_1
        | BlockFormat::Q8_0
        | BlockFormat::Q2_K
        | BlockFormat::Q3_K
        | BlockFormat::Q4_K
        | BlockFormat::Q5_K
        | BlockFormat::Q6_K
        | BlockFormat::Q8_K
        | BlockFormat::IQ4_NL
        | BlockFormat::IQ4_XS
        | BlockFormat::MXFP4
        | BlockFormat::F32
        | BlockFormat::F16
        | BlockFormat::BF16 => return None,
    })
}

fn unpack<B: CodedBlock>(row: &[u8], chunks: &mut [Chunk]) {
    const { assert!(256 % B::LEN == 0 && !B::HAS_OFFSET, "blocks make up whole chunks") };
    let per_chunk = 256 / B::LEN;
    let mut groups = [Group::default(); 16];
    for (blocks, chunk) in row.chunks(per_chunk * size_of::<B>()).zip(chunks) {
        if blocks.len() < per_chunk * size_of::<B>() {
            *chunk = bytemuck::Zeroable::zeroed();
        }
        for (i, raw) in blocks.chunks_exact(size_of::<B>()).enumerate() {
            let block: B = bytemuck::pod_read_unaligned(raw);
            block.codes(&mut chunk.codes[i * B::LEN..][..B::LEN]);
            let groups = &mut groups[..B::LEN / B::GROUP];
            block.groups(groups);
            let halves = B::GROUP / 16;
            for (j, scale) in chunk.scales[i * B::LEN / 16..][..B::LEN / 16].iter_mut().enumerate() {
                *scale = groups[j / halves].scale;
            }
        }
    }
}

/// The product by a kernel that reads chunks.
///
/// # Safety
/// As [`crate::quant::matmul_rows`], the rows being within the weights, and the processor having what the kernel asks for.
pub(super) unsafe fn rows(
    kernel: Kernel,
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output<'_>,
) {
    thread_local! {
        static CHUNKS: RefCell<Vec<Chunk>> = const { RefCell::new(Vec::new()) };
    }
    let Some(unpack) = unpacker(weights.format) else { return };
    let (per_row, row_bytes) = (weights.cols.div_ceil(256), weights.row_bytes());
    CHUNKS.with_borrow_mut(|chunks| {
        let few = acts.rows() < TILE_FROM && !acts.is_batch_invariant();
        let together = if few { ROWS.1 } else { ROWS.0 };
        for start in rows.clone().step_by(together) {
            let count = together.min(rows.end - start);
            chunks.resize(count * per_row, bytemuck::Zeroable::zeroed());
            if per_row > 0 {
                let bytes = &weights.bytes[start * row_bytes..][..count * row_bytes];
                for (row, chunks) in bytes.chunks_exact(row_bytes).zip(chunks.chunks_exact_mut(per_row)) {
                    unpack(row, chunks);
                }
            }
            let bytes = bytemuck::cast_slice(chunks);
            // Whole chunks, as activations are padded to: what is beyond the row is zero on both sides.
            let staged = Weights {
                stored: Stored::Chunks,
                row_bytes: bytes.len().checked_div(count).unwrap_or(0),
                bytes,
                rows: count,
                cols: 256 * per_row,
                ..*weights
            };
            // SAFETY: row `r` of the staged ones is row `start + r`, whose places the caller gives.
            unsafe { kernel(&staged, acts, 0..count, out.after_weights(start)) };
        }
    });
}

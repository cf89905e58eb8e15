//! What the vector kernels need to know about a format.

use super::simd::Simd;

/// A format as the kernels see it: chunks of 8 groups of 32 codes, which is 8 small blocks or one large block.
///
/// # Safety
/// Functions read only the bytes of the chunk. They inline into functions that are compiled for the instruction set.
pub(super) trait Format {
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
    unsafe fn codes<S: Simd, const G: usize>(chunk: *const u8) -> S::Bytes;

    /// Scales and offsets of the 8 groups; all 8 blocks must be readable.
    ///
    /// # Safety
    /// As said, the whole chunk is read.
    unsafe fn scales<S: Simd>(chunk: *const u8) -> Scales<S>;
}

/// Scales and offsets of a chunk: of groups of 32 in `[0]`, or of groups of 16, the first 8 in `[0]`.
#[derive(Clone, Copy)]
pub(super) struct Scales<S: Simd> {
    pub scale: [S::Floats; 2],
    pub offset: [S::Floats; 2],
}

impl<S: Simd> Scales<S> {
    /// For groups of 32.
    #[inline(always)]
    pub fn whole(scale: S::Floats, offset: S::Floats) -> Scales<S> {
        Scales { scale: [scale; 2], offset: [offset; 2] }
    }

    /// Scales whose offset is a multiple of them: what makes codes unsigned.
    ///
    /// # Safety
    /// As all of [`Simd`].
    #[inline(always)]
    pub unsafe fn shifted(scale: [S::Floats; 2], by: f32) -> Scales<S> {
        // SAFETY: the caller's promise.
        unsafe {
            let by = S::splat(&by);
            Scales { scale, offset: [S::mul(scale[0], by), S::mul(scale[1], by)] }
        }
    }
}

/// Bytes of a chunk.
pub(super) const fn chunk_bytes<F: Format>() -> usize {
    if F::LARGE { F::BYTES } else { 8 * F::BYTES }
}

/// A chunk's copy, with zeros behind the blocks that are there.
///
/// # Safety
/// `blocks` must be below 8, and as many blocks readable at `tail`.
#[inline(always)]
pub(super) unsafe fn padded_tail<F: Format>(tail: *const u8, blocks: usize) -> [u8; 8 * 36] {
    let mut copy = [0u8; 8 * 36];
    // SAFETY: the caller has `blocks` < 8 blocks of at most 36 bytes at `tail`.
    unsafe { std::ptr::copy_nonoverlapping(tail, copy.as_mut_ptr(), blocks * F::BYTES) };
    copy
}

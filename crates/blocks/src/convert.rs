//! Dequantisation, quantisation and dot products of rows, for a format known at run time.

use crate::block::{Block, MAX_LEN};
use crate::format::BlockFormat;

/// Why a conversion was rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BlockError {
    /// The number of values is not a multiple of the block size.
    #[error("{format}: {len} values are not a multiple of its block of {} values", format.block_len())]
    PartialBlock {
        /// The format.
        format: BlockFormat,
        /// The number of values.
        len: usize,
    },
    /// The byte slice has the wrong length for the values.
    #[error("{format}: {len} values take {expected} bytes, but the buffer has {actual}")]
    ByteLength {
        /// The format.
        format: BlockFormat,
        /// The number of values.
        len: usize,
        /// The expected number of bytes.
        expected: usize,
        /// The actual number of bytes.
        actual: usize,
    },
    /// The importance weights have the wrong length.
    #[error("expected {len} importance weights, one per value, got {actual}")]
    ImportanceLength {
        /// The number of values.
        len: usize,
        /// The number of weights.
        actual: usize,
    },
    /// A value to quantise, or its importance, is NaN, infinite, or (for importance) negative.
    #[error("{what} {value} at index {index} cannot be quantised")]
    NotFinite {
        /// `"value"` or `"importance"`.
        what: &'static str,
        /// The offending number.
        value: f32,
        /// Its index.
        index: usize,
    },
}

/// The block functions of one format over slices whose lengths are already checked.
pub(crate) struct Codec {
    decode: fn(&[u8], &mut [f32]),
    encode: fn(&[f32], Option<&[f32]>, &mut [u8]),
    dot: fn(&[u8], &[f32]) -> f64,
}

pub(crate) fn codec<B: Block>() -> Codec {
    Codec { decode: decode_blocks::<B>, encode: encode_blocks::<B>, dot: dot_blocks::<B> }
}

fn decode_blocks<B: Block>(bytes: &[u8], out: &mut [f32]) {
    for (raw, out) in bytes.chunks_exact(size_of::<B>()).zip(out.chunks_exact_mut(B::LEN)) {
        bytemuck::pod_read_unaligned::<B>(raw).decode(out);
    }
}

fn encode_blocks<B: Block>(x: &[f32], importance: Option<&[f32]>, out: &mut [u8]) {
    for (i, (x, out)) in x.chunks_exact(B::LEN).zip(out.chunks_exact_mut(size_of::<B>())).enumerate() {
        let block = B::encode(x, importance.map(|w| &w[i * B::LEN..][..B::LEN]));
        out.copy_from_slice(bytemuck::bytes_of(&block));
    }
}

fn dot_blocks<B: Block>(bytes: &[u8], x: &[f32]) -> f64 {
    let mut values = [0f32; MAX_LEN];
    let mut sum = 0f64;
    for (raw, x) in bytes.chunks_exact(size_of::<B>()).zip(x.chunks_exact(B::LEN)) {
        bytemuck::pod_read_unaligned::<B>(raw).decode(&mut values[..B::LEN]);
        sum += values.iter().zip(x).map(|(&v, &x)| f64::from(v) * f64::from(x)).sum::<f64>();
    }
    sum
}

fn check(format: BlockFormat, len: usize, bytes: usize) -> Result<(), BlockError> {
    let expected = format.bytes_of(len).ok_or(BlockError::PartialBlock { format, len })?;
    if expected != bytes {
        return Err(BlockError::ByteLength { format, len, expected, actual: bytes });
    }
    Ok(())
}

/// Dequantises `bytes` to `out`.
pub fn dequantize(format: BlockFormat, bytes: &[u8], out: &mut [f32]) -> Result<(), BlockError> {
    check(format, out.len(), bytes.len())?;
    (format.codec().decode)(bytes, out);
    Ok(())
}

/// Quantises `x` to `out`; `importance`, if given, weights the squared error of each value.
pub fn quantize(
    format: BlockFormat,
    x: &[f32],
    importance: Option<&[f32]>,
    out: &mut [u8],
) -> Result<(), BlockError> {
    check(format, x.len(), out.len())?;
    if !format.is_float()
        && let Some(index) = x.iter().position(|v| !v.is_finite())
    {
        return Err(BlockError::NotFinite { what: "value", value: x[index], index });
    }
    if let Some(w) = importance {
        if w.len() != x.len() {
            return Err(BlockError::ImportanceLength { len: x.len(), actual: w.len() });
        }
        if let Some(index) = w.iter().position(|v| !v.is_finite() || *v < 0.0) {
            return Err(BlockError::NotFinite { what: "importance", value: w[index], index });
        }
    }
    (format.codec().encode)(x, importance, out);
    Ok(())
}

/// The reference dot product of a quantised row with `x`, accumulated in f64.
pub fn dot(format: BlockFormat, bytes: &[u8], x: &[f32]) -> Result<f64, BlockError> {
    check(format, x.len(), bytes.len())?;
    Ok((format.codec().dot)(bytes, x))
}

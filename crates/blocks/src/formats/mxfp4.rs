//! MXFP4: 32 codes of the e2m1 float format with a shared power-of-two scale; 17 bytes.
//! `value = 2^(e - 128) * TABLE[code]`, the table holding the e2m1 values doubled.

use bytemuck::{Pod, Zeroable};

use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::extreme;

/// Twice the values of the 16 e2m1 codes.
pub const TABLE: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Layout of a block: nibbles as in Q4_0.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockMxfp4 {
    /// Exponent, biased by 127.
    pub e: u8,
    /// Nibbles.
    pub qs: [u8; 16],
}

/// `2^(e - 128)`: half of the e8m0 scale, because the table is doubled. Subnormal for the two smallest.
pub fn half_scale(e: u8) -> f32 {
    f32::from_bits(if e < 2 { 0x0020_0000 << e } else { u32::from(e - 1) << 23 })
}

/// The code whose value, doubled, is nearest.
pub(super) fn nearest(x: f32) -> u8 {
    let m = x.abs();
    let code: u8 =
        TABLE[..8].windows(2).map(|p| u8::from(m > (f32::from(p[0]) + f32::from(p[1])) * 0.5)).sum();
    if x < 0.0 && code > 0 { code + 8 } else { code }
}

impl Block for BlockMxfp4 {
    const LEN: usize = 32;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let max = extreme(x).abs();
        let bits = if max > 0.0 { max.log2().floor() as i32 - 2 + 127 } else { 0 };
        // The exponent that fits the largest value without clipping much, and the next larger one.
        let error = |e: u8| -> f32 {
            let scale = half_scale(e);
            let one = |i: usize| {
                let d = scale * f32::from(TABLE[usize::from(nearest(x[i] / scale))]) - x[i];
                importance.map_or(1.0, |w| w[i]) * d * d
            };
            (0..32).map(one).sum()
        };
        let (low, high) = (bits.clamp(0, 254) as u8, (bits + 1).clamp(0, 254) as u8);
        let e = if error(high) < error(low) { high } else { low };
        let q: [u8; 32] = std::array::from_fn(|i| nearest(x[i] / half_scale(e)));
        BlockMxfp4 { e, qs: std::array::from_fn(|i| q[i] | q[i + 16] << 4) }
    }
}

impl CodedBlock for BlockMxfp4 {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-12, 12);

    fn codes(&self, codes: &mut [i8]) {
        for (i, q) in self.qs.iter().enumerate() {
            codes[i] = TABLE[usize::from(q & 15)];
            codes[i + 16] = TABLE[usize::from(q >> 4)];
        }
    }

    fn groups(&self, groups: &mut [Group]) {
        groups[0] = Group { scale: half_scale(self.e), offset: 0.0 };
    }
}

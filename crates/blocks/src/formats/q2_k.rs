//! Q2_K: 256 codes of 2 bits, 16 groups of 16 with 4-bit scales and offsets; 84 bytes.
//! `value = d * scale * code - dmin * offset`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::super_block::encode_affine;
use crate::block::{Block, CodedBlock, Group, decode_codes};

/// Layout of a block. Each half of 128 values is 32 bytes; value `32 * s + i` of the half is bits `2 s` and up of byte `i`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ2K {
    /// Per group: scale in the low, offset in the high nibble.
    pub scales: [u8; 16],
    /// Codes.
    pub qs: [u8; 64],
    /// Scale of the scales.
    pub d: f16,
    /// Scale of the offsets.
    pub dmin: f16,
}

impl Block for BlockQ2K {
    const LEN: usize = 256;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let b = encode_affine::<16, 16>(x, importance, 3, 15);
        BlockQ2K {
            scales: std::array::from_fn(|g| b.scales[g] | b.offsets[g] << 4),
            qs: pack_2bit(&b.codes),
            d: b.d,
            dmin: b.dmin,
        }
    }
}

impl CodedBlock for BlockQ2K {
    const GROUP: usize = 16;
    const HAS_OFFSET: bool = true;
    const CODES: (i8, i8) = (0, 3);

    fn codes(&self, codes: &mut [i8]) {
        unpack_2bit(&self.qs, codes);
    }

    fn groups(&self, groups: &mut [Group]) {
        let (d, dmin) = (self.d.to_f32(), self.dmin.to_f32());
        for (g, &s) in groups.iter_mut().zip(&self.scales) {
            *g = Group { scale: d * f32::from(s & 15), offset: -(dmin * f32::from(s >> 4)) };
        }
    }
}

/// Packs codes `0..=3` four to a byte.
pub(super) fn pack_2bit(codes: &[u8; 256]) -> [u8; 64] {
    std::array::from_fn(|b| {
        let (half, i) = (b / 32 * 128, b % 32);
        (0..4).fold(0, |q, s| q | codes[half + 32 * s + i] << (2 * s))
    })
}

/// The inverse of [`pack_2bit`].
pub(super) fn unpack_2bit(qs: &[u8; 64], codes: &mut [i8]) {
    for (j, codes) in codes.chunks_exact_mut(32).enumerate() {
        for (i, c) in codes.iter_mut().enumerate() {
            *c = (qs[j / 4 * 32 + i] >> (2 * (j % 4)) & 3) as i8;
        }
    }
}

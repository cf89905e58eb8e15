//! Q5_K: 256 codes of 5 bits, 8 groups of 32 with 6-bit scales and offsets; 176 bytes.
//! `value = d * scale * code - dmin * offset`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::q4_k::{affine_groups, pack_nibbles, unpack_nibbles};
use super::super_block::{encode_affine, pack_scales_6bit};
use crate::block::{Block, CodedBlock, Group, decode_codes};

/// Layout of a block: as Q4_K, and bit `g` of `qh[i]` is the fifth bit of value `i` of group `g`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ5K {
    /// Scale of the scales.
    pub d: f16,
    /// Scale of the offsets.
    pub dmin: f16,
    /// Scales and offsets, as in Q4_K.
    pub scales: [u8; 12],
    /// Fifth bits.
    pub qh: [u8; 32],
    /// Low nibbles.
    pub qs: [u8; 128],
}

impl Block for BlockQ5K {
    const LEN: usize = 256;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let b = encode_affine::<8, 32>(x, importance, 31, 63);
        let qh = std::array::from_fn(|i| (0..8).fold(0u8, |h, g| h | (b.codes[32 * g + i] >> 4) << g));
        let scales = pack_scales_6bit(&b.scales, &b.offsets);
        BlockQ5K { d: b.d, dmin: b.dmin, scales, qh, qs: pack_nibbles(&b.codes) }
    }
}

impl CodedBlock for BlockQ5K {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = true;
    const CODES: (i8, i8) = (0, 31);

    fn codes(&self, codes: &mut [i8]) {
        unpack_nibbles(&self.qs, codes);
        for (g, codes) in codes.chunks_exact_mut(32).enumerate() {
            for (c, h) in codes.iter_mut().zip(&self.qh) {
                *c |= ((h >> g & 1) << 4) as i8;
            }
        }
    }

    fn groups(&self, groups: &mut [Group]) {
        affine_groups(self.d, self.dmin, &self.scales, groups);
    }
}

//! Q6_K: 256 codes of 6 bits, 16 groups of 16 with 8-bit scales; 210 bytes.
//! `value = d * scale * (code - 32)`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::q3_k::encode_symmetric;
use crate::block::{Block, CodedBlock, Group, decode_codes};

/// Layout of a block. Each half of 128 values has 64 bytes of `ql` and 32 of `qh`. Quarter `j` (32 values)
/// of a half has its low nibbles in bytes `32 (j % 2)` and up of `ql`, nibble `j / 2`, and its high bits in
/// bits `2 j` and up of `qh`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ6K {
    /// Low nibbles.
    pub ql: [u8; 128],
    /// High 2 bits.
    pub qh: [u8; 64],
    /// Scales of the groups.
    pub scales: [i8; 16],
    /// Scale of the scales.
    pub d: f16,
}

impl Block for BlockQ6K {
    const LEN: usize = 256;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let b = encode_symmetric(x, importance, 32, 128);
        let (mut ql, mut qh) = ([0; 128], [0; 64]);
        for (i, c) in b.codes.iter().enumerate() {
            let (half, j, l) = (i / 128, i % 128 / 32, i % 32);
            let c = (c + 32) as u8;
            ql[half * 64 + j % 2 * 32 + l] |= (c & 15) << (4 * (j / 2));
            qh[half * 32 + l] |= (c >> 4) << (2 * j);
        }
        BlockQ6K { ql, qh, scales: b.scales, d: b.d }
    }
}

impl CodedBlock for BlockQ6K {
    const GROUP: usize = 16;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-32, 31);

    fn codes(&self, codes: &mut [i8]) {
        for (q, codes) in codes.chunks_exact_mut(32).enumerate() {
            let (half, j) = (q / 4, q % 4);
            let low = &self.ql[half * 64 + j % 2 * 32..][..32];
            let high = &self.qh[half * 32..][..32];
            for (c, (low, high)) in codes.iter_mut().zip(low.iter().zip(high)) {
                *c = ((low >> (4 * (j / 2)) & 15) | (high >> (2 * j) & 3) << 4) as i8 - 32;
            }
        }
    }

    fn groups(&self, groups: &mut [Group]) {
        let d = self.d.to_f32();
        for (g, &s) in groups.iter_mut().zip(&self.scales) {
            *g = Group { scale: d * f32::from(s), offset: 0.0 };
        }
    }
}

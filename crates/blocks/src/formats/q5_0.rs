//! Q5_0: 32 codes of 5 bits, one scale; 22 bytes. `value = d * (code - 16)`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{code, group, mean_square, reciprocal, symmetric, to_f16, weights};

/// Layout of a block: nibbles as in Q4_0, and the fifth bit of value `i` as bit `i` of `qh`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ5_0 {
    /// Scale.
    pub d: f16,
    /// Fifth bits, little-endian.
    pub qh: [u8; 4],
    /// Low nibbles.
    pub qs: [u8; 16],
}

impl Block for BlockQ5_0 {
    const LEN: usize = 32;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let x: [f32; 32] = group(x, 0);
        let d = to_f16(symmetric(&x, &weights(&x, importance, mean_square(&x)), 16));
        let inverse = reciprocal(d.to_f32());
        let q = x.map(|v| (code(v * inverse, -16.0, 15.0) + 16.0) as u8);
        let (qh, qs) = pack_5bit(&q);
        BlockQ5_0 { d, qh, qs }
    }
}

impl CodedBlock for BlockQ5_0 {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-16, 15);

    fn codes(&self, codes: &mut [i8]) {
        unpack_5bit(&self.qh, &self.qs, codes);
        codes[..32].iter_mut().for_each(|c| *c -= 16);
    }

    fn groups(&self, groups: &mut [Group]) {
        groups[0] = Group { scale: self.d.to_f32(), offset: 0.0 };
    }
}

/// Splits 5-bit codes into high bits and nibbles.
pub(super) fn pack_5bit(q: &[u8; 32]) -> ([u8; 4], [u8; 16]) {
    let high = (0..32).fold(0u32, |h, i| h | u32::from(q[i] >> 4) << i);
    (high.to_le_bytes(), std::array::from_fn(|i| (q[i] & 15) | (q[i + 16] & 15) << 4))
}

/// Joins high bits and nibbles to codes `0..=31`.
pub(super) fn unpack_5bit(qh: &[u8; 4], qs: &[u8; 16], codes: &mut [i8]) {
    let high = u32::from_le_bytes(*qh);
    for i in 0..16 {
        codes[i] = ((qs[i] & 15) | ((high >> i & 1) << 4) as u8) as i8;
        codes[i + 16] = ((qs[i] >> 4) | ((high >> (i + 16) & 1) << 4) as u8) as i8;
    }
}

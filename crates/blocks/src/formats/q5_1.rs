//! Q5_1: 32 codes of 5 bits, scale and offset; 24 bytes. `value = d * code + m`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::q5_0::{pack_5bit, unpack_5bit};
use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{affine, code, group, mean_square, reciprocal, to_f16, weights};

/// Layout of a block: as Q5_0, with an offset.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ5_1 {
    /// Scale.
    pub d: f16,
    /// Offset.
    pub m: f16,
    /// Fifth bits, little-endian.
    pub qh: [u8; 4],
    /// Low nibbles.
    pub qs: [u8; 16],
}

impl Block for BlockQ5_1 {
    const LEN: usize = 32;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let x: [f32; 32] = group(x, 0);
        let (scale, offset) = affine(&x, &weights(&x, importance, mean_square(&x)), 31, false);
        let (d, m) = (to_f16(scale), to_f16(offset));
        let (inverse, offset) = (reciprocal(d.to_f32()), m.to_f32());
        let (qh, qs) = pack_5bit(&x.map(|v| code((v - offset) * inverse, 0.0, 31.0) as u8));
        BlockQ5_1 { d, m, qh, qs }
    }
}

impl CodedBlock for BlockQ5_1 {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = true;
    const CODES: (i8, i8) = (0, 31);

    fn codes(&self, codes: &mut [i8]) {
        unpack_5bit(&self.qh, &self.qs, codes);
    }

    fn groups(&self, groups: &mut [Group]) {
        groups[0] = Group { scale: self.d.to_f32(), offset: self.m.to_f32() };
    }
}

//! Q4_1: 32 codes of 4 bits, scale and offset; 20 bytes. `value = d * code + m`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{affine, code, group, mean_square, reciprocal, to_f16, weights};

/// Layout of a block: byte `i` holds value `i` in its low and value `i + 16` in its high nibble.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ4_1 {
    /// Scale.
    pub d: f16,
    /// Offset.
    pub m: f16,
    /// Nibbles.
    pub qs: [u8; 16],
}

impl Block for BlockQ4_1 {
    const LEN: usize = 32;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let x: [f32; 32] = group(x, 0);
        let (scale, offset) = affine(&x, &weights(&x, importance, mean_square(&x)), 15, false);
        let (d, m) = (to_f16(scale), to_f16(offset));
        let (inverse, offset) = (reciprocal(d.to_f32()), m.to_f32());
        let q = x.map(|v| code((v - offset) * inverse, 0.0, 15.0) as u8);
        BlockQ4_1 { d, m, qs: std::array::from_fn(|i| q[i] | q[i + 16] << 4) }
    }
}

impl CodedBlock for BlockQ4_1 {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = true;
    const CODES: (i8, i8) = (0, 15);

    fn codes(&self, codes: &mut [i8]) {
        for (i, q) in self.qs.iter().enumerate() {
            codes[i] = (q & 15) as i8;
            codes[i + 16] = (q >> 4) as i8;
        }
    }

    fn groups(&self, groups: &mut [Group]) {
        groups[0] = Group { scale: self.d.to_f32(), offset: self.m.to_f32() };
    }
}

//! Q4_0: 32 codes of 4 bits, one scale; 18 bytes. `value = d * (code - 8)`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{code, group, mean_square, reciprocal, symmetric, to_f16, weights};

/// Layout of a block: byte `i` holds value `i` in its low and value `i + 16` in its high nibble.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ4_0 {
    /// Scale.
    pub d: f16,
    /// Nibbles.
    pub qs: [u8; 16],
}

impl Block for BlockQ4_0 {
    const LEN: usize = 32;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let x: [f32; 32] = group(x, 0);
        let d = to_f16(symmetric(&x, &weights(&x, importance, mean_square(&x)), 8));
        let inverse = reciprocal(d.to_f32());
        let q = x.map(|v| (code(v * inverse, -8.0, 7.0) + 8.0) as u8);
        BlockQ4_0 { d, qs: std::array::from_fn(|i| q[i] | q[i + 16] << 4) }
    }
}

impl CodedBlock for BlockQ4_0 {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-8, 7);

    fn codes(&self, codes: &mut [i8]) {
        for (i, q) in self.qs.iter().enumerate() {
            codes[i] = (q & 15) as i8 - 8;
            codes[i + 16] = (q >> 4) as i8 - 8;
        }
    }

    fn groups(&self, groups: &mut [Group]) {
        groups[0] = Group { scale: self.d.to_f32(), offset: 0.0 };
    }
}

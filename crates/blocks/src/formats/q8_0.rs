//! Q8_0: 32 codes of 8 bits, one scale; 34 bytes. `value = d * code`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{extreme, reciprocal, to_f16};

/// Layout of a block.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ8_0 {
    /// Scale.
    pub d: f16,
    /// Codes.
    pub qs: [i8; 32],
}

impl Block for BlockQ8_0 {
    const LEN: usize = 32;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    /// Plain rounding: at 8 bits a search gains nothing, and the bytes then equal every other tool's.
    fn encode(x: &[f32], _importance: Option<&[f32]>) -> Self {
        let scale = extreme(x).abs() / 127.0;
        let inverse = reciprocal(scale);
        let qs = std::array::from_fn(|i| (x[i] * inverse).round() as i8);
        BlockQ8_0 { d: to_f16(scale), qs }
    }
}

impl CodedBlock for BlockQ8_0 {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-128, 127);

    fn codes(&self, codes: &mut [i8]) {
        codes[..32].copy_from_slice(&self.qs);
    }

    fn groups(&self, groups: &mut [Group]) {
        groups[0] = Group { scale: self.d.to_f32(), offset: 0.0 };
    }
}

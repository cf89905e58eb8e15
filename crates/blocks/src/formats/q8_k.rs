//! Q8_K: 256 codes of 8 bits, one f32 scale, sums of 16 codes; 292 bytes. `value = d * code`.
//!
//! The activation side of the K formats: the sums serve the offsets of the weights.

use bytemuck::{Pod, Zeroable};

use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{code, extreme, reciprocal};

/// Layout of a block.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ8K {
    /// Scale.
    pub d: f32,
    /// Codes.
    pub qs: [i8; 256],
    /// Sums of 16 consecutive codes.
    pub sums: [i16; 16],
}

impl Block for BlockQ8K {
    const LEN: usize = 256;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], _importance: Option<&[f32]>) -> Self {
        let scale = extreme(x).abs() / 127.0;
        let inverse = reciprocal(scale);
        let qs: [i8; 256] = std::array::from_fn(|i| code(x[i] * inverse, -127.0, 127.0) as i8);
        let sums = std::array::from_fn(|g| qs[g * 16..][..16].iter().map(|&q| i16::from(q)).sum());
        BlockQ8K { d: scale, qs, sums }
    }
}

impl CodedBlock for BlockQ8K {
    const GROUP: usize = 256;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-128, 127);

    fn codes(&self, codes: &mut [i8]) {
        codes[..256].copy_from_slice(&self.qs);
    }

    fn groups(&self, groups: &mut [Group]) {
        groups[0] = Group { scale: self.d, offset: 0.0 };
    }
}

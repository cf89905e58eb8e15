//! IQ4_XS: 256 codes of 4 bits that index the table of IQ4_NL, 8 groups of 32 with 6-bit signed scales;
//! 136 bytes. `value = d * (scale - 32) * TABLE[code]`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::iq4_nl::{TABLE, nearest, table_scale};
use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{extreme, group, mean_square, neighbour, reciprocal, to_f16, weights};

/// Layout of a block: group `g` has 16 bytes of `qs`, with value `i` in the low and `i + 16` in the high nibble.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockIq4Xs {
    /// Scale of the scales.
    pub d: f16,
    /// High 2 bits of the scales.
    pub scales_h: u16,
    /// Low nibbles of the scales.
    pub scales_l: [u8; 4],
    /// Nibbles.
    pub qs: [u8; 128],
}

impl BlockIq4Xs {
    /// The 8 scales, −32..=31.
    pub fn unpacked_scales(&self) -> [i8; 8] {
        std::array::from_fn(|g| {
            let low = self.scales_l[g / 2] >> (4 * (g % 2)) & 15;
            let high = (self.scales_h >> (2 * g) & 3) as u8;
            (low | high << 4) as i8 - 32
        })
    }
}

impl Block for BlockIq4Xs {
    const LEN: usize = 256;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let sigma2 = mean_square(x);
        let groups: [[f32; 32]; 8] = std::array::from_fn(|g| group(x, g));
        let w: [[f32; 32]; 8] =
            std::array::from_fn(|g| weights(&groups[g], importance.map(|w| &w[g * 32..]), sigma2));
        let fits: [f32; 8] = std::array::from_fn(|g| table_scale(&groups[g], &w[g]));
        let d = to_f16(extreme(&fits) / -32.0);
        let inverse = reciprocal(d.to_f32());
        let mut block = BlockIq4Xs { d, scales_h: 0, scales_l: [0; 4], qs: [0; 128] };
        for g in 0..8 {
            let error = |s: i32| table_error(&groups[g], &w[g], d.to_f32() * s as f32);
            let s = neighbour((fits[g] * inverse).round() as i32, (-32, 31), error);
            let inverse = reciprocal(d.to_f32() * s as f32);
            let s = (s + 32) as u8;
            block.scales_l[g / 2] |= (s & 15) << (4 * (g % 2));
            block.scales_h |= u16::from(s >> 4) << (2 * g);
            let q = groups[g].map(|v| nearest(v * inverse));
            (0..16).for_each(|i| block.qs[g * 16 + i] = q[i] | q[i + 16] << 4);
        }
        block
    }
}

impl CodedBlock for BlockIq4Xs {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-127, 113);

    fn codes(&self, codes: &mut [i8]) {
        for (qs, codes) in self.qs.chunks_exact(16).zip(codes.chunks_exact_mut(32)) {
            for (i, q) in qs.iter().enumerate() {
                codes[i] = TABLE[usize::from(q & 15)];
                codes[i + 16] = TABLE[usize::from(q >> 4)];
            }
        }
    }

    fn groups(&self, groups: &mut [Group]) {
        let d = self.d.to_f32();
        for (g, s) in groups.iter_mut().zip(self.unpacked_scales()) {
            *g = Group { scale: d * f32::from(s), offset: 0.0 };
        }
    }
}

fn table_error(x: &[f32; 32], w: &[f32; 32], scale: f32) -> f32 {
    let inverse = reciprocal(scale);
    (0..32)
        .map(|i| {
            let d = scale * f32::from(TABLE[usize::from(nearest(x[i] * inverse))]) - x[i];
            w[i] * d * d
        })
        .sum()
}

//! Q3_K: 256 codes of 3 bits, 16 groups of 16 with 6-bit signed scales; 110 bytes.
//! `value = d * (scale - 32) * (code - 4)`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::q2_k::{pack_2bit, unpack_2bit};
use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{
    code, group, mean_square, neighbour, reciprocal, symmetric, symmetric_error, to_f16, weights,
};

/// Layout of a block: the low 2 bits of the codes as in Q2_K; bit `j` of `hmask[i]` is the third bit of
/// value `32 j + i`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ3K {
    /// Third bits.
    pub hmask: [u8; 32],
    /// Low 2 bits.
    pub qs: [u8; 64],
    /// 16 scales of 6 bits: low nibbles in bytes 0–7, high bits in bytes 8–11.
    pub scales: [u8; 12],
    /// Scale of the scales.
    pub d: f16,
}

impl BlockQ3K {
    /// The 16 scales, −32..=31.
    pub fn unpacked_scales(&self) -> [i8; 16] {
        std::array::from_fn(|g| {
            let low = self.scales[g % 8] >> (4 * (g / 8)) & 15;
            let high = self.scales[8 + g % 4] >> (2 * (g / 4)) & 3;
            (low | high << 4) as i8 - 32
        })
    }
}

impl Block for BlockQ3K {
    const LEN: usize = 256;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let b = encode_symmetric(x, importance, 4, 32);
        let mut scales = [0u8; 12];
        for (g, s) in b.scales.iter().enumerate() {
            let s = (i32::from(*s) + 32) as u8;
            scales[g % 8] |= (s & 15) << (4 * (g / 8));
            scales[8 + g % 4] |= (s >> 4) << (2 * (g / 4));
        }
        let codes = b.codes.map(|c| (c + 4) as u8);
        let hmask = std::array::from_fn(|i| (0..8).fold(0u8, |h, j| h | (codes[32 * j + i] >> 2) << j));
        BlockQ3K { hmask, qs: pack_2bit(&codes.map(|c| c & 3)), scales, d: b.d }
    }
}

impl CodedBlock for BlockQ3K {
    const GROUP: usize = 16;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-4, 3);

    fn codes(&self, codes: &mut [i8]) {
        unpack_2bit(&self.qs, codes);
        for (j, codes) in codes.chunks_exact_mut(32).enumerate() {
            for (c, h) in codes.iter_mut().zip(&self.hmask) {
                *c += ((h >> j & 1) << 2) as i8 - 4;
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

/// A super-block of 16 groups of 16 codes, each `d * scale * code`.
pub(super) struct Symmetric {
    pub d: f16,
    pub scales: [i8; 16],
    pub codes: [i8; 256],
}

/// Finds a super-block for `x` with codes `-n..n` and scales `-levels..levels`.
pub(super) fn encode_symmetric(x: &[f32], importance: Option<&[f32]>, n: i32, levels: i32) -> Symmetric {
    let sigma2 = mean_square(x);
    let groups: [[f32; 16]; 16] = std::array::from_fn(|g| group(x, g));
    let w: [[f32; 16]; 16] = std::array::from_fn(|g| {
        let own = importance.map(|w| &w[g * 16..]);
        weights(&groups[g], own, if own.is_some() { sigma2 } else { mean_square(&groups[g]) })
    });
    let fits: [f32; 16] = std::array::from_fn(|g| symmetric(&groups[g], &w[g], n));
    let d = to_f16(crate::search::extreme(&fits) / -levels as f32);
    let scale = d.to_f32();
    let inverse = reciprocal(scale);
    let mut block = Symmetric { d, scales: [0; 16], codes: [0; 256] };
    for g in 0..16 {
        let error = |s: i32| symmetric_error(&groups[g], &w[g], scale * s as f32, n as f32);
        let s = neighbour((fits[g] * inverse).round() as i32, (-levels, levels - 1), error);
        block.scales[g] = s as i8;
        let inverse = reciprocal(scale * s as f32);
        for i in 0..16 {
            block.codes[g * 16 + i] = code(groups[g][i] * inverse, -n as f32, (n - 1) as f32) as i8;
        }
    }
    block
}

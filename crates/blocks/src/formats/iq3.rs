//! The formats of about 3 bits: runs of 4 magnitudes from a grid, and their signs. `value = ± d * unit * (2 scale + 1) * magnitude`.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::grid::{Grid, IQ3_S, IQ3_XXS, Search, even_signs, put, with_signs};
use super::grid_search::encode_signed;
use crate::block::{Block, CodedBlock, Group, decode_codes};

/// Layout of IQ3_XXS: 98 bytes, the unit being 1/4.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockIq3Xxs {
    /// Scale of the scales.
    pub d: f16,
    /// Points.
    pub qs: [u8; 64],
    /// Per group of 32 a word of four times 7 signs and a scale of 4 bits.
    pub signs: [[u8; 4]; 8],
}

static WORDS_XXS: [u64; 256] = IQ3_XXS.words();

impl Block for BlockIq3Xxs {
    const LEN: usize = 256;
    const GRID: Option<Grid> = Some(IQ3_XXS);

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        static SEARCH: LazyLock<Search<4>> = LazyLock::new(|| Search::new(IQ3_XXS));
        let b = encode_signed::<8, 8, 4>(&SEARCH, (x, importance), (0.25, (4.0, 80.0)), true);
        let signs = |g: usize| (0..4).fold(0, |s, r| s | u32::from(b.signs[4 * g + r] & 127) << (7 * r));
        BlockIq3Xxs {
            d: b.scales.d,
            qs: std::array::from_fn(|r| b.points[r / 8][r % 8] as u8),
            signs: std::array::from_fn(|g| (signs(g) | u32::from(b.scales.scales[g]) << 28).to_le_bytes()),
        }
    }
}

impl CodedBlock for BlockIq3Xxs {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-62, 62);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for (r, q) in self.qs.chunks_exact(2).enumerate() {
            let signs = u32::from_le_bytes(self.signs[r / 4]) >> (7 * (r % 4));
            let points = WORDS_XXS[usize::from(q[0])] | WORDS_XXS[usize::from(q[1])] << 32;
            put(codes, 8 * r, with_signs(points, even_signs(signs)));
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        let d = self.d.to_f32();
        for (group, word) in groups.iter_mut().zip(&self.signs) {
            let s = u32::from_le_bytes(*word) >> 28;
            *group = Group { scale: d * ((2 * s + 1) as f32 * 0.25), offset: 0.0 };
        }
    }
}

/// Layout of IQ3_S: 110 bytes, the unit being 1.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockIq3S {
    /// Scale of the scales.
    pub d: f16,
    /// Low bits of the points.
    pub qs: [u8; 64],
    /// High bits of the points.
    pub qh: [u8; 8],
    /// Signs.
    pub signs: [u8; 32],
    /// Scales of groups of 32, in nibbles.
    pub scales: [u8; 4],
}

static WORDS_S: [u64; 512] = IQ3_S.words();

impl Block for BlockIq3S {
    const LEN: usize = 256;
    const GRID: Option<Grid> = Some(IQ3_S);

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        static SEARCH: LazyLock<Search<4>> = LazyLock::new(|| Search::new(IQ3_S));
        let b = encode_signed::<8, 8, 4>(&SEARCH, (x, importance), (1.0, (1.0, 20.0)), false);
        let (point, s) = (|r: usize| b.points[r / 8][r % 8], b.scales.scales);
        BlockIq3S {
            d: b.scales.d,
            qs: std::array::from_fn(|r| point(r) as u8),
            qh: std::array::from_fn(|i| (0..8).fold(0, |h, j| h | ((point(8 * i + j) >> 8) as u8) << j)),
            signs: b.signs,
            scales: std::array::from_fn(|i| s[2 * i] | s[2 * i + 1] << 4),
        }
    }
}

impl CodedBlock for BlockIq3S {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-15, 15);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for (r, q) in self.qs.chunks_exact(2).enumerate() {
            let high = usize::from(self.qh[r / 4]) >> (2 * (r % 4));
            let first = usize::from(q[0]) | (high & 1) << 8;
            let second = usize::from(q[1]) | (high >> 1 & 1) << 8;
            put(codes, 8 * r, with_signs(WORDS_S[first] | WORDS_S[second] << 32, self.signs[r]));
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        for (g, group) in groups.iter_mut().enumerate() {
            let s = self.scales[g / 2] >> (4 * (g % 2)) & 15;
            *group = Group { scale: self.d.to_f32() * f32::from(2 * s + 1), offset: 0.0 };
        }
    }
}

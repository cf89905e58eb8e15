//! The formats of about 2 bits: runs of 8 magnitudes from a grid, and their signs. `value = ± d * (2 scale + 1) / 8 * magnitude`.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::grid::{Grid, IQ2_S, IQ2_XS, IQ2_XXS, Search, even_signs, put, with_signs};
use super::grid_search::encode_signed;
use crate::block::{Block, CodedBlock, Group, decode_codes};

/// What the scales of a block are multiples of, and inverse scales worth trying, over the largest magnitude.
const SCALES: (f32, (f32, f32)) = (0.125, (8.0, 60.0));

/// Layout of IQ2_XXS: 66 bytes. Group `g` of 32 values has the bytes `8 g` and up of `qs`: four points, and a word of four times 7
/// signs and a scale of 4 bits.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockIq2Xxs {
    /// Scale of the scales.
    pub d: f16,
    /// Points, signs and scales.
    pub qs: [u8; 64],
}

static WORDS_XXS: [u64; 256] = IQ2_XXS.words();

impl BlockIq2Xxs {
    fn signs(&self, g: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|i| self.qs[8 * g + 4 + i]))
    }
}

impl Block for BlockIq2Xxs {
    const LEN: usize = 256;
    const GRID: Option<Grid> = Some(IQ2_XXS);

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        static SEARCH: LazyLock<Search<8>> = LazyLock::new(|| Search::new(IQ2_XXS));
        let b = encode_signed::<8, 4, 8>(&SEARCH, (x, importance), SCALES, true);
        let mut block = BlockIq2Xxs { d: b.scales.d, qs: [0; 64] };
        for g in 0..8 {
            let signs = (0..4).fold(0, |s, r| s | u32::from(b.signs[4 * g + r] & 127) << (7 * r));
            (0..4).for_each(|r| block.qs[8 * g + r] = b.points[g][r] as u8);
            let word = signs | u32::from(b.scales.scales[g]) << 28;
            block.qs[8 * g + 4..][..4].copy_from_slice(&word.to_le_bytes());
        }
        block
    }
}

impl CodedBlock for BlockIq2Xxs {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-43, 43);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for g in 0..8 {
            let signs = self.signs(g);
            for r in 0..4 {
                let point = WORDS_XXS[usize::from(self.qs[8 * g + r])];
                put(codes, 32 * g + 8 * r, with_signs(point, even_signs(signs >> (7 * r))));
            }
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        let d = self.d.to_f32();
        for (g, group) in groups.iter_mut().enumerate() {
            *group = Group { scale: odd(d, self.signs(g) >> 28), offset: 0.0 };
        }
    }
}

/// `d * (2 s + 1) / 8`.
fn odd(d: f32, s: u32) -> f32 {
    d * ((2 * s + 1) as f32 * 0.125)
}

/// The scales of 16 groups in nibbles.
fn nibble_scales(d: f16, scales: &[u8; 8], groups: &mut [Group]) {
    for (g, group) in groups.iter_mut().enumerate() {
        *group =
            Group { scale: odd(d.to_f32(), u32::from(scales[g / 2] >> (4 * (g % 2)) & 15)), offset: 0.0 };
    }
}

fn pack_nibbles(scales: &[u8; 16]) -> [u8; 8] {
    std::array::from_fn(|i| scales[2 * i] | scales[2 * i + 1] << 4)
}

/// Layout of IQ2_XS: 74 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockIq2Xs {
    /// Scale of the scales.
    pub d: f16,
    /// Per run a point of 9 bits, and 7 signs.
    pub qs: [u16; 32],
    /// Scales of groups of 16, in nibbles.
    pub scales: [u8; 8],
}

static WORDS_XS: [u64; 512] = IQ2_XS.words();

impl Block for BlockIq2Xs {
    const LEN: usize = 256;
    const GRID: Option<Grid> = Some(IQ2_XS);

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        static SEARCH: LazyLock<Search<8>> = LazyLock::new(|| Search::new(IQ2_XS));
        let b = encode_signed::<16, 2, 8>(&SEARCH, (x, importance), SCALES, true);
        let run = |r: usize| b.points[r / 2][r % 2] | u16::from(b.signs[r] & 127) << 9;
        BlockIq2Xs { d: b.scales.d, qs: std::array::from_fn(run), scales: pack_nibbles(&b.scales.scales) }
    }
}

impl CodedBlock for BlockIq2Xs {
    const GROUP: usize = 16;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-43, 43);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for (r, q) in self.qs.iter().enumerate() {
            let point = WORDS_XS[usize::from(q & 511)];
            put(codes, 8 * r, with_signs(point, even_signs(u32::from(q >> 9))));
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        nibble_scales(self.d, &self.scales, groups);
    }
}

/// Layout of IQ2_S: 82 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockIq2S {
    /// Scale of the scales.
    pub d: f16,
    /// Low bits of the points.
    pub qs: [u8; 32],
    /// Signs.
    pub signs: [u8; 32],
    /// High 2 bits of the points.
    pub qh: [u8; 8],
    /// Scales of groups of 16, in nibbles.
    pub scales: [u8; 8],
}

static WORDS_S: [u64; 1024] = IQ2_S.words();

impl Block for BlockIq2S {
    const LEN: usize = 256;
    const GRID: Option<Grid> = Some(IQ2_S);

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        static SEARCH: LazyLock<Search<8>> = LazyLock::new(|| Search::new(IQ2_S));
        let b = encode_signed::<16, 2, 8>(&SEARCH, (x, importance), SCALES, false);
        let point = |r: usize| b.points[r / 2][r % 2];
        BlockIq2S {
            d: b.scales.d,
            qs: std::array::from_fn(|r| point(r) as u8),
            signs: b.signs,
            qh: std::array::from_fn(|i| {
                (0..4).fold(0, |h, j| h | ((point(4 * i + j) >> 8) as u8) << (2 * j))
            }),
            scales: pack_nibbles(&b.scales.scales),
        }
    }
}

impl CodedBlock for BlockIq2S {
    const GROUP: usize = 16;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-43, 43);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for r in 0..32 {
            let high = usize::from(self.qh[r / 4] >> (2 * (r % 4)) & 3);
            let point = WORDS_S[usize::from(self.qs[r]) | high << 8];
            put(codes, 8 * r, with_signs(point, self.signs[r]));
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        nibble_scales(self.d, &self.scales, groups);
    }
}

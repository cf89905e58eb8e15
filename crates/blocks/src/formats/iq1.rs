//! The formats of less than 2 bits: runs of 8 from a grid of −1, 0 and 1, to which an eighth is added or from which it is taken.
//! `value = d * (2 scale + 1) * (point ± 1/8)`; the codes are eight times that.

use std::sync::LazyLock;

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::grid::{Grid, IQ1, Search, put};
use super::grid_search::{OddScales, Runs, fit, runs};
use crate::block::{Block, CodedBlock, Group, decode_codes};

/// What the scales of a block are multiples of, and inverse scales worth trying, over the largest magnitude.
const UNIT: f32 = 0.125;
const FAN: (f32, f32) = (6.0, 28.0);

static WORDS: [u64; 2048] = IQ1.words();
static SEARCH: LazyLock<Search<8>> = LazyLock::new(|| Search::new(IQ1));

/// A point's bytes with 1 added, or taken away where `less`.
#[inline(always)]
fn shifted(point: usize, less: bool) -> u64 {
    const SIGNS: u64 = 0x8080_8080_8080_8080;
    let (word, shift) = (WORDS[point], if less { u64::MAX } else { 0x0101_0101_0101_0101 });
    // Byte by byte: what carries into a sign is added without its carry.
    ((word & !SIGNS) + (shift & !SIGNS)) ^ ((word ^ shift) & SIGNS)
}

/// Layout of IQ1_S: 50 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockIq1S {
    /// Scale of the scales.
    pub d: f16,
    /// Low bits of the points.
    pub qs: [u8; 32],
    /// Per group of 32: four times 3 high bits of the points, 3 bits of scale, and whether an eighth is taken away.
    pub qh: [u16; 8],
}

fn shift(less: bool) -> f32 {
    if less { -1.0 } else { 1.0 }
}

impl Block for BlockIq1S {
    const LEN: usize = 256;
    const GRID: Option<Grid> = Some(IQ1);

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let groups: [Runs<4, 8>; 8] = runs(x, importance);
        let sums =
            |g: usize, inverse: f32, less: bool| SEARCH.all(&groups[g].x, &groups[g].w, inverse, shift(less));
        let gain = |(xl, ll): (f32, f32)| if xl > 0.0 && ll > 0.0 { xl * xl / ll } else { 0.0 };
        // Of both shifts the better one at each scale.
        let best = |g: usize, inverse: f32| {
            let (more, less) = (sums(g, inverse, false), sums(g, inverse, true));
            if gain(less) > gain(more) { less } else { more }
        };
        let fits: [f32; 8] =
            std::array::from_fn(|g| fit(largest(&groups[g]), FAN, |inverse| best(g, inverse)));
        let scales = OddScales::new(&fits, UNIT, 7, best);
        let mut block = BlockIq1S { d: scales.d, qs: [0; 32], qh: [0; 8] };
        for g in 0..8 {
            let inverse = scales.inverse(g);
            let less = gain(sums(g, inverse, true)) > gain(sums(g, inverse, false));
            block.qh[g] = u16::from(scales.scales[g]) << 12 | u16::from(less) << 15;
            for r in 0..4 {
                let (x, w) = (&groups[g].x[r], &groups[g].w[r]);
                let point = SEARCH.nearest(x, w, inverse, shift(less)).point;
                block.qs[4 * g + r] = point as u8;
                block.qh[g] |= (point >> 8) << (3 * r);
            }
        }
        block
    }
}

fn largest<const R: usize>(group: &Runs<R, 8>) -> f32 {
    group.x.as_flattened().iter().fold(0f32, |m, v| m.max(v.abs()))
}

impl CodedBlock for BlockIq1S {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-9, 9);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for (r, &q) in self.qs.iter().enumerate() {
            let high = self.qh[r / 4];
            let point = usize::from(q) | usize::from(high >> (3 * (r % 4)) & 7) << 8;
            put(codes, 8 * r, shifted(point, high >> 15 == 1));
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        for (group, high) in groups.iter_mut().zip(self.qh) {
            let scale = self.d.to_f32() * f32::from(2 * (high >> 12 & 7) + 1) * UNIT;
            *group = Group { scale, offset: 0.0 };
        }
    }
}

/// Layout of IQ1_M: 56 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockIq1M {
    /// Low bits of the points.
    pub qs: [u8; 32],
    /// Per run a nibble: 3 high bits of the point, and whether an eighth is taken away.
    pub qh: [u8; 16],
    /// Four times 3 bits of scale each, of groups of 16; the top nibbles are the scale of the scales, the lowest first.
    pub scales: [u16; 4],
}

impl BlockIq1M {
    /// The scale of the scales.
    pub fn d(&self) -> f16 {
        f16::from_bits((0..4).fold(0, |d, i| d | (self.scales[i] >> 12) << (4 * i)))
    }
}

impl Block for BlockIq1M {
    const LEN: usize = 256;
    const GRID: Option<Grid> = Some(IQ1);

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let groups: [Runs<2, 8>; 16] = runs(x, importance);
        // A run's choice of both shifts, with its error at that scale.
        let best = |g: usize, r: usize, inverse: f32| {
            let scale = if inverse > 0.0 { inverse.recip() } else { 0.0 };
            let (x, w) = (&groups[g].x[r], &groups[g].w[r]);
            let of = |less: bool| {
                let choice = SEARCH.nearest(x, w, inverse, shift(less));
                (scale * choice.ll - 2.0 * choice.xl, choice, less)
            };
            let (more, less) = (of(false), of(true));
            if less.0 < more.0 { less } else { more }
        };
        let sums = |g: usize, inverse: f32| {
            let (a, b) = (best(g, 0, inverse).1, best(g, 1, inverse).1);
            (a.xl + b.xl, a.ll + b.ll)
        };
        let fits: [f32; 16] =
            std::array::from_fn(|g| fit(largest(&groups[g]), FAN, |inverse| sums(g, inverse)));
        let scales = OddScales::new(&fits, UNIT, 7, sums);
        let d = scales.d.to_bits();
        let mut block = BlockIq1M { qs: [0; 32], qh: [0; 16], scales: [0; 4] };
        for (i, s) in block.scales.iter_mut().enumerate() {
            *s = (d >> (4 * i)) << 12;
        }
        for g in 0..16 {
            block.scales[g / 4] |= u16::from(scales.scales[g]) << (3 * (g % 4));
            for r in 0..2 {
                let (_, choice, less) = best(g, r, scales.inverse(g));
                block.qs[2 * g + r] = choice.point as u8;
                block.qh[g] |= ((choice.point >> 8) as u8 | u8::from(less) << 3) << (4 * r);
            }
        }
        block
    }
}

impl CodedBlock for BlockIq1M {
    const GROUP: usize = 16;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-9, 9);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for (r, &q) in self.qs.iter().enumerate() {
            let high = self.qh[r / 2] >> (4 * (r % 2));
            put(codes, 8 * r, shifted(usize::from(q) | usize::from(high & 7) << 8, high & 8 != 0));
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        let d = self.d().to_f32();
        for (g, group) in groups.iter_mut().enumerate() {
            let s = self.scales[g / 4] >> (3 * (g % 4)) & 7;
            *group = Group { scale: d * f32::from(2 * s + 1) * UNIT, offset: 0.0 };
        }
    }
}

//! NVFP4: 64 codes of the e2m1 float format in 4 groups of 16, whose scales are unsigned e4m3 floats; 36 bytes.
//! `value = half_scale(d) * TABLE[code]`, with MXFP4's table of doubled e2m1 values.

use bytemuck::{Pod, Zeroable};

use super::mxfp4::{TABLE, nearest};
use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{extreme, neighbour};

/// Layout of a block: group `g` has 8 bytes of `qs`, with value `i` in the low and `i + 8` in the high nibble.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockNvfp4 {
    /// Scales of the groups.
    pub d: [u8; 4],
    /// Nibbles.
    pub qs: [u8; 32],
}

/// Half of the e4m3 number of this code, because the table is doubled. The sign bit is not read, and 0x7f (not a number) is 0.
pub fn half_scale(d: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(d >> 3 & 15), f32::from(d & 7));
    match (d, exponent) {
        (0x7f, _) => 0.0,
        (_, 0) => mantissa * 2f32.powi(-10),
        _ => (1.0 + mantissa / 8.0) * 2f32.powi(exponent - 8),
    }
}

/// The largest scale that is a number.
const TOP: i32 = 0x7e;

impl Block for BlockNvfp4 {
    const LEN: usize = 64;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let mut block = BlockNvfp4 { d: [0; 4], qs: [0; 32] };
        for (g, x) in x.chunks_exact(16).enumerate() {
            let code = |d: i32, i: usize| match half_scale(d as u8) {
                0.0 => 0,
                scale => nearest(x[i] / scale),
            };
            let error = |d: i32| -> f32 {
                let one = |i: usize| {
                    let off = half_scale(d as u8) * f32::from(TABLE[usize::from(code(d, i))]) - x[i];
                    importance.map_or(1.0, |w| w[16 * g + i]) * off * off
                };
                (0..16).map(one).sum()
            };
            // The scale that takes the largest value to 4 or to 6, or one next to these.
            let at_least = |wanted: f32| (0..TOP).find(|d| half_scale(*d as u8) >= wanted).unwrap_or(TOP);
            let largest = extreme(x).abs();
            let [six, four] = [12.0, 8.0].map(|top| neighbour(at_least(largest / top), (0, TOP), error));
            let d = if error(four) < error(six) { four } else { six };
            block.d[g] = d as u8;
            (0..8).for_each(|i| block.qs[8 * g + i] = code(d, i) | code(d, i + 8) << 4);
        }
        block
    }
}

impl CodedBlock for BlockNvfp4 {
    const GROUP: usize = 16;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-12, 12);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for (qs, codes) in self.qs.chunks_exact(8).zip(codes.chunks_exact_mut(16)) {
            for (i, q) in qs.iter().enumerate() {
                codes[i] = TABLE[usize::from(q & 15)];
                codes[i + 8] = TABLE[usize::from(q >> 4)];
            }
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        for (group, &d) in groups.iter_mut().zip(&self.d) {
            *group = Group { scale: half_scale(d), offset: 0.0 };
        }
    }
}

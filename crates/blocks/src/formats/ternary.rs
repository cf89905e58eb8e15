//! The formats of bits and trits: one scale for a block, and codes −1, 0 and 1 (TQ), or −1 and 1 (Q1_0).

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::grid_search::fit;
use super::q2_k::{pack_2bit, unpack_2bit};
use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{extreme, mean_square, reciprocal, to_f16, weights};

/// The best scale, and codes from 0 to 2 that stand for −1 to 1.
fn trits(x: &[f32], importance: Option<&[f32]>) -> (f16, [u8; 256]) {
    let w: [f32; 256] = weights(x, importance, mean_square(x));
    let code = |x: f32, inverse: f32| (x * inverse).clamp(-1.0, 1.0).round();
    let sums = |inverse: f32| {
        x.iter().zip(&w).fold((0f32, 0f32), |(xl, ll), (x, w)| {
            let l = code(*x, inverse);
            (xl + w * x * l, ll + w * l * l)
        })
    };
    let d = to_f16(fit(extreme(x).abs(), (0.6, 6.0), sums));
    let inverse = reciprocal(d.to_f32());
    (d, std::array::from_fn(|i| (code(x[i], inverse) + 1.0) as u8))
}

/// The scale of all groups.
fn one_scale(d: f16, groups: &mut [Group]) {
    groups.fill(Group { scale: d.to_f32(), offset: 0.0 });
}

/// Layout of TQ1_0: 54 bytes, five trits in a byte. A byte is a fraction of 256 whose digits, base 3, are the trits.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockTq1 {
    /// Trit `n` of byte `i` is value `32 n + i` for the first 32 bytes, and `160 + 16 n + i` for the other 16.
    pub qs: [u8; 48],
    /// Trit `n` of byte `i`, of four, is value `240 + 4 n + i`.
    pub qh: [u8; 4],
    /// Scale.
    pub d: f16,
}

/// Where the trits of a block are: first byte, bytes, trits of a byte, first value.
const TRITS: [(usize, usize, usize, usize); 3] = [(0, 32, 5, 0), (32, 16, 5, 160), (48, 4, 4, 240)];

impl Block for BlockTq1 {
    const LEN: usize = 256;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let (d, codes) = trits(x, importance);
        let mut bytes = [0u8; 52];
        for (start, len, digits, first) in TRITS {
            for i in 0..len {
                let digit = |n: usize| if n < digits { u16::from(codes[first + n * len + i]) } else { 0 };
                let number = (0..5).fold(0, |q, n| q * 3 + digit(n));
                // Rounded up, so that multiplying by 3 and dividing by 256 gives the digits again.
                bytes[start + i] = (number * 256).div_ceil(243) as u8;
            }
        }
        BlockTq1 { qs: std::array::from_fn(|i| bytes[i]), qh: std::array::from_fn(|i| bytes[48 + i]), d }
    }
}

impl CodedBlock for BlockTq1 {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-1, 1);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for (start, len, digits, first) in TRITS {
            let bytes = if start < 48 { &self.qs[start..start + len] } else { &self.qh[..] };
            let mut power = 1u8;
            for codes in codes[first..first + digits * len].chunks_exact_mut(len) {
                for (code, byte) in codes.iter_mut().zip(bytes) {
                    *code = ((u16::from(byte.wrapping_mul(power)) * 3) >> 8) as i8 - 1;
                }
                power = power.wrapping_mul(3);
            }
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        one_scale(self.d, groups);
    }
}

/// Layout of TQ2_0: 66 bytes, 2 bits a code as in Q2_K, less 1.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockTq2 {
    /// Codes.
    pub qs: [u8; 64],
    /// Scale.
    pub d: f16,
}

impl Block for BlockTq2 {
    const LEN: usize = 256;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let (d, codes) = trits(x, importance);
        BlockTq2 { qs: pack_2bit(&codes), d }
    }
}

impl CodedBlock for BlockTq2 {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-1, 2);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        unpack_2bit(&self.qs, codes);
        codes.iter_mut().for_each(|c| *c -= 1);
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        one_scale(self.d, groups);
    }
}

/// Layout of Q1_0: 18 bytes for 128 values.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ1 {
    /// Scale.
    pub d: f16,
    /// Bit `i % 8` of byte `i / 8` is set where value `i` is positive.
    pub qs: [u8; 16],
}

impl Block for BlockQ1 {
    const LEN: usize = 128;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let weight = |i: usize| importance.map_or(1.0, |w| w[i]);
        let (sum, all) = (0..128).fold((0f64, 0f64), |(sum, all), i| {
            (sum + f64::from(weight(i)) * f64::from(x[i].abs()), all + f64::from(weight(i)))
        });
        let d = if all > 0.0 { to_f16((sum / all) as f32) } else { f16::ZERO };
        BlockQ1 {
            d,
            qs: std::array::from_fn(|b| (0..8).fold(0, |q, i| q | u8::from(x[8 * b + i] >= 0.0) << i)),
        }
    }
}

impl CodedBlock for BlockQ1 {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-1, 1);

    #[inline]
    fn codes(&self, codes: &mut [i8]) {
        for (codes, byte) in codes.chunks_exact_mut(8).zip(self.qs) {
            codes.iter_mut().enumerate().for_each(|(i, c)| *c = 2 * (byte >> i & 1) as i8 - 1);
        }
    }

    #[inline]
    fn groups(&self, groups: &mut [Group]) {
        one_scale(self.d, groups);
    }
}

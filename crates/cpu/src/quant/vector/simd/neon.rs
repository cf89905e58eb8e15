//! Advanced SIMD of 64-bit ARM: a vector is two registers.

use std::arch::aarch64::*;
use std::arch::asm;
use std::marker::PhantomData;

use super::{Lanes, Simd};

/// Advanced SIMD, with `D`'s way to sum products.
#[derive(Clone, Copy)]
pub struct Neon<D>(PhantomData<D>);

/// How sums of four products of signed bytes are made.
pub trait ByteDot: Copy {
    /// Whether that is one instruction.
    const FUSED: bool;
    /// Adds them.
    ///
    /// # Safety
    /// The processor must have what the implementation names.
    unsafe fn dot(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t;
}

/// Advanced SIMD alone: pairs, then pairs of pairs.
#[derive(Clone, Copy)]
pub struct Pairs;

impl ByteDot for Pairs {
    const FUSED: bool = false;
    #[inline(always)]
    unsafe fn dot(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
        // SAFETY: Advanced SIMD is part of the target.
        unsafe { vpadalq_s16(sum, pairs(a, b)) }
    }
}

/// The dot product extension.
#[derive(Clone, Copy)]
pub struct Dotprod;

impl ByteDot for Dotprod {
    const FUSED: bool = true;
    #[inline(always)]
    unsafe fn dot(mut sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
        // SAFETY: the caller promises the extension; only registers are touched. (The intrinsic is not stable yet.)
        unsafe {
            asm!(
                ".arch_extension dotprod",
                "sdot {sum:v}.4s, {a:v}.16b, {b:v}.16b",
                sum = inout(vreg) sum, a = in(vreg) a, b = in(vreg) b,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        sum
    }
}

/// Sums of two neighbouring products: at most 2 * 128 * 127, which fits 16 bits.
///
/// # Safety
/// The target has Advanced SIMD.
#[inline(always)]
unsafe fn pairs(a: int8x16_t, b: int8x16_t) -> int16x8_t {
    // SAFETY: Advanced SIMD is part of the target.
    unsafe { vpaddq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)), vmull_high_s8(a, b)) }
}

/// Half-precision numbers to floats. (The intrinsic is not stable yet.)
///
/// # Safety
/// The target has Advanced SIMD.
#[inline(always)]
unsafe fn widen_halves(halves: uint16x4_t) -> float32x4_t {
    let floats: float32x4_t;
    // SAFETY: the instruction is part of Advanced SIMD, and touches registers only.
    unsafe {
        asm!(
            "fcvtl {floats:v}.4s, {halves:v}.4h",
            floats = lateout(vreg) floats, halves = in(vreg) halves,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    floats
}

/// `f` of the first registers, and of the second.
macro_rules! both {
    ($pair:ident($f:path, $($arg:expr),*)) => { $pair($f($($arg.0),*), $f($($arg.1),*)) };
}

impl<D: ByteDot> Lanes for Neon<D> {
    type Bytes = uint8x16x2_t;
    type Ints = int32x4x2_t;
    type Floats = float32x4x2_t;
    const COUNT: usize = 8;
    const FUSED: bool = D::FUSED;
    const ACTS: usize = 3;

    methods! {
        fn load_aligned(at: *const u8) -> uint8x16x2_t = Self::load_bytes(at);
        fn splat_four(at: *const i8) -> uint8x16x2_t = {
            let bytes = vreinterpretq_u8_u32(vdupq_n_u32(at.cast::<u32>().read_unaligned()));
            uint8x16x2_t(bytes, bytes)
        };
        fn no_ints() -> int32x4x2_t = int32x4x2_t(vdupq_n_s32(0), vdupq_n_s32(0));
        fn splat_int(at: *const i32) -> int32x4x2_t = {
            let ints = vld1q_dup_s32(at);
            int32x4x2_t(ints, ints)
        };
        fn add_ints(a: int32x4x2_t, b: int32x4x2_t) -> int32x4x2_t = both!(int32x4x2_t(vaddq_s32, a, b));
        fn no_floats() -> float32x4x2_t = float32x4x2_t(vdupq_n_f32(0.0), vdupq_n_f32(0.0));
        fn load(at: *const f32) -> float32x4x2_t = float32x4x2_t(vld1q_f32(at), vld1q_f32(at.add(4)));
        fn store(a: float32x4x2_t, to: *mut f32) = {
            vst1q_f32(to, a.0);
            vst1q_f32(to.add(4), a.1);
        };
        fn splat(at: *const f32) -> float32x4x2_t = {
            let floats = vld1q_dup_f32(at);
            float32x4x2_t(floats, floats)
        };
        fn add(a: float32x4x2_t, b: float32x4x2_t) -> float32x4x2_t = both!(float32x4x2_t(vaddq_f32, a, b));
        fn mul(a: float32x4x2_t, b: float32x4x2_t) -> float32x4x2_t = both!(float32x4x2_t(vmulq_f32, a, b));
        fn mul_add(a: float32x4x2_t, b: float32x4x2_t, c: float32x4x2_t) -> float32x4x2_t =
            both!(float32x4x2_t(vfmaq_f32, c, a, b));
        fn from_ints(a: int32x4x2_t) -> float32x4x2_t = both!(float32x4x2_t(vcvtq_f32_s32, a));
        fn times_256(a: int32x4x2_t) -> int32x4x2_t = both!(int32x4x2_t(vshlq_n_s32::<8>, a));
    }

    #[inline(always)]
    unsafe fn pairs(codes: uint8x16x2_t, acts: uint8x16x2_t, _signed: bool) -> int32x4x2_t {
        // SAFETY: Advanced SIMD is part of the target. Codes below 128 are the same as signed ones.
        unsafe {
            let two = |codes, acts| {
                vreinterpretq_s32_s16(pairs(vreinterpretq_s8_u8(codes), vreinterpretq_s8_u8(acts)))
            };
            int32x4x2_t(two(codes.0, acts.0), two(codes.1, acts.1))
        }
    }

    #[inline(always)]
    unsafe fn add_pairs(a: int32x4x2_t, b: int32x4x2_t) -> int32x4x2_t {
        // SAFETY: Advanced SIMD is part of the target.
        unsafe {
            let add =
                |a, b| vreinterpretq_s32_s16(vaddq_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
            int32x4x2_t(add(a.0, b.0), add(a.1, b.1))
        }
    }

    #[inline(always)]
    unsafe fn widen(pairs: int32x4x2_t) -> int32x4x2_t {
        // SAFETY: Advanced SIMD is part of the target.
        unsafe {
            int32x4x2_t(
                vpaddlq_s16(vreinterpretq_s16_s32(pairs.0)),
                vpaddlq_s16(vreinterpretq_s16_s32(pairs.1)),
            )
        }
    }

    #[inline(always)]
    unsafe fn dot(sum: int32x4x2_t, codes: uint8x16x2_t, acts: uint8x16x2_t, _signed: bool) -> int32x4x2_t {
        // SAFETY: the caller promises what `D` needs. Codes below 128 are the same as signed ones.
        unsafe {
            int32x4x2_t(
                D::dot(sum.0, vreinterpretq_s8_u8(codes.0), vreinterpretq_s8_u8(acts.0)),
                D::dot(sum.1, vreinterpretq_s8_u8(codes.1), vreinterpretq_s8_u8(acts.1)),
            )
        }
    }
}

impl<D: ByteDot> Simd for Neon<D> {
    methods! {
        fn load_bytes(at: *const u8) -> uint8x16x2_t = uint8x16x2_t(vld1q_u8(at), vld1q_u8(at.add(16)));
        fn splat_byte(byte: u8) -> uint8x16x2_t = {
            let bytes = vdupq_n_u8(byte);
            uint8x16x2_t(bytes, bytes)
        };
        fn nibbles(at: *const u8) -> uint8x16x2_t = {
            let packed = vld1q_u8(at);
            uint8x16x2_t(vandq_u8(packed, vdupq_n_u8(15)), vshrq_n_u8::<4>(packed))
        };
        fn bits_as_16(at: *const u8) -> uint8x16x2_t = {
            let select = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
            let spread = |i: usize| vcombine_u8(vdup_n_u8(*at.add(i)), vdup_n_u8(*at.add(i + 1)));
            let bits = |i: usize| vandq_u8(vtstq_u8(spread(i), select), vdupq_n_u8(16));
            uint8x16x2_t(bits(0), bits(2))
        };
        fn look_up(table: &[i8; 16], index: uint8x16x2_t) -> uint8x16x2_t = {
            let table = vld1q_u8(table.as_ptr().cast());
            uint8x16x2_t(vqtbl1q_u8(table, index.0), vqtbl1q_u8(table, index.1))
        };
        fn and(a: uint8x16x2_t, b: uint8x16x2_t) -> uint8x16x2_t = both!(uint8x16x2_t(vandq_u8, a, b));
        fn or(a: uint8x16x2_t, b: uint8x16x2_t) -> uint8x16x2_t = both!(uint8x16x2_t(vorrq_u8, a, b));
        fn add_bytes(a: uint8x16x2_t, b: uint8x16x2_t) -> uint8x16x2_t = both!(uint8x16x2_t(vaddq_u8, a, b));
        fn up<const N>(a: uint8x16x2_t) -> uint8x16x2_t = both!(uint8x16x2_t(vshlq_n_u8::<N>, a));
        fn down<const N>(a: uint8x16x2_t) -> uint8x16x2_t = both!(uint8x16x2_t(vshrq_n_u8::<N>, a));
        fn splat_two(at: *const f32) -> float32x4x2_t =
            float32x4x2_t(vld1q_dup_f32(at), vld1q_dup_f32(at.add(1)));
        fn twice(a: float32x4x2_t) -> [float32x4x2_t; 2] = [
            float32x4x2_t(vzip1q_f32(a.0, a.0), vzip2q_f32(a.0, a.0)),
            float32x4x2_t(vzip1q_f32(a.1, a.1), vzip2q_f32(a.1, a.1)),
        ];
        fn sum(a: float32x4x2_t) -> f32 = vaddvq_f32(vaddq_f32(a.0, a.1));
        fn from_bytes(bytes: u64) -> float32x4x2_t = {
            let wide = vmovl_s8(vcreate_s8(bytes));
            let ints = int32x4x2_t(vmovl_s16(vget_low_s16(wide)), vmovl_high_s16(wide));
            Self::from_ints(ints)
        };
        fn splat_half(at: *const u8) -> float32x4x2_t = {
            let floats = widen_halves(vdup_n_u16(at.cast::<u16>().read_unaligned()));
            float32x4x2_t(floats, floats)
        };
        fn from_halves(halves: [u64; 2]) -> float32x4x2_t =
            float32x4x2_t(widen_halves(vcreate_u16(halves[0])), widen_halves(vcreate_u16(halves[1])));
        fn as_words(bytes: uint8x16x2_t) -> float32x4x2_t = both!(float32x4x2_t(vreinterpretq_f32_u8, bytes));

    }

    #[inline(always)]
    unsafe fn first(a: float32x4x2_t, n: usize) -> float32x4x2_t {
        const LANES: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
        // SAFETY: reads the constant above; the rest is register arithmetic.
        unsafe {
            let keep = |a, lanes| {
                let kept = vcltq_u32(vld1q_u32(lanes), vdupq_n_u32(n as u32));
                vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), kept))
            };
            float32x4x2_t(keep(a.0, LANES.as_ptr()), keep(a.1, LANES.as_ptr().add(4)))
        }
    }

    #[inline(always)]
    unsafe fn from_half_pairs(pairs: [u64; 4]) -> [float32x4x2_t; 2] {
        // SAFETY: register arithmetic.
        unsafe {
            let two = |i: usize| vcombine_u16(vcreate_u16(pairs[i]), vcreate_u16(pairs[i + 1]));
            let (firsts, seconds) = (vuzp1q_u16(two(0), two(2)), vuzp2q_u16(two(0), two(2)));
            let floats = |h| float32x4x2_t(widen_halves(vget_low_u16(h)), widen_halves(vget_high_u16(h)));
            [floats(firsts), floats(seconds)]
        }
    }

    #[inline(always)]
    unsafe fn store_transposed(r: &[float32x4x2_t; 8], to: *mut f32, stride: usize) {
        // SAFETY: the caller has room for 8 vectors, `stride` words apart.
        unsafe {
            for h in 0..2 {
                let to = to.add(4 * h);
                let r = [r[4 * h], r[4 * h + 1], r[4 * h + 2], r[4 * h + 3]];
                store_transposed_4x4([r[0].0, r[1].0, r[2].0, r[3].0], to, stride);
                store_transposed_4x4([r[0].1, r[1].1, r[2].1, r[3].1], to.add(4 * stride), stride);
            }
        }
    }
}

/// Word `i` of 4 registers to `to + stride * i`.
///
/// # Safety
/// `to` has room for 4 words at each of 4 places, `stride` words apart.
#[inline(always)]
unsafe fn store_transposed_4x4(r: [float32x4_t; 4], to: *mut f32, stride: usize) {
    // SAFETY: the caller has room for 4 words at each of these places.
    unsafe {
        let wide = |a| vreinterpretq_f64_f32(a);
        let (a, b) = (vtrn1q_f32(r[0], r[1]), vtrn2q_f32(r[0], r[1]));
        let (c, d) = (vtrn1q_f32(r[2], r[3]), vtrn2q_f32(r[2], r[3]));
        vst1q_f32(to, vreinterpretq_f32_f64(vtrn1q_f64(wide(a), wide(c))));
        vst1q_f32(to.add(stride), vreinterpretq_f32_f64(vtrn1q_f64(wide(b), wide(d))));
        vst1q_f32(to.add(2 * stride), vreinterpretq_f32_f64(vtrn2q_f64(wide(a), wide(c))));
        vst1q_f32(to.add(3 * stride), vreinterpretq_f32_f64(vtrn2q_f64(wide(b), wide(d))));
    }
}

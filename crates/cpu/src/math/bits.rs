//! Exponents and rounding with bit patterns, which vectorises on every instruction set.
//!
//! Adding 1.5·2^(mantissa bits) to a small number rounds it to an integer, which then stands in the low bits.

pub(super) const MAGIC_F32: f32 = 12_582_912.0; // 1.5 · 2^23
pub(super) const MAGIC_F64: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52

/// The integer in the low bits of `integer + MAGIC`.
#[inline(always)]
pub(super) fn integer_f32(with_magic: f32) -> i32 {
    with_magic.to_bits().wrapping_sub(MAGIC_F32.to_bits()) as i32
}

/// The integer in the low bits of `integer + MAGIC`.
#[inline(always)]
pub(super) fn integer_f64(with_magic: f64) -> i64 {
    with_magic.to_bits().wrapping_sub(MAGIC_F64.to_bits()) as i64
}

/// 2^n for n from -126 to 127.
#[inline(always)]
pub(super) fn pow2_f32(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// 2^n for n from -1022 to 1023.
#[inline(always)]
pub(super) fn pow2_f64(n: i64) -> f64 {
    f64::from_bits((n.wrapping_add(1023) as u64) << 52)
}

/// 2^n as a product of two factors, so that results may be subnormal and 2^n itself out of range.
#[inline(always)]
pub(super) fn pow2_split_f32(n: i32) -> (f32, f32) {
    let half = n >> 1;
    (pow2_f32(half), pow2_f32(n.wrapping_sub(half)))
}

/// As [`pow2_split_f32`]. AVX2 has no arithmetic shift of 64-bit lanes; a biased logical one does the same.
#[inline(always)]
pub(super) fn pow2_split_f64(n: i64) -> (f64, f64) {
    let half = ((n.wrapping_add(4096) as u64) >> 1) as i64 - 2048;
    (pow2_f64(half), pow2_f64(n.wrapping_sub(half)))
}

/// Splits a positive number into a mantissa in [√½, √2) and its exponent; also subnormal numbers.
#[inline(always)]
pub(super) fn mantissa_exponent_f32(x: f32) -> (f32, f32) {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let subnormal = x < f32::MIN_POSITIVE;
    let scaled = if subnormal { x * 8_388_608.0 } else { x };
    let shifted = scaled.to_bits().wrapping_add(0x3f80_0000 - SQRT_HALF);
    let exponent = (shifted >> 23) as i32 - if subnormal { 127 + 23 } else { 127 };
    (f32::from_bits((shifted & 0x007f_ffff).wrapping_add(SQRT_HALF)), exponent as f32)
}

/// As [`mantissa_exponent_f32`].
#[inline(always)]
pub(super) fn mantissa_exponent_f64(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let subnormal = x < f64::MIN_POSITIVE;
    let scaled = if subnormal { x * TWO_52 } else { x };
    let shifted = scaled.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF);
    // The exponent bits in the mantissa of 2^52: a conversion without an integer-to-float instruction.
    let biased = f64::from_bits(TWO_52.to_bits() | (shifted >> 52)) - TWO_52;
    let exponent = biased - if subnormal { 1023.0 + 52.0 } else { 1023.0 };
    (f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF)), exponent)
}

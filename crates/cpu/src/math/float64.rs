//! The functions in f64.
//!
//! Methods: exp by reduction with a two-part ln 2; ln by `2 atanh(f / (2 + f))`; sine and cosine by reduction
//! with a four-part π/2 whose products are exact; the rest from these by identities that do not cancel.

use super::bits::*;
use super::coefficients::*;
use super::{Elementary, max, min, poly};
use crate::isa::Isa;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, PI};

const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000); // 21 trailing zeros: n · LN2_HI is exact
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
/// π/2 in parts of 33 bits, the last with 53.
const PIO2: [f64; 4] = [
    f64::from_bits(0x3ff9_21fb_5440_0000),
    f64::from_bits(0x3dd0_b461_1a60_0000),
    f64::from_bits(0x3ba3_198a_2e00_0000),
    f64::from_bits(0x397b_839a_2520_49c1),
];
const FRAC_PI_2_LO: f64 = 6.123_233_995_736_766e-17;

/// `exp(x) = 2^n (1 + m)`: returns (m, n) for x within ±1100.
#[inline(always)]
fn exp_parts<I: Isa>(x: f64) -> (f64, i64) {
    let with_magic = I::mul_add(x, LOG2_E, MAGIC_F64);
    let n = with_magic - MAGIC_F64;
    let r = I::mul_add(n, -LN2_LO, I::mul_add(n, -LN2_HI, x));
    (I::mul_add(r * r, poly::<I, _, _>(r, &EXP_F64), r), integer_f64(with_magic))
}

/// `exp(x) · 2^extra` without intermediate overflow.
#[inline(always)]
pub(super) fn exp_scaled<I: Isa>(x: f64, extra: i64) -> f64 {
    let (m, n) = exp_parts::<I>(min(760.0, max(-800.0, x)));
    let (a, b) = pow2_split_f64(n + extra);
    (1.0 + m) * a * b
}

/// `exp2` for f32's pow: x in f64, result of f32 accuracy or better.
#[inline(always)]
pub(super) fn exp2<I: Isa>(x: f64) -> f64 {
    let x = min(1100.0, max(-1200.0, x));
    let with_magic = x + MAGIC_F64;
    let r = (x - (with_magic - MAGIC_F64)) * LN_2;
    let m = I::mul_add(r * r, poly::<I, _, _>(r, &EXP_F64), r);
    let (a, b) = pow2_split_f64(integer_f64(with_magic));
    (1.0 + m) * a * b
}

/// `x = 2^e (1 + f)`: returns (ln(1 + f) without its leading f, f, e).
#[inline(always)]
fn ln_parts<I: Isa>(x: f64) -> (f64, f64, f64) {
    let (m, e) = mantissa_exponent_f64(x);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    // ln(1+f) = f - (f²/2 - s (f²/2 + R)), where R = 2/3 z + …
    let rest = s * I::mul_add(z, poly::<I, _, _>(z, &LN_F64), half_square);
    (rest - half_square, f, e)
}

/// The logarithm for positive finite arguments.
#[inline(always)]
pub(super) fn ln_positive<I: Isa>(x: f64) -> f64 {
    let (rest, f, e) = ln_parts::<I>(x);
    I::mul_add(e, LN2_HI, f + I::mul_add(e, LN2_LO, rest))
}

/// The logarithm to base 2 for positive finite arguments.
#[inline(always)]
pub(super) fn log2_positive<I: Isa>(x: f64) -> f64 {
    let (rest, f, e) = ln_parts::<I>(x);
    // Two parts of the logarithm, the first short, so that its product with log2(e) loses nothing.
    let hi = f64::from_bits((f + rest).to_bits() & 0xffff_ffff_0000_0000);
    let lo = rest - (hi - f);
    const L_HI: f64 = f64::from_bits(0x3ff7_1547_6520_0000);
    const L_LO: f64 = 1.675_171_316_488_651_2e-10;
    let low = (lo + hi) * L_LO + lo * L_HI;
    let high = hi * L_HI;
    let w = e + high;
    w + (low + ((e - w) + high))
}

#[inline(always)]
pub(super) fn ln_specials(x: f64, finite: f64) -> f64 {
    let y = if x < f64::INFINITY { finite } else { x };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x < 0.0 { f64::NAN } else { y }
}

/// Reduces to `[-π/4, π/4]`: (r, its tail, the quadrant).
#[inline(always)]
fn reduce<I: Isa>(x: f64) -> (f64, f64, i64) {
    let with_magic = I::mul_add(x, std::f64::consts::FRAC_2_PI, MAGIC_F64);
    let n = with_magic - MAGIC_F64;
    let t = x - n * PIO2[0];
    let a = n * PIO2[1];
    let hi = t - a;
    let back = t - hi;
    let lo = (back - a) + (t - (hi + back));
    let w = n * PIO2[2] - lo;
    let r = hi - w;
    let tail = ((hi - r) - w) - n * PIO2[3];
    (r, tail, integer_f64(with_magic))
}

#[inline(always)]
fn sin_cos_reduced<I: Isa>(r: f64, tail: f64) -> (f64, f64) {
    let z = r * r;
    let cubic = z * r;
    let s = I::mul_add(cubic, poly::<I, _, _>(z, &SIN_F64), I::mul_add(-0.5 * z, tail, tail)) + r;
    let half = 0.5 * z;
    let w = 1.0 - half;
    let c = w + (((1.0 - w) - half) + I::mul_add(z * z, poly::<I, _, _>(z, &COS_F64), -(r * tail)));
    (s, c)
}

#[inline(always)]
fn signed(value: f64, negative: bool) -> f64 {
    if negative { -value } else { value }
}

/// The arc tangent of `y / x` for non-negative arguments, by one division.
#[inline(always)]
fn atan_ratio<I: Isa>(y: f64, x: f64) -> f64 {
    const TAN_PI_8: f64 = 0.414_213_562_373_095_05;
    let steep = y * TAN_PI_8 > x;
    let middle = y > x * TAN_PI_8;
    let numerator = if steep {
        -x
    } else if middle {
        y - x
    } else {
        y
    };
    let denominator = if steep {
        y
    } else if middle {
        y + x
    } else {
        x
    };
    let (base, base_lo) = if steep {
        (FRAC_PI_2, FRAC_PI_2_LO)
    } else if middle {
        (FRAC_PI_4, 0.5 * FRAC_PI_2_LO)
    } else {
        (0.0, 0.0)
    };
    let t = numerator / denominator;
    let z = t * t;
    base + (I::mul_add(t * z, poly::<I, _, _>(z, &ATAN_F64), base_lo) + t)
}

/// `asin(s)` for `s² = z <= 1/4`.
#[inline(always)]
fn asin_small<I: Isa>(s: f64, z: f64) -> f64 {
    I::mul_add(s * z, poly::<I, _, _>(z, &ASIN_F64), s)
}

/// `ln(1 + x)` for x > -1, finite.
#[inline(always)]
pub(super) fn log1p_finite<I: Isa>(x: f64) -> f64 {
    let u = 1.0 + x;
    // What the addition lost, to first order of the logarithm.
    let lost = if x < 1.0 { x - (u - 1.0) } else { 1.0 - (u - x) };
    let (rest, f, e) = ln_parts::<I>(u);
    I::mul_add(e, LN2_HI, f + (I::mul_add(e, LN2_LO, rest) + lost / u))
}

impl Elementary for f64 {
    const TRIG_LIMIT: f64 = 1.0e6;

    #[inline(always)]
    fn v_exp<I: Isa>(self) -> f64 {
        exp_scaled::<I>(self, 0)
    }

    #[inline(always)]
    fn v_exp2<I: Isa>(self) -> f64 {
        exp2::<I>(self)
    }

    #[inline(always)]
    fn v_expm1<I: Isa>(self) -> f64 {
        let (m, n) = exp_parts::<I>(min(760.0, max(-60.0, self)));
        let (a, b) = pow2_split_f64(n);
        let inverse = f64::from_bits(0x7fe0_0000_0000_0000_u64.wrapping_sub(b.to_bits()));
        (I::mul_add(m, a, a - inverse) * b).copysign(self)
    }

    #[inline(always)]
    fn v_ln<I: Isa>(self) -> f64 {
        ln_specials(self, ln_positive::<I>(self))
    }

    #[inline(always)]
    fn v_log2<I: Isa>(self) -> f64 {
        ln_specials(self, log2_positive::<I>(self))
    }

    #[inline(always)]
    fn v_log10<I: Isa>(self) -> f64 {
        const LOG10_2_HI: f64 = f64::from_bits(0x3fd3_4413_509f_6000); // e · HI is exact
        const LOG10_2_LO: f64 = 3.694_239_077_158_931e-13;
        let (rest, f, e) = ln_parts::<I>(self);
        let hi = f64::from_bits((f + rest).to_bits() & 0xffff_ffff_0000_0000);
        let lo = rest - (hi - f);
        const L_HI: f64 = f64::from_bits(0x3fdb_cb7b_1520_0000);
        const L_LO: f64 = 2.508_294_671_164_527_5e-11;
        let low = (lo + hi) * L_LO + lo * L_HI + e * LOG10_2_LO;
        let high = hi * L_HI;
        let whole = e * LOG10_2_HI;
        let w = whole + high;
        ln_specials(self, w + (low + ((whole - w) + high)))
    }

    #[inline(always)]
    fn v_log1p<I: Isa>(self) -> f64 {
        let y = log1p_finite::<I>(self);
        let y = if self < f64::INFINITY { y } else { self };
        let y = if self.abs() < 1e-17 { self } else { y };
        let y = if self == -1.0 { f64::NEG_INFINITY } else { y };
        if self < -1.0 { f64::NAN } else { y }
    }

    #[inline(always)]
    fn v_sin_small<I: Isa>(self) -> f64 {
        let (r, tail, q) = reduce::<I>(self);
        let (s, c) = sin_cos_reduced::<I>(r, tail);
        let y = signed(if q & 1 == 0 { s } else { c }, q & 2 != 0);
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn v_cos_small<I: Isa>(self) -> f64 {
        let (r, tail, q) = reduce::<I>(self);
        let (s, c) = sin_cos_reduced::<I>(r, tail);
        signed(if q & 1 == 0 { c } else { s }, (q + 1) & 2 != 0)
    }

    #[inline(always)]
    fn v_tan_small<I: Isa>(self) -> f64 {
        let (r, tail, q) = reduce::<I>(self);
        let (s, c) = sin_cos_reduced::<I>(r, tail);
        let y = if q & 1 == 0 { s } else { -c } / if q & 1 == 0 { c } else { s };
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn v_asin<I: Isa>(self) -> f64 {
        let a = self.abs();
        let outer = a > 0.5;
        let z = if outer { 0.5 * (1.0 - a) } else { a * a };
        let s = if outer { z.sqrt() } else { a };
        let core = asin_small::<I>(s, z);
        let y = if outer { FRAC_PI_2 - (2.0 * core - FRAC_PI_2_LO) } else { core };
        y.copysign(self)
    }

    #[inline(always)]
    fn v_acos<I: Isa>(self) -> f64 {
        let a = self.abs();
        let outer = a > 0.5;
        let z = if outer { 0.5 * (1.0 - a) } else { a * a };
        let s = if outer { z.sqrt() } else { self };
        let core = asin_small::<I>(s, z);
        let far = if self < 0.0 { PI - (2.0 * core - 2.0 * FRAC_PI_2_LO) } else { 2.0 * core };
        if outer { far } else { FRAC_PI_2 - (core - FRAC_PI_2_LO) }
    }

    #[inline(always)]
    fn v_atan<I: Isa>(self) -> f64 {
        // A ratio of infinity and 1 would make -1/inf · inf; the largest finite number has the same result.
        let a = self.abs();
        let y = atan_ratio::<I>(min(f64::MAX, a), 1.0);
        if self.is_nan() { self } else { y.copysign(self) }
    }

    #[inline(always)]
    fn v_sinh<I: Isa>(self) -> f64 {
        let a = self.abs();
        let t = a.v_expm1::<I>();
        let near = 0.5 * (t + t / (t + 1.0));
        let y = if a > 22.0 { exp_scaled::<I>(a, -1) } else { near };
        y.copysign(self)
    }

    #[inline(always)]
    fn v_cosh<I: Isa>(self) -> f64 {
        let half = exp_scaled::<I>(self.abs(), -1);
        half + 0.25 / half
    }

    #[inline(always)]
    fn v_tanh<I: Isa>(self) -> f64 {
        let t = (-2.0 * self.abs()).v_expm1::<I>();
        (-t / (t + 2.0)).copysign(self)
    }

    #[inline(always)]
    fn v_asinh<I: Isa>(self) -> f64 {
        let a = self.abs();
        let square = a * a;
        let near = (a + square / (1.0 + (square + 1.0).sqrt())).v_log1p::<I>();
        let y = if a > 1e8 { a.v_ln::<I>() + LN_2 } else { near };
        y.copysign(self)
    }

    #[inline(always)]
    fn v_acosh<I: Isa>(self) -> f64 {
        let t = self - 1.0;
        let near = (t + I::mul_add(t, t, 2.0 * t).sqrt()).v_log1p::<I>();
        let y = if self > 1e8 { self.v_ln::<I>() + LN_2 } else { near };
        if self < 1.0 { f64::NAN } else { y }
    }

    #[inline(always)]
    fn v_atanh<I: Isa>(self) -> f64 {
        let a = self.abs();
        (0.5 * ((a + a) / (1.0 - a)).v_log1p::<I>()).copysign(self)
    }

    #[inline(always)]
    fn v_erf<I: Isa>(self) -> f64 {
        libm::erf(self)
    }

    #[inline(always)]
    fn v_rsqrt<I: Isa>(self) -> f64 {
        1.0 / self.sqrt()
    }

    #[inline(always)]
    fn v_pow<I: Isa>(self, y: f64) -> f64 {
        libm::pow(self, y)
    }

    #[inline(always)]
    fn v_atan2<I: Isa>(self, x: f64) -> f64 {
        let (ay, ax) = (self.abs(), x.abs());
        let both_infinite = ay == f64::INFINITY && ax == f64::INFINITY;
        // Scaled by powers of two so that the sum of the two cannot overflow nor their products vanish.
        let big = max(ay, ax);
        let scale = if big > 1e150 { pow2_f64(-600) } else { 1.0 };
        let scale = if big < 1e-150 { pow2_f64(600) } else { scale };
        let (sy, sx) = (min(f64::MAX, ay) * scale, min(f64::MAX, ax) * scale);
        let first = atan_ratio::<I>(sy, sx);
        let first = if ay == 0.0 || ax == f64::INFINITY { 0.0 } else { first };
        let first = if ay == f64::INFINITY { FRAC_PI_2 } else { first };
        let first = if both_infinite { FRAC_PI_4 } else { first };
        let turned = if x.is_sign_negative() { (PI - first) + 2.0 * FRAC_PI_2_LO } else { first };
        let y = turned.copysign(self);
        if self.is_nan() || x.is_nan() { f64::NAN } else { y }
    }

    #[inline(always)]
    fn v_hypot<I: Isa>(self, y: f64) -> f64 {
        let (a, b) = (self.abs(), y.abs());
        let (big, small) = (max(a, b), min(a, b));
        let ratio = if big > 0.0 { small / big } else { 0.0 };
        let r = big * I::mul_add(ratio, ratio, 1.0).sqrt();
        let r = if a.is_nan() || b.is_nan() { f64::NAN } else { r };
        if a == f64::INFINITY || b == f64::INFINITY { f64::INFINITY } else { r }
    }

    fn sin_huge(self) -> f64 {
        libm::sin(self)
    }

    fn cos_huge(self) -> f64 {
        libm::cos(self)
    }

    fn tan_huge(self) -> f64 {
        libm::tan(self)
    }

    #[inline(always)]
    fn is_trig_small(self) -> bool {
        self.abs() <= Self::TRIG_LIMIT
    }
}

//! The functions in f32.
//!
//! The functions most used by models (exp, ln, sin, cos, tanh, erf) are f32 throughout; the others go through the f64
//! ones and round once, which halves the speed and gives full accuracy.

use super::bits::*;
use super::coefficients::*;
use super::{Elementary, float64, max, min, poly};
use crate::isa::Isa;
use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, LOG2_E, PI};

const LN2_HI: f32 = 0.693_145_75; // 15 bits: n · LN2_HI is exact
const LN2_LO: f32 = 1.428_606_8e-6;
const FRAC_PI_2_LO: f32 = -4.371_139e-8;
/// π/2 in two f64 parts, the first of 29 bits: products with 24-bit integers are exact.
const PIO2: [f64; 2] = [f64::from_bits(0x3ff9_21fb_5400_0000), 9.920_935_796_805_404e-10];

/// `exp(x) = 2^n (1 + r + …)`: returns (r, n) for x within ±120.
#[inline(always)]
fn exp_reduce<I: Isa>(x: f32) -> (f32, i32) {
    let with_magic = I::mul_add(x, LOG2_E, MAGIC_F32);
    let n = with_magic - MAGIC_F32;
    (I::mul_add(n, -LN2_LO, I::mul_add(n, -LN2_HI, x)), integer_f32(with_magic))
}

/// Reduces to `[-π/4, π/4]` in f64: the remainder rounded to f32, and the quadrant.
#[inline(always)]
fn reduce<I: Isa>(x: f32) -> (f32, i32) {
    let x = x as f64;
    let with_magic = I::mul_add(x, std::f64::consts::FRAC_2_PI, MAGIC_F64);
    let n = with_magic - MAGIC_F64;
    let r = I::mul_add(n, -PIO2[1], x - n * PIO2[0]);
    (r as f32, integer_f64(with_magic) as i32)
}

#[inline(always)]
fn sin_cos_reduced<I: Isa>(r: f32) -> (f32, f32) {
    let z = r * r;
    let s = I::mul_add(r * z, poly::<I, _, _>(z, &SIN_F32), r);
    let c = I::mul_add(z * z, poly::<I, _, _>(z, &COS_F32), I::mul_add(-0.5, z, 1.0));
    (s, c)
}

#[inline(always)]
fn signed(value: f32, negative: bool) -> f32 {
    if negative { -value } else { value }
}

/// The arc tangent of a non-negative finite number.
#[inline(always)]
fn atan_positive<I: Isa>(a: f32) -> f32 {
    let steep = a > 2.414_213_7;
    let middle = a > 0.414_213_57;
    let numerator = if steep {
        -1.0
    } else if middle {
        a - 1.0
    } else {
        a
    };
    let denominator = if steep {
        a
    } else if middle {
        a + 1.0
    } else {
        1.0
    };
    let base = if steep {
        FRAC_PI_2
    } else if middle {
        FRAC_PI_4
    } else {
        0.0
    };
    let base_lo = if steep {
        FRAC_PI_2_LO
    } else if middle {
        0.5 * FRAC_PI_2_LO
    } else {
        0.0
    };
    let t = numerator / denominator;
    let z = t * t;
    base + (I::mul_add(t * z, poly::<I, _, _>(z, &ATAN_F32), base_lo) + t)
}

#[inline(always)]
fn asin_small<I: Isa>(s: f32, z: f32) -> f32 {
    I::mul_add(s * z, poly::<I, _, _>(z, &ASIN_F32), s)
}

macro_rules! through_f64 {
    ($($name:ident($($arg:ident),*);)*) => {$(
        #[inline(always)]
        fn $name<I: Isa>(self $(, $arg: f32)*) -> f32 {
            (self as f64).$name::<I>($($arg as f64),*) as f32
        }
    )*};
}

impl Elementary for f32 {
    const TRIG_LIMIT: f32 = 6.0e6;

    through_f64! {
        v_log2();
        v_log10();
        v_log1p();
        v_sinh();
        v_cosh();
        v_asinh();
        v_acosh();
        v_atanh();
        v_rsqrt();
        v_atan2(x);
    }

    #[inline(always)]
    fn v_exp<I: Isa>(self) -> f32 {
        let (r, n) = exp_reduce::<I>(min(90.0, max(-105.0, self)));
        let p = I::mul_add(r * r, poly::<I, _, _>(r, &EXP_F32), r) + 1.0;
        let (a, b) = pow2_split_f32(n);
        p * a * b
    }

    #[inline(always)]
    fn v_exp_weight<I: Isa>(self) -> f32 {
        // 2^-126 and what is above: one factor, where `v_exp` needs two.
        const LEAST: f32 = -87.0;
        let (r, n) = exp_reduce::<I>(max(LEAST, self));
        let p = I::mul_add(I::mul_add(poly::<I, _, _>(r, &EXP_F32), r, 1.0), r, 1.0);
        if self < LEAST { 0.0 } else { p * pow2_f32(n) }
    }

    #[inline(always)]
    fn v_exp2<I: Isa>(self) -> f32 {
        let x = min(130.0, max(-152.0, self));
        let with_magic = x + MAGIC_F32;
        let r = x - (with_magic - MAGIC_F32);
        let (a, b) = pow2_split_f32(integer_f32(with_magic));
        I::mul_add(r, poly::<I, _, _>(r, &EXP2_F32), 1.0) * a * b
    }

    #[inline(always)]
    fn v_expm1<I: Isa>(self) -> f32 {
        let (r, n) = exp_reduce::<I>(min(90.0, max(-30.0, self)));
        let m = I::mul_add(r * r, poly::<I, _, _>(r, &EXPM1_F32), r);
        let (a, b) = pow2_split_f32(n);
        let inverse = f32::from_bits(0x7f00_0000_u32.wrapping_sub(b.to_bits()));
        (I::mul_add(m, a, a - inverse) * b).copysign(self)
    }

    #[inline(always)]
    fn v_ln<I: Isa>(self) -> f32 {
        let (m, e) = mantissa_exponent_f32(self);
        let f = m - 1.0;
        let z = f * f;
        let rest = I::mul_add(f * z, poly::<I, _, _>(f, &LN_F32), e * LN2_LO);
        let y = I::mul_add(e, LN2_HI, I::mul_add(-0.5, z, rest) + f);
        let y = if self < f32::INFINITY { y } else { self };
        let y = if self == 0.0 { f32::NEG_INFINITY } else { y };
        if self < 0.0 { f32::NAN } else { y }
    }

    #[inline(always)]
    fn v_sin_small<I: Isa>(self) -> f32 {
        let (r, q) = reduce::<I>(self);
        let (s, c) = sin_cos_reduced::<I>(r);
        let y = signed(if q & 1 == 0 { s } else { c }, q & 2 != 0);
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn v_cos_small<I: Isa>(self) -> f32 {
        let (r, q) = reduce::<I>(self);
        let (s, c) = sin_cos_reduced::<I>(r);
        signed(if q & 1 == 0 { c } else { s }, (q + 1) & 2 != 0)
    }

    #[inline(always)]
    fn v_tan_small<I: Isa>(self) -> f32 {
        let (r, q) = reduce::<I>(self);
        let (s, c) = sin_cos_reduced::<I>(r);
        let y = if q & 1 == 0 { s } else { -c } / if q & 1 == 0 { c } else { s };
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn v_asin<I: Isa>(self) -> f32 {
        let a = self.abs();
        let outer = a > 0.5;
        let z = if outer { 0.5 * (1.0 - a) } else { a * a };
        let s = if outer { z.sqrt() } else { a };
        let core = asin_small::<I>(s, z);
        let y = if outer { FRAC_PI_2 - (2.0 * core - FRAC_PI_2_LO) } else { core };
        y.copysign(self)
    }

    #[inline(always)]
    fn v_acos<I: Isa>(self) -> f32 {
        let a = self.abs();
        let outer = a > 0.5;
        let z = if outer { 0.5 * (1.0 - a) } else { a * a };
        let s = if outer { z.sqrt() } else { self };
        let core = asin_small::<I>(s, z);
        let far = if self < 0.0 { PI - (2.0 * core - 2.0 * FRAC_PI_2_LO) } else { 2.0 * core };
        if outer { far } else { FRAC_PI_2 - (core - FRAC_PI_2_LO) }
    }

    #[inline(always)]
    fn v_atan<I: Isa>(self) -> f32 {
        let y = atan_positive::<I>(min(f32::MAX, self.abs()));
        if self.is_nan() { self } else { y.copysign(self) }
    }

    #[inline(always)]
    fn v_tanh<I: Isa>(self) -> f32 {
        let t = (-2.0 * self.abs()).v_expm1::<I>();
        (-t / (t + 2.0)).copysign(self)
    }

    #[inline(always)]
    fn v_erf<I: Isa>(self) -> f32 {
        let a = self.abs();
        let near = I::mul_add(self, poly::<I, _, _>(self * self, &ERF_SMALL_F32), self);
        let clamped = min(3.95, a);
        let far = (1.0 - poly::<I, _, _>(clamped, &ERF_LARGE_F32).v_exp::<I>()).copysign(self);
        let y = if a > 0.921_875 { far } else { near };
        if self.is_nan() { self } else { y }
    }

    #[inline(always)]
    fn v_pow<I: Isa>(self, y: f32) -> f32 {
        let (x, exponent) = (self as f64, y as f64);
        let a = x.abs();
        let log = float64::ln_specials(a, float64::log2_positive::<I>(a));
        let power = float64::exp2::<I>(log * exponent) as f32;
        let with_magic = exponent + MAGIC_F64;
        let large = exponent.abs() >= 16_777_216.0; // even, or infinite
        let integer = large || with_magic - MAGIC_F64 == exponent;
        let odd = !large && integer && with_magic.to_bits() & 1 == 1;
        let power = if self.is_sign_negative() && odd { -power } else { power };
        let power = if self < 0.0 && self > f32::NEG_INFINITY && !integer { f32::NAN } else { power };
        let power = if a == 1.0 && exponent.abs() == f64::INFINITY { 1.0 } else { power };
        if y == 0.0 || self == 1.0 { 1.0 } else { power }
    }

    #[inline(always)]
    fn v_hypot<I: Isa>(self, y: f32) -> f32 {
        let (a, b) = (self as f64, y as f64);
        let r = I::mul_add(a, a, b * b).sqrt() as f32;
        if a.abs() == f64::INFINITY || b.abs() == f64::INFINITY { f32::INFINITY } else { r }
    }

    fn sin_huge(self) -> f32 {
        libm::sinf(self)
    }

    fn cos_huge(self) -> f32 {
        libm::cosf(self)
    }

    fn tan_huge(self) -> f32 {
        libm::tanf(self)
    }

    #[inline(always)]
    fn is_trig_small(self) -> bool {
        self.abs() <= Self::TRIG_LIMIT
    }
}

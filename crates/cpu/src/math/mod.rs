//! Elementary functions, written so that the compiler vectorises them.
//!
//! [`Elementary`] has every function per element, branch-free, for use inside other kernels; [`slices`] has them over
//! slices, one `fn(&[T], &mut [T])` per function and type. Special values (±0, ±inf, NaN, subnormal numbers) follow
//! C99 annex F; NaN signs and exception flags do not.
//!
//! Error bounds in ulp, as measured by the tests (f32 against f64; f64 against the `libm` crate, which itself has
//! errors of up to 1):
//!
//! | function | f32 | f64 |
//! |---|---|---|
//! | ln, rsqrt | 1 | 2 |
//! | exp, exp2, weights | 1.5 | 2 |
//! | expm1, log1p, log2, log10 | 1.5 | 3 |
//! | sin, cos | 2 | 2 |
//! | asin, acos, atan | 2.5 | 3 |
//! | tan | 3.5 | 3 |
//! | sinh, cosh, asinh, acosh, atanh | 2 | 4 |
//! | tanh | 3 | 4 |
//! | erf | 2 | 1 (`libm`, not vectorised) |
//! | pow | 1 | 1 (`libm`, not vectorised) |
//! | atan2, hypot | 1 | 4 |

mod bits;
#[rustfmt::skip]
mod coefficients;
mod float32;
mod float64;
pub mod slices;
#[cfg(test)]
mod tests;

use crate::isa::{Isa, Real};

macro_rules! declare {
    ($($(#[$meta:meta])* $name:ident($($arg:ident),*);)*) => {$(
        $(#[$meta])*
        fn $name<I: Isa>(self $(, $arg: Self)*) -> Self;
    )*};
}

/// The elementary functions of one float type; see the module for error bounds.
///
/// All are `#[inline(always)]` and vectorise in a loop, except that [`Elementary::v_sin`], `v_cos` and `v_tan`
/// test for huge arguments. Their `_small` forms do not, and are right for `|x| <=` [`Elementary::TRIG_LIMIT`].
pub trait Elementary: Real {
    /// The largest magnitude that the `_small` trigonometric functions reduce correctly.
    const TRIG_LIMIT: Self;

    declare! {
        /// e to the power of `self`.
        v_exp();
        /// 2 to the power of `self`.
        v_exp2();
        /// e to the power of `self`, minus 1, accurate near 0.
        v_expm1();
        /// The natural logarithm.
        v_ln();
        /// The logarithm to base 2.
        v_log2();
        /// The logarithm to base 10.
        v_log10();
        /// `ln(1 + self)`, accurate near 0.
        v_log1p();
        /// Sine of `|self| <= TRIG_LIMIT`.
        v_sin_small();
        /// Cosine of `|self| <= TRIG_LIMIT`.
        v_cos_small();
        /// Tangent of `|self| <= TRIG_LIMIT`.
        v_tan_small();
        /// Arc sine.
        v_asin();
        /// Arc cosine.
        v_acos();
        /// Arc tangent.
        v_atan();
        /// Hyperbolic sine.
        v_sinh();
        /// Hyperbolic cosine.
        v_cosh();
        /// Hyperbolic tangent.
        v_tanh();
        /// Inverse hyperbolic sine.
        v_asinh();
        /// Inverse hyperbolic cosine.
        v_acosh();
        /// Inverse hyperbolic tangent.
        v_atanh();
        /// The error function.
        v_erf();
        /// `1 / sqrt(self)`.
        v_rsqrt();
        /// `self` to the power of `y`.
        v_pow(y);
        /// The angle of the point `(x, self)`.
        v_atan2(x);
        /// `sqrt(self² + y²)` without intermediate overflow.
        v_hypot(y);
    }

    /// e to the power of a number that is not positive, as a weight: what is below the least normal number is 0.
    #[inline(always)]
    fn v_exp_weight<I: Isa>(self) -> Self {
        self.v_exp::<I>()
    }

    /// Sine of huge arguments; one element at a time.
    fn sin_huge(self) -> Self;
    /// Cosine of huge arguments; one element at a time.
    fn cos_huge(self) -> Self;
    /// Tangent of huge arguments; one element at a time.
    fn tan_huge(self) -> Self;
    /// Whether the argument is within [`Elementary::TRIG_LIMIT`]. NaN and infinities are not.
    fn is_trig_small(self) -> bool;

    /// Sine.
    #[inline(always)]
    fn v_sin<I: Isa>(self) -> Self {
        if self.is_trig_small() { self.v_sin_small::<I>() } else { self.sin_huge() }
    }
    /// Cosine.
    #[inline(always)]
    fn v_cos<I: Isa>(self) -> Self {
        if self.is_trig_small() { self.v_cos_small::<I>() } else { self.cos_huge() }
    }
    /// Tangent.
    #[inline(always)]
    fn v_tan<I: Isa>(self) -> Self {
        if self.is_trig_small() { self.v_tan_small::<I>() } else { self.tan_huge() }
    }
}

/// Horner's rule, lowest power first.
#[inline(always)]
fn poly<I: Isa, T: Real, const N: usize>(x: T, coefficients: &[T; N]) -> T {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = I::mul_add(sum, x, coefficients[i]);
    }
    sum
}

/// The larger; the second if either is NaN. One instruction, unlike the IEEE `max`.
#[inline(always)]
pub(crate) fn max<T: PartialOrd>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

/// The smaller; the second if either is NaN.
#[inline(always)]
pub(crate) fn min<T: PartialOrd>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

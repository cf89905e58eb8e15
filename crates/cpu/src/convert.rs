//! Conversions between storage types.
//!
//! Floats widen exactly and narrow to nearest-even. Float to integer truncates and saturates, NaN becomes 0
//! (Rust's `as`; NumPy leaves the out-of-range cases undefined). Integers narrow modulo 2^bits, bool is 0 or 1,
//! and to bool everything but 0 is true (NaN too), all as NumPy.

use crate::isa::{Isa, Kernel, dispatch};
use crate::isa_fn;
use half::{bf16, f16};

/// Widens by bit patterns; vectorises everywhere.
#[inline(always)]
pub(crate) fn f16_to_f32_element(value: f16) -> f32 {
    let bits = value.to_bits() as u32;
    let magnitude = (bits & 0x7fff) << 13;
    // The multiplication moves the exponent's bias, and makes normal numbers of subnormal ones.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = if magnitude >= 0x0f80_0000 { 0x7f80_0000 } else { 0 };
    f32::from_bits(scaled | special | (bits & 0x8000) << 16)
}

/// Widens: bf16 is the upper half of f32.
#[inline(always)]
pub(crate) fn bf16_to_f32_element(value: bf16) -> f32 {
    f32::from_bits((value.to_bits() as u32) << 16)
}

/// Narrows to nearest-even by bit patterns; vectorises everywhere.
#[inline(always)]
pub(crate) fn f32_to_f16_element(value: f32) -> f16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Subnormal results: adding 0.5 puts the last place of f16 into the last place of f32.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub((127 - 15) << 23).wrapping_add(0xfff + odd) >> 13;
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let finite = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
    // A NaN keeps its upper payload bits and is made quiet.
    let nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    f16::from_bits((sign | if magnitude > 0x7f80_0000 { nan } else { finite }) as u16)
}

/// Narrows to nearest-even.
#[inline(always)]
pub(crate) fn f32_to_bf16_element(value: f32) -> bf16 {
    let bits = value.to_bits();
    let odd = (bits >> 16) & 1;
    let rounded = bits.wrapping_add(0x7fff + odd) >> 16;
    let quiet = (bits >> 16) | 0x40;
    bf16::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { quiet } else { rounded } as u16)
}

/// Widens numbers side by side; for bodies that are compiled for an instruction set.
#[inline(always)]
pub(crate) fn widen_f16<I: Isa>(x: &[f16], y: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    let (x, y) = f16c::widen::<I>(x, y);
    // An index, because `zip` may cost a call, which next to a few registers of numbers is much.
    let y = &mut y[..x.len()];
    for i in 0..x.len() {
        y[i] = f16_to_f32_element(x[i]);
    }
}

/// As [`widen_f16`].
#[inline(always)]
pub(crate) fn widen_bf16(x: &[bf16], y: &mut [f32]) {
    let y = &mut y[..x.len()];
    for i in 0..x.len() {
        y[i] = bf16_to_f32_element(x[i]);
    }
}

macro_rules! slice_conversions {
    ($($(#[$meta:meta])* $name:ident: $from:ty => $to:ty, $element:expr $(, $hardware:ident)?;)*) => {
        isa_fn! {$(
            $(#[$meta])*
            ///
            /// Panics if the lengths differ.
            pub fn $name<I>(x: &[$from], y: &mut [$to]) {
                assert_eq!(x.len(), y.len());
                $(
                    #[cfg(target_arch = "x86_64")]
                    let (x, y) = f16c::$hardware::<I>(x, y);
                )?
                for (y, &x) in y.iter_mut().zip(x) {
                    *y = $element(x);
                }
            }
        )*}
    };
}
slice_conversions! {
    /// f16 to f32.
    f16_to_f32: f16 => f32, f16_to_f32_element, widen;
    /// f32 to f16.
    f32_to_f16: f32 => f16, f32_to_f16_element, narrow;
    /// bf16 to f32.
    bf16_to_f32: bf16 => f32, bf16_to_f32_element;
    /// f32 to bf16.
    f32_to_bf16: f32 => bf16, f32_to_bf16_element;
}

/// Types that convert to B with the rules of this module.
pub trait CastTo<B>: Copy {
    /// Converts one number.
    fn cast_to(self) -> B;
}

macro_rules! casts {
    ($($from:ty)* => $to:tt) => {$(casts!(@each $from, $to);)*};
    (@each $from:ty, [$($to:ty)*]) => {$(
        impl CastTo<$to> for $from {
            #[inline(always)]
            fn cast_to(self) -> $to {
                self as $to
            }
        }
    )*};
}
casts!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 => [u8 u16 u32 u64 i8 i16 i32 i64 f32 f64]);
casts!(bool => [u8 u16 u32 u64 i8 i16 i32 i64 bool]);

macro_rules! truth_casts {
    ($($t:ty: $zero:literal)*) => {$(
        impl CastTo<bool> for $t {
            #[inline(always)]
            fn cast_to(self) -> bool {
                self != $zero
            }
        }
    )*};
}
truth_casts!(u8: 0 u16: 0 u32: 0 u64: 0 i8: 0 i16: 0 i32: 0 i64: 0 f32: 0.0 f64: 0.0);

impl CastTo<f32> for bool {
    #[inline(always)]
    fn cast_to(self) -> f32 {
        self as u8 as f32
    }
}

impl CastTo<f64> for bool {
    #[inline(always)]
    fn cast_to(self) -> f64 {
        self as u8 as f64
    }
}

struct Cast<'a, A, B>(&'a [A], &'a mut [B]);

impl<A: CastTo<B>, B> Kernel for Cast<'_, A, B> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for (y, &x) in self.1.iter_mut().zip(self.0) {
            *y = x.cast_to();
        }
    }
}

/// Converts every element.
///
/// # Panics
/// If the lengths differ.
pub fn cast<A: CastTo<B>, B>(x: &[A], y: &mut [B]) {
    assert_eq!(x.len(), y.len());
    dispatch(Cast(x, y));
}

/// The conversions that x86 has instructions for: each does whole registers and returns what is left.
#[cfg(target_arch = "x86_64")]
mod f16c {
    use super::f16;
    use crate::isa::{Isa, Level};
    use std::arch::x86_64::*;

    #[inline(always)]
    pub fn widen<'a, I: Isa>(x: &'a [f16], y: &'a mut [f32]) -> (&'a [f16], &'a mut [f32]) {
        let n = if I::LEVEL >= Level::Avx2 { x.len() / 8 * 8 } else { 0 };
        for i in (0..n).step_by(8) {
            // SAFETY: `i + 8 <= n`, and this level has F16C.
            unsafe {
                let half = _mm_loadu_si128(x.as_ptr().add(i).cast());
                _mm256_storeu_ps(y.as_mut_ptr().add(i), _mm256_cvtph_ps(half));
            }
        }
        (&x[n..], &mut y[n..])
    }

    #[inline(always)]
    pub fn narrow<'a, I: Isa>(x: &'a [f32], y: &'a mut [f16]) -> (&'a [f32], &'a mut [f16]) {
        let n = if I::LEVEL >= Level::Avx2 { x.len() / 8 * 8 } else { 0 };
        for i in (0..n).step_by(8) {
            // SAFETY: `i + 8 <= n`, and this level has F16C.
            unsafe {
                let half = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(x.as_ptr().add(i)));
                _mm_storeu_si128(y.as_mut_ptr().add(i).cast(), half);
            }
        }
        (&x[n..], &mut y[n..])
    }
}

#[cfg(test)]
mod tests;

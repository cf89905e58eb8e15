//! The building blocks of tapes: one loop per scalar function and type, over contiguous blocks.
//!
//! Every loop here takes type-erased pointers to `n` elements each. A destination never overlaps a source, and pointers
//! are aligned for their type; the tape guarantees both.

use super::division;
use crate::isa_fn;
use crate::math::slices as math;
use half::{bf16, f16};
use std::cell::Cell;
use wootz_ir::scalar::{BinaryFn, UnaryFn};
use wootz_ir::{DType, Fault, ScalarType};

/// `d[i] = f(a[i])`.
///
/// # Safety
/// Each operand has `n` elements of its type, and the result has room for `n`.
pub type Loop1 = unsafe fn(*const u8, *mut u8, usize);
/// `d[i] = f(a[i], b[i])`.
///
/// # Safety
/// Each operand has `n` elements of its type, and the result has room for `n`.
pub type Loop2 = unsafe fn(*const u8, *const u8, *mut u8, usize);
/// `d[i] = f(a[i], b[i], c[i])`.
///
/// # Safety
/// Each operand has `n` elements of its type, and the result has room for `n`.
pub type Loop3 = unsafe fn(*const u8, *const u8, *const u8, *mut u8, usize);

thread_local! {
    /// The fault with the smallest code that a loop on this thread met since it was last taken.
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Notes a fault for the run that this thread works on.
#[cold]
pub fn raise(fault: Fault) {
    FAULT.with(|f| f.set(f.get().filter(|known| (*known as u32) < fault as u32).or(Some(fault))));
}

/// Takes the fault noted on this thread.
pub fn take_fault() -> Option<Fault> {
    FAULT.with(Cell::take)
}

/// # Safety
/// `p` points to `n` live, aligned elements that nobody writes.
#[inline(always)]
pub(super) unsafe fn src<'a, T>(p: *const u8, n: usize) -> &'a [T] {
    // SAFETY: the caller promises exactly this.
    unsafe { std::slice::from_raw_parts(p.cast(), n) }
}

/// # Safety
/// `p` points to `n` live, aligned elements that nobody else touches.
#[inline(always)]
pub(super) unsafe fn dst<'a, T>(p: *mut u8, n: usize) -> &'a mut [T] {
    // SAFETY: the caller promises exactly this.
    unsafe { std::slice::from_raw_parts_mut(p.cast(), n) }
}

/// A [`Loop1`] from a scalar expression.
macro_rules! loop1 {
    ($a:ty => $d:ty, |$x:ident| $e:expr) => {{
        isa_fn! { fn run<I>(a: &[$a], d: &mut [$d]) {
            for (d, &$x) in d.iter_mut().zip(a) { *d = $e; }
        } }
        unsafe fn erased(a: *const u8, d: *mut u8, n: usize) {
            // SAFETY: the contract of this module.
            unsafe { run(src(a, n), dst(d, n)) }
        }
        erased as Loop1
    }};
}

/// A [`Loop1`] from a function over slices.
macro_rules! slice1 {
    ($t:ty, $f:expr) => {{
        unsafe fn erased(a: *const u8, d: *mut u8, n: usize) {
            // SAFETY: the contract of this module.
            unsafe { $f(src::<$t>(a, n), dst::<$t>(d, n)) }
        }
        erased as Loop1
    }};
}

/// A [`Loop2`] from a scalar expression.
macro_rules! loop2 {
    ($t:ty => $d:ty, |$x:ident, $y:ident| $e:expr) => {{
        isa_fn! { fn run<I>(a: &[$t], b: &[$t], d: &mut [$d]) {
            for ((d, &$x), &$y) in d.iter_mut().zip(a).zip(b) { *d = $e; }
        } }
        unsafe fn erased(a: *const u8, b: *const u8, d: *mut u8, n: usize) {
            // SAFETY: the contract of this module.
            unsafe { run(src(a, n), src(b, n), dst(d, n)) }
        }
        erased as Loop2
    }};
}

/// A [`Loop2`] from a function over slices.
macro_rules! slice2 {
    ($t:ty, $f:expr) => {{
        unsafe fn erased(a: *const u8, b: *const u8, d: *mut u8, n: usize) {
            // SAFETY: the contract of this module.
            unsafe { $f(src::<$t>(a, n), src::<$t>(b, n), dst::<$t>(d, n)) }
        }
        erased as Loop2
    }};
}

macro_rules! loop3 {
    ($a:ty, $t:ty, |$x:ident, $y:ident, $z:ident, $isa:ident| $e:expr) => {{
        isa_fn! { fn run<$isa>(a: &[$a], b: &[$t], c: &[$t], d: &mut [$t]) {
            for (((d, &$x), &$y), &$z) in d.iter_mut().zip(a).zip(b).zip(c) { *d = $e; }
        } }
        unsafe fn erased(a: *const u8, b: *const u8, c: *const u8, d: *mut u8, n: usize) {
            // SAFETY: the contract of this module.
            unsafe { run(src(a, n), src(b, n), src(c, n), dst(d, n)) }
        }
        erased as Loop3
    }};
}

pub(super) use {loop1, loop2, loop3};

/// Picks one expression by the Rust type of a compute type; bool is stored as a byte.
macro_rules! by_type {
    ($t:expr, $($variant:ident => $value:expr),* $(,)?) => {
        match $t { $(ScalarType::$variant => Some($value),)* #[allow(unreachable_patterns)] _ => None }
    };
}

macro_rules! float_math {
    ($t:expr, $single:ident, $double:ident) => {
        by_type!($t, F32 => slice1!(f32, math::$single), F64 => slice1!(f64, math::$double))
    };
}

macro_rules! float_expr {
    ($t:expr, |$x:ident| $e:expr) => {
        by_type!($t, F32 => loop1!(f32 => f32, |$x| $e), F64 => loop1!(f64 => f64, |$x| $e))
    };
}

/// The loop of a unary function, or `None` if it is not defined for the type.
pub fn unary(f: UnaryFn, t: ScalarType) -> Option<Loop1> {
    match f {
        UnaryFn::Neg => by_type!(t,
            I32 => loop1!(i32 => i32, |x| x.wrapping_neg()), I64 => loop1!(i64 => i64, |x| x.wrapping_neg()),
            U32 => loop1!(u32 => u32, |x| x.wrapping_neg()), U64 => loop1!(u64 => u64, |x| x.wrapping_neg()),
            F32 => loop1!(f32 => f32, |x| -x), F64 => loop1!(f64 => f64, |x| -x)),
        UnaryFn::Abs => by_type!(t,
            I32 => loop1!(i32 => i32, |x| x.wrapping_abs()), I64 => loop1!(i64 => i64, |x| x.wrapping_abs()),
            U32 => loop1!(u32 => u32, |x| x), U64 => loop1!(u64 => u64, |x| x),
            F32 => loop1!(f32 => f32, |x| x.abs()), F64 => loop1!(f64 => f64, |x| x.abs())),
        UnaryFn::Not => by_type!(t,
            Bool => loop1!(u8 => u8, |x| x ^ 1),
            I32 => loop1!(i32 => i32, |x| !x), I64 => loop1!(i64 => i64, |x| !x),
            U32 => loop1!(u32 => u32, |x| !x), U64 => loop1!(u64 => u64, |x| !x)),
        UnaryFn::Sqrt => float_expr!(t, |x| x.sqrt()),
        UnaryFn::Floor => float_expr!(t, |x| x.floor()),
        UnaryFn::Ceil => float_expr!(t, |x| x.ceil()),
        UnaryFn::Round => float_expr!(t, |x| x.round_ties_even()),
        UnaryFn::Trunc => float_expr!(t, |x| x.trunc()),
        UnaryFn::Rsqrt => float_expr!(t, |x| 1.0 / x.sqrt()),
        UnaryFn::Exp => float_math!(t, exp_f32, exp_f64),
        UnaryFn::Exp2 => float_math!(t, exp2_f32, exp2_f64),
        UnaryFn::Expm1 => float_math!(t, expm1_f32, expm1_f64),
        UnaryFn::Log => float_math!(t, ln_f32, ln_f64),
        UnaryFn::Log2 => float_math!(t, log2_f32, log2_f64),
        UnaryFn::Log10 => float_math!(t, log10_f32, log10_f64),
        UnaryFn::Log1p => float_math!(t, log1p_f32, log1p_f64),
        UnaryFn::Sin => float_math!(t, sin_f32, sin_f64),
        UnaryFn::Cos => float_math!(t, cos_f32, cos_f64),
        UnaryFn::Tan => float_math!(t, tan_f32, tan_f64),
        UnaryFn::Asin => float_math!(t, asin_f32, asin_f64),
        UnaryFn::Acos => float_math!(t, acos_f32, acos_f64),
        UnaryFn::Atan => float_math!(t, atan_f32, atan_f64),
        UnaryFn::Sinh => float_math!(t, sinh_f32, sinh_f64),
        UnaryFn::Cosh => float_math!(t, cosh_f32, cosh_f64),
        UnaryFn::Tanh => float_math!(t, tanh_f32, tanh_f64),
        UnaryFn::Asinh => float_math!(t, asinh_f32, asinh_f64),
        UnaryFn::Acosh => float_math!(t, acosh_f32, acosh_f64),
        UnaryFn::Atanh => float_math!(t, atanh_f32, atanh_f64),
        UnaryFn::Erf => float_math!(t, erf_f32, erf_f64),
        UnaryFn::ToBits => by_type!(t,
            F32 => loop1!(f32 => i32, |x| x.to_bits() as i32), F64 => loop1!(f64 => i64, |x| x.to_bits() as i64)),
        UnaryFn::FromBits => by_type!(t,
            I32 => loop1!(i32 => f32, |x| f32::from_bits(x as u32)),
            I64 => loop1!(i64 => f64, |x| f64::from_bits(x as u64))),
    }
}

/// The same expression for the four integer types.
macro_rules! integers {
    ($t:expr, |$x:ident, $y:ident| $e:expr $(, $variant:ident => $value:expr)*) => {
        by_type!($t,
            I32 => loop2!(i32 => i32, |$x, $y| $e), I64 => loop2!(i64 => i64, |$x, $y| $e),
            U32 => loop2!(u32 => u32, |$x, $y| $e), U64 => loop2!(u64 => u64, |$x, $y| $e)
            $(, $variant => $value)*)
    };
}

macro_rules! arithmetic {
    ($t:expr, $wrapping:ident, $op:tt) => {
        integers!($t, |x, y| x.$wrapping(y),
            F32 => loop2!(f32 => f32, |x, y| x $op y), F64 => loop2!(f64 => f64, |x, y| x $op y))
    };
}

macro_rules! comparison {
    ($t:expr, $op:tt) => {
        by_type!($t,
            Bool => loop2!(u8 => u8, |x, y| (x $op y) as u8),
            I32 => loop2!(i32 => u8, |x, y| (x $op y) as u8), I64 => loop2!(i64 => u8, |x, y| (x $op y) as u8),
            U32 => loop2!(u32 => u8, |x, y| (x $op y) as u8), U64 => loop2!(u64 => u8, |x, y| (x $op y) as u8),
            F32 => loop2!(f32 => u8, |x, y| (x $op y) as u8), F64 => loop2!(f64 => u8, |x, y| (x $op y) as u8))
    };
}

macro_rules! bitwise {
    ($t:expr, $op:tt) => {
        integers!($t, |x, y| x $op y, Bool => loop2!(u8 => u8, |x, y| x $op y))
    };
}

/// `x` where it is smaller (`<`) or larger (`>`), and NaN where either is.
macro_rules! extreme {
    ($t:expr, $op:tt) => {
        integers!($t, |x, y| if x $op y { x } else { y },
            Bool => loop2!(u8 => u8, |x, y| if x $op y { x } else { y }),
            F32 => loop2!(f32 => f32, |x, y| if x $op y || x.is_nan() { x } else { y }),
            F64 => loop2!(f64 => f64, |x, y| if x $op y || x.is_nan() { x } else { y }))
    };
}

/// Integer functions that look at each pair, and may fault.
pub(super) trait Checked: Copy {
    fn floor_div(self, y: Self) -> Self;
    fn floor_rem(self, y: Self) -> Self;
    fn power(self, y: Self) -> Self;
    fn shift_left(self, y: Self) -> Self;
    fn shift_right(self, y: Self) -> Self;
}

macro_rules! checked {
    ($($t:ty as $unsigned:ty, signed $signed:literal);* $(;)?) => {$(
        #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
        impl Checked for $t {
            #[inline(always)]
            fn floor_div(self, y: $t) -> $t {
                if y == 0 {
                    raise(Fault::DivisionByZero);
                    return 0;
                }
                let quotient = self.wrapping_div(y);
                let inexact = self.wrapping_rem(y) != 0;
                if $signed && inexact && ((self < 0) != (y < 0)) { quotient.wrapping_sub(1) } else { quotient }
            }
            #[inline(always)]
            fn floor_rem(self, y: $t) -> $t {
                if y == 0 {
                    raise(Fault::DivisionByZero);
                    return 0;
                }
                let rem = self.wrapping_rem(y);
                if $signed && rem != 0 && ((rem < 0) != (y < 0)) { rem.wrapping_add(y) } else { rem }
            }
            #[inline(always)]
            fn power(self, y: $t) -> $t {
                if $signed && y < 0 {
                    raise(Fault::NegativeExponent);
                    return 0;
                }
                let (mut base, mut exponent, mut result) = (self, y as $unsigned, 1 as $t);
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                result
            }
            #[inline(always)]
            fn shift_left(self, y: $t) -> $t {
                if (y as $unsigned) < <$t>::BITS as $unsigned { self << y } else { 0 }
            }
            #[inline(always)]
            fn shift_right(self, y: $t) -> $t {
                let count = (y as $unsigned).min(<$t>::BITS as $unsigned);
                if count < <$t>::BITS as $unsigned {
                    self >> count
                } else if $signed && self < 0 {
                    !0
                } else {
                    0
                }
            }
        }
    )*};
}
checked! { i32 as u32, signed true; i64 as u64, signed true; u32 as u32, signed false; u64 as u64, signed false; }

/// The loop of a binary function, or `None` if it is not defined for the type.
pub fn binary(f: BinaryFn, t: ScalarType) -> Option<Loop2> {
    match f {
        BinaryFn::Add => arithmetic!(t, wrapping_add, +),
        BinaryFn::Sub => arithmetic!(t, wrapping_sub, -),
        BinaryFn::Mul => arithmetic!(t, wrapping_mul, *),
        BinaryFn::Div => by_type!(t,
            F32 => loop2!(f32 => f32, |x, y| x / y), F64 => loop2!(f64 => f64, |x, y| x / y)),
        BinaryFn::FloorDiv if t == ScalarType::I32 => Some(slice2!(i32, division::floor_div_i32)),
        BinaryFn::FloorRem if t == ScalarType::I32 => Some(slice2!(i32, division::floor_rem_i32)),
        BinaryFn::FloorDiv => integers!(t, |x, y| x.floor_div(y)),
        BinaryFn::FloorRem => integers!(t, |x, y| x.floor_rem(y)),
        BinaryFn::Fmod => by_type!(t,
            F32 => loop2!(f32 => f32, |x, y| x % y), F64 => loop2!(f64 => f64, |x, y| x % y)),
        BinaryFn::Pow => integers!(t, |x, y| x.power(y),
            F32 => slice2!(f32, math::pow_f32), F64 => slice2!(f64, math::pow_f64)),
        BinaryFn::Atan2 => {
            by_type!(t, F32 => slice2!(f32, math::atan2_f32), F64 => slice2!(f64, math::atan2_f64))
        }
        BinaryFn::Hypot => {
            by_type!(t, F32 => slice2!(f32, math::hypot_f32), F64 => slice2!(f64, math::hypot_f64))
        }
        BinaryFn::Min => extreme!(t, <),
        BinaryFn::Max => extreme!(t, >),
        BinaryFn::Eq => comparison!(t, ==),
        BinaryFn::Ne => comparison!(t, !=),
        BinaryFn::Lt => comparison!(t, <),
        BinaryFn::Le => comparison!(t, <=),
        BinaryFn::And => bitwise!(t, &),
        BinaryFn::Or => bitwise!(t, |),
        BinaryFn::Xor => bitwise!(t, ^),
        BinaryFn::Shl => integers!(t, |x, y| x.shift_left(y)),
        BinaryFn::Shr => integers!(t, |x, y| x.shift_right(y)),
        BinaryFn::CopySign => by_type!(t,
            F32 => loop2!(f32 => f32, |x, y| x.copysign(y)), F64 => loop2!(f64 => f64, |x, y| x.copysign(y))),
        BinaryFn::MulHi => {
            by_type!(t, U32 => loop2!(u32 => u32, |x, y| ((x as u64 * y as u64) >> 32) as u32))
        }
    }
}

/// `a·b + c`.
pub fn fma(t: ScalarType) -> Option<Loop3> {
    by_type!(t,
        I32 => loop3!(i32, i32, |x, y, z, I| x.wrapping_mul(y).wrapping_add(z)),
        I64 => loop3!(i64, i64, |x, y, z, I| x.wrapping_mul(y).wrapping_add(z)),
        U32 => loop3!(u32, u32, |x, y, z, I| x.wrapping_mul(y).wrapping_add(z)),
        U64 => loop3!(u64, u64, |x, y, z, I| x.wrapping_mul(y).wrapping_add(z)),
        F32 => loop3!(f32, f32, |x, y, z, I| I::mul_add(x, y, z)),
        F64 => loop3!(f64, f64, |x, y, z, I| I::mul_add(x, y, z)))
}

/// `if a { b } else { c }`.
pub fn select(t: ScalarType) -> Loop3 {
    match t.dtype().size() {
        1 => loop3!(u8, u8, |x, y, z, I| if x != 0 { y } else { z }),
        4 => loop3!(u8, u32, |x, y, z, I| if x != 0 { y } else { z }),
        _ => loop3!(u8, u64, |x, y, z, I| if x != 0 { y } else { z }),
    }
}

/// Conversion between compute types; to bool it is a comparison instead.
pub fn convert(from: ScalarType, to: ScalarType) -> Option<Loop1> {
    macro_rules! from_type {
        ($a:ty) => {
            by_type!(to,
                I32 => loop1!($a => i32, |x| x as i32), U32 => loop1!($a => u32, |x| x as u32),
                I64 => loop1!($a => i64, |x| x as i64), U64 => loop1!($a => u64, |x| x as u64),
                F32 => loop1!($a => f32, |x| x as f32), F64 => loop1!($a => f64, |x| x as f64))
        };
    }
    match from {
        ScalarType::Bool => from_type!(u8),
        ScalarType::I32 => from_type!(i32),
        ScalarType::U32 => from_type!(u32),
        ScalarType::I64 => from_type!(i64),
        ScalarType::U64 => from_type!(u64),
        ScalarType::F32 => from_type!(f32),
        ScalarType::F64 => from_type!(f64),
    }
}

/// A round trip through a narrower dtype.
pub fn narrow(dtype: DType) -> Option<Loop1> {
    fn round<H: Copy + Default, const N: usize>(
        a: &[f32],
        d: &mut [f32],
        there: impl Fn(&[f32], &mut [H]),
        back: impl Fn(&[H], &mut [f32]),
    ) {
        let mut buffer = [H::default(); N];
        for (a, d) in a.chunks(N).zip(d.chunks_mut(N)) {
            let buffer = &mut buffer[..a.len()];
            there(a, buffer);
            back(buffer, d);
        }
    }
    Some(match dtype {
        DType::U8 => loop1!(u32 => u32, |x| x as u8 as u32),
        DType::U16 => loop1!(u32 => u32, |x| x as u16 as u32),
        DType::I8 => loop1!(i32 => i32, |x| x as i8 as i32),
        DType::I16 => loop1!(i32 => i32, |x| x as i16 as i32),
        DType::F16 => slice1!(f32, |a: &[f32], d: &mut [f32]| round::<f16, 256>(
            a,
            d,
            crate::convert::f32_to_f16,
            crate::convert::f16_to_f32
        )),
        DType::BF16 => slice1!(f32, |a: &[f32], d: &mut [f32]| round::<bf16, 256>(
            a,
            d,
            crate::convert::f32_to_bf16,
            crate::convert::bf16_to_f32
        )),
        _ => return None,
    })
}

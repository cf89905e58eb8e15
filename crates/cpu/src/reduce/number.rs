//! The number types of reductions, and the operations.

/// A type that reductions work on.
pub trait Number: Copy + PartialOrd + PartialEq + Send + Sync + std::fmt::Debug + 'static {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The least value of the order (−inf for floats).
    const LEAST: Self;
    /// The greatest value of the order.
    const GREATEST: Self;
    /// Addition; integers wrap.
    fn plus(self, other: Self) -> Self;
    /// Multiplication; integers wrap.
    fn times(self, other: Self) -> Self;
    /// Whether this is NaN. Never for integers.
    fn is_nan(self) -> bool;
    /// The sum of a few partial sums, more accurately than one after the other where that matters.
    fn sum_parts(parts: &[Self]) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LEAST: Self = <$t>::MIN;
            const GREATEST: Self = <$t>::MAX;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            fn sum_parts(parts: &[Self]) -> Self {
                parts.iter().fold(0, |a, &b| a.wrapping_add(b))
            }
        }
    )*};
}
integers!(i8 u8 i16 u16 i32 u32 i64 u64);

macro_rules! floats {
    ($($t:ty: $sum:expr;)*) => {$(
        impl Number for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LEAST: Self = <$t>::NEG_INFINITY;
            const GREATEST: Self = <$t>::INFINITY;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn sum_parts(parts: &[Self]) -> Self {
                $sum(parts)
            }
        }
    )*};
}
floats! {
    f32: |parts: &[f32]| parts.iter().map(|&v| v as f64).sum::<f64>() as f32;
    f64: compensated;
}

/// Neumaier's sum: the rounding errors are added up beside it.
fn compensated(parts: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for &v in parts {
        let next: f64 = sum + v;
        lost += if f64::abs(sum) >= v.abs() { (sum - next) + v } else { (v - next) + sum };
        sum = next;
    }
    // Infinite sums have no meaningful error term.
    if sum.is_finite() { sum + lost } else { sum }
}

/// An associative operation with an identity.
pub trait Reducer<T>: Copy + Send + Sync + 'static {
    /// The result of nothing.
    const IDENTITY: T;
    /// The operation. Its result is NaN if either side is.
    fn combine(a: T, b: T) -> T;
    /// Combines partial results.
    fn finish(parts: &[T]) -> T;
}

macro_rules! reducers {
    ($($(#[$meta:meta])* $name:ident: $identity:ident, $combine:expr, $finish:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl<T: Number> Reducer<T> for $name {
            const IDENTITY: T = T::$identity;
            #[inline(always)]
            fn combine(a: T, b: T) -> T {
                $combine(a, b)
            }
            fn finish(parts: &[T]) -> T {
                $finish(parts)
            }
        }
    )*};
}
reducers! {
    /// Addition.
    Sum: ZERO, T::plus, T::sum_parts;
    /// Multiplication.
    Prod: ONE, T::times, |parts: &[T]| parts.iter().fold(T::ONE, |a, &b| a.times(b));
    /// The smaller, or NaN.
    Min: GREATEST, |a: T, b: T| if (a < b) | a.is_nan() { a } else { b },
        |parts: &[T]| parts.iter().fold(T::GREATEST, |a, &b| <Min as Reducer<T>>::combine(a, b));
    /// The larger, or NaN.
    Max: LEAST, |a: T, b: T| if (a > b) | a.is_nan() { a } else { b },
        |parts: &[T]| parts.iter().fold(T::LEAST, |a, &b| <Max as Reducer<T>>::combine(a, b));
}

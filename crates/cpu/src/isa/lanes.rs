//! Vector registers as types, for the few kernels whose register allocation must not be left to the compiler.

use super::Real;

/// `LEN` numbers in one register.
///
/// The methods are unsafe because they may only be called under the target features of their instruction
/// set, and because loads and stores go through raw pointers. All of them inline.
pub trait Lanes: Copy {
    /// The type of a number.
    type Elem: Real;
    /// How many numbers a register holds.
    const LEN: usize;

    /// All lanes zero.
    ///
    /// # Safety
    /// The processor must have this type's instruction set.
    unsafe fn zero() -> Self;
    /// All lanes `*value`.
    ///
    /// # Safety
    /// As `zero`, and `value` must be readable.
    unsafe fn splat(value: *const Self::Elem) -> Self;
    /// `LEN` numbers from any address.
    ///
    /// # Safety
    /// As `zero`, and `LEN` numbers must be readable at `from`.
    unsafe fn load(from: *const Self::Elem) -> Self;
    /// `LEN` numbers to any address.
    ///
    /// # Safety
    /// As `zero`, and `LEN` numbers must be writable at `to`.
    unsafe fn store(self, to: *mut Self::Elem);
    /// `self + other`.
    ///
    /// # Safety
    /// As `zero`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self * b + c`.
    ///
    /// # Safety
    /// As `zero`.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
}

/// How many bytes ahead to prefetch in a single long stream: a page, because the hardware's prefetchers stop at the end of
/// one. Weights that come from memory arrive a fifth faster so.
pub const AHEAD: usize = 4096;

/// Prefetches the cache line at `address`, which need not be valid. A no-op if there is no such instruction.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, and SSE is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch never faults, and changes nothing that a program can see. (The intrinsic is not stable yet.)
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

macro_rules! array_lanes {
    ($($name:ident: $t:ty, $n:literal;)*) => {$(
        #[doc = concat!("Lanes of plain ", stringify!($t), "s; the compiler finds the instructions.")]
        #[derive(Clone, Copy)]
        pub struct $name([$t; $n]);
        impl Lanes for $name {
            type Elem = $t;
            const LEN: usize = $n;
            #[inline(always)]
            unsafe fn zero() -> Self {
                $name([0.0; $n])
            }
            #[inline(always)]
            unsafe fn splat(value: *const $t) -> Self {
                // SAFETY: the caller promises that it is readable.
                $name([unsafe { *value }; $n])
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: the caller promises that it is readable.
                $name(unsafe { from.cast::<[$t; $n]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: the caller promises that it is writable.
                unsafe { to.cast::<[$t; $n]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                $name(std::array::from_fn(|i| self.0[i] + other.0[i]))
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                $name(std::array::from_fn(|i| self.0[i] * b.0[i] + c.0[i]))
            }
        }
    )*};
}
array_lanes! { Plain32: f32, 4; Plain64: f64, 2; }

/// One implementation per register type, from the names of its intrinsics.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! register_lanes {
    ($($name:ident = $register:ty: $t:ty, $n:literal, $zero:expr, $splat:expr, $load:ident, $store:ident, $add:ident,
       $fma:expr;)*) => {$(
        #[doc = concat!($n, " lanes of ", stringify!($t), " in a register.")]
        #[derive(Clone, Copy)]
        pub struct $name($register);
        impl Lanes for $name {
            type Elem = $t;
            const LEN: usize = $n;
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller promises the target features.
                $name(unsafe { $zero })
            }
            #[inline(always)]
            unsafe fn splat(value: *const $t) -> Self {
                // SAFETY: the caller promises the target features and a readable value.
                $name(unsafe { $splat(*value) })
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: the caller promises the target features and a readable register's worth of elements.
                $name(unsafe { $load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: the caller promises the target features and a writable register's worth of elements.
                unsafe { $store(to, self.0) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller promises the target features.
                $name(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: the caller promises the target features.
                $name(unsafe { $fma(self.0, b.0, c.0) })
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;
    register_lanes! {
        Ymm32 = __m256: f32, 8, _mm256_setzero_ps(), _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps,
            _mm256_fmadd_ps;
        Ymm64 = __m256d: f64, 4, _mm256_setzero_pd(), _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd,
            _mm256_fmadd_pd;
        Zmm32 = __m512: f32, 16, _mm512_setzero_ps(), _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps,
            _mm512_fmadd_ps;
        Zmm64 = __m512d: f64, 8, _mm512_setzero_pd(), _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd,
            _mm512_fmadd_pd;
    }
}
#[cfg(target_arch = "x86_64")]
pub use x86::{Ymm32, Ymm64, Zmm32, Zmm64};
#[cfg(not(target_arch = "x86_64"))]
pub use {Plain32 as Ymm32, Plain32 as Zmm32, Plain64 as Ymm64, Plain64 as Zmm64};

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::Lanes;
    use std::arch::aarch64::*;
    register_lanes! {
        Neon32 = float32x4_t: f32, 4, vdupq_n_f32(0.0), vdupq_n_f32, vld1q_f32, vst1q_f32, vaddq_f32,
            |a, b, c| vfmaq_f32(c, a, b);
        Neon64 = float64x2_t: f64, 2, vdupq_n_f64(0.0), vdupq_n_f64, vld1q_f64, vst1q_f64, vaddq_f64,
            |a, b, c| vfmaq_f64(c, a, b);
    }
}
#[cfg(target_arch = "aarch64")]
pub use arm::{Neon32, Neon64};
#[cfg(not(target_arch = "aarch64"))]
pub use {Plain32 as Neon32, Plain64 as Neon64};

//! The instruction set of this process, and the compilation of a loop for each instruction set.
//!
//! A kernel is written once, as plain scalar code that is generic over [`Isa`], and the compiler vectorises it with
//! the target features of every [`Level`]:
//!
//! ```
//! wootz_cpu::isa_fn! {
//!     /// `y[i] = a * x[i] + y[i]`.
//!     pub fn axpy<I>(a: f32, x: &[f32], y: &mut [f32]) {
//!         for (y, &x) in y.iter_mut().zip(x) {
//!             *y = I::mul_add(a, x, *y);
//!         }
//!     }
//! }
//! let mut y = [1.0; 9];
//! axpy(2.0, &[3.0; 9], &mut y);
//! assert_eq!(y, [7.0; 9]);
//! ```
//!
//! [`Kernel`] and [`dispatch`] do the same for generic code that a macro cannot name. All helpers that such a body
//! calls must be `#[inline(always)]`; otherwise they are compiled for the baseline.

mod detect;
mod lanes;
#[cfg(test)]
mod tests;
mod transpose;

pub(crate) use detect::requested;
pub use detect::{Level, available, level};
pub use lanes::*;
pub use transpose::{line_side, transpose_block, transpose_lines, transpose_side};

/// An instruction set as a type: what a kernel's body can query at compile time.
pub trait Isa: Copy + Send + Sync + 'static {
    /// The run-time name of this set.
    const LEVEL: Level;
    /// Whether multiply-add is one instruction. Where it is not, [`Isa::mul_add`] rounds twice, because
    /// the correctly rounded library call is a hundred times slower.
    const FMA: bool;
    /// Bytes of a vector register.
    const VECTOR_BYTES: usize;
    /// A register of f32.
    type F32: Lanes<Elem = f32>;
    /// A register of f64.
    type F64: Lanes<Elem = f64>;

    /// `a * b + c`, fused where the hardware can.
    #[inline(always)]
    fn mul_add<T: Real>(a: T, b: T, c: T) -> T {
        if Self::FMA { T::fused(a, b, c) } else { a * b + c }
    }
}

/// The floating-point types of kernels.
pub trait Real:
    Copy
    + Send
    + Sync
    + PartialOrd
    + Default
    + std::fmt::Debug
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
    + std::ops::AddAssign
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Converts, rounding to nearest.
    fn of(value: f64) -> Self;
    /// Widens.
    fn to_f64(self) -> f64;
    /// The fused multiply-add of the hardware. Use [`Isa::mul_add`].
    fn fused(a: Self, b: Self, c: Self) -> Self;
    /// The register of this type in an instruction set.
    type Lanes<I: Isa>: Lanes<Elem = Self>;
    /// A complete product with the system's BLAS.
    #[cfg(all(feature = "accelerate", target_vendor = "apple"))]
    fn blas(product: crate::gemm::BlasProduct<'_, Self>);
}

macro_rules! impl_real {
    ($($t:ty = $lanes:ident),*) => {$(
        impl Real for $t {
            type Lanes<I: Isa> = I::$lanes;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn fused(a: Self, b: Self, c: Self) -> Self {
                a.mul_add(b, c)
            }
            #[cfg(all(feature = "accelerate", target_vendor = "apple"))]
            fn blas(product: crate::gemm::BlasProduct<'_, Self>) {
                product.run();
            }
        }
    )*};
}
impl_real!(f32 = F32, f64 = F64);

macro_rules! isa_types {
    ($($(#[$meta:meta])* $name:ident: fma $fma:literal, bytes $bytes:literal, $f32:ident, $f64:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Isa for $name {
            const LEVEL: Level = Level::$name;
            const FMA: bool = $fma;
            const VECTOR_BYTES: usize = $bytes;
            type F32 = $f32;
            type F64 = $f64;
        }
    )*};
}
isa_types! {
    /// The baseline of the target: SSE2 on x86-64, plain code elsewhere.
    Baseline: fma false, bytes 16, Plain32, Plain64;
    /// AVX2 with FMA and F16C.
    Avx2: fma true, bytes 32, Ymm32, Ymm64;
    /// AVX-512 F, BW, CD, DQ and VL.
    Avx512: fma true, bytes 64, Zmm32, Zmm64;
    /// Advanced SIMD of 64-bit ARM.
    Neon: fma true, bytes 16, Neon32, Neon64;
}

/// Work that is compiled for every instruction set. `run` must be `#[inline(always)]`.
pub trait Kernel {
    /// What it returns.
    type Out;
    /// The body.
    fn run<I: Isa>(self) -> Self::Out;
}

/// Runs `kernel` compiled for the process's instruction set.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Out {
    // SAFETY: `level` reports only what the processor has.
    unsafe { dispatch_at(level(), kernel) }
}

/// Runs `kernel` compiled for the given instruction set.
///
/// # Safety
/// The processor must have that instruction set (see [`available`]).
#[inline]
pub unsafe fn dispatch_at<K: Kernel>(level: Level, kernel: K) -> K::Out {
    match level {
        Level::Baseline => kernel.run::<Baseline>(),
        // SAFETY: the caller promises that the processor has the features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { run_avx2(kernel) },
        // SAFETY: the caller promises that the processor has AVX-512 and what comes with it.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { run_avx512(kernel) },
        // NEON is part of the baseline of the targets that have it.
        Level::Neon => kernel.run::<Neon>(),
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 | Level::Avx512 => unreachable!("{level:?} is never reported on this architecture"),
    }
}

/// # Safety
/// The processor has these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run_avx2<K: Kernel>(kernel: K) -> K::Out {
    kernel.run::<Avx2>()
}

/// # Safety
/// The processor has these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run_avx512<K: Kernel>(kernel: K) -> K::Out {
    kernel.run::<Avx512>()
}

/// Compiles functions for every instruction set and picks at run time.
///
/// The body sees the [`Isa`] under the name in angle brackets. What comes out is an ordinary safe `fn` with
/// the given arguments; choosing costs one load and one predictable branch per call.
#[macro_export]
macro_rules! isa_fn {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident<$isa:ident>($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)+) => {$(
        $(#[$meta])*
        #[allow(unused_parens)]
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::extra_unused_type_parameters, reason = "a body need not ask for its instruction set")]
            fn body<$isa: $crate::isa::Isa>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2($($arg: $ty),*) $(-> $ret)? {
                body::<$crate::isa::Avx2>($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn avx512($($arg: $ty),*) $(-> $ret)? {
                body::<$crate::isa::Avx512>($($arg),*)
            }

            match $crate::isa::level() {
                // SAFETY: `level` reports only what the processor has.
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Level::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: `level` reports AVX-512 only where the processor has all of these features.
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Level::Avx512 => unsafe { avx512($($arg),*) },
                $crate::isa::Level::Neon => body::<$crate::isa::Neon>($($arg),*),
                _ => body::<$crate::isa::Baseline>($($arg),*),
            }
        }
    )+};
}

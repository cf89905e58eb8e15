//! The functions over slices: `y[i] = f(x[i])`, and `z[i] = f(x[i], y[i])` for the binary ones.
//!
//! They panic if the lengths differ, and are single-threaded; split the slices over the workers of a region.

use super::Elementary;
use crate::isa_fn;

/// How many elements share one test for huge arguments.
const BLOCK: usize = 64;

/// A trigonometric function over slices: the vectorised form where a whole block is small enough.
#[inline(always)]
fn blockwise<T: Elementary>(x: &[T], y: &mut [T], small: impl Fn(T) -> T, huge: impl Fn(T) -> T) {
    assert_eq!(x.len(), y.len());
    for (x, y) in x.chunks(BLOCK).zip(y.chunks_mut(BLOCK)) {
        let mut all_small = true;
        for v in x {
            all_small &= v.is_trig_small();
        }
        for (y, &x) in y.iter_mut().zip(x) {
            *y = small(x);
        }
        if !all_small {
            for (y, &x) in y.iter_mut().zip(x) {
                if !x.is_trig_small() {
                    *y = huge(x);
                }
            }
        }
    }
}

macro_rules! unary {
    ($t:ty: $($name:ident = $method:ident;)*) => {
        isa_fn! {$(
            #[doc = concat!("[`Elementary::", stringify!($method), "`] of every element.")]
            pub fn $name<I>(x: &[$t], y: &mut [$t]) {
                assert_eq!(x.len(), y.len());
                for (y, &x) in y.iter_mut().zip(x) {
                    *y = x.$method::<I>();
                }
            }
        )*}
    };
}
macro_rules! trigonometric {
    ($t:ty: $($name:ident = $small:ident or $huge:ident;)*) => {
        isa_fn! {$(
            #[doc = concat!("[`Elementary::", stringify!($small), "`] of every element, huge ones too.")]
            pub fn $name<I>(x: &[$t], y: &mut [$t]) {
                blockwise(x, y, |v| v.$small::<I>(), |v| v.$huge());
            }
        )*}
    };
}
macro_rules! binary {
    ($t:ty: $($name:ident = $method:ident;)*) => {
        isa_fn! {$(
            #[doc = concat!("[`Elementary::", stringify!($method), "`] of every pair of elements.")]
            pub fn $name<I>(x: &[$t], y: &[$t], z: &mut [$t]) {
                assert!(x.len() == z.len() && y.len() == z.len());
                for ((z, &x), &y) in z.iter_mut().zip(x).zip(y) {
                    *z = x.$method::<I>(y);
                }
            }
        )*}
    };
}

unary! { f32:
    exp_f32 = v_exp; exp2_f32 = v_exp2; expm1_f32 = v_expm1; ln_f32 = v_ln; log2_f32 = v_log2; log10_f32 = v_log10;
    log1p_f32 = v_log1p; asin_f32 = v_asin; acos_f32 = v_acos; atan_f32 = v_atan; sinh_f32 = v_sinh;
    cosh_f32 = v_cosh; tanh_f32 = v_tanh; asinh_f32 = v_asinh; acosh_f32 = v_acosh; atanh_f32 = v_atanh;
    erf_f32 = v_erf; rsqrt_f32 = v_rsqrt;
}
unary! { f64:
    exp_f64 = v_exp; exp2_f64 = v_exp2; expm1_f64 = v_expm1; ln_f64 = v_ln; log2_f64 = v_log2; log10_f64 = v_log10;
    log1p_f64 = v_log1p; asin_f64 = v_asin; acos_f64 = v_acos; atan_f64 = v_atan; sinh_f64 = v_sinh;
    cosh_f64 = v_cosh; tanh_f64 = v_tanh; asinh_f64 = v_asinh; acosh_f64 = v_acosh; atanh_f64 = v_atanh;
    erf_f64 = v_erf; rsqrt_f64 = v_rsqrt;
}
trigonometric! { f32:
    sin_f32 = v_sin_small or sin_huge; cos_f32 = v_cos_small or cos_huge; tan_f32 = v_tan_small or tan_huge;
}
trigonometric! { f64:
    sin_f64 = v_sin_small or sin_huge; cos_f64 = v_cos_small or cos_huge; tan_f64 = v_tan_small or tan_huge;
}
binary! { f32: pow_f32 = v_pow; atan2_f32 = v_atan2; hypot_f32 = v_hypot; }
binary! { f64: pow_f64 = v_pow; atan2_f64 = v_atan2; hypot_f64 = v_hypot; }

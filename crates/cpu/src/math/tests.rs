//! Error bounds and special values, measured over dense and adversarial inputs.

use super::slices::*;

type Unary<T> = fn(&[T], &mut [T]);

/// Distance from the exact result in units in the last place of the f32 result.
fn ulps_f32(got: f32, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = want as f32;
    if got == rounded {
        return if got == 0.0 && got.is_sign_negative() != rounded.is_sign_negative() {
            f64::INFINITY
        } else {
            0.0
        };
    }
    if got.is_infinite() || rounded.is_infinite() {
        // Next to the overflow threshold, one step is one step.
        let finite = if got.is_infinite() { rounded } else { got };
        return if finite.abs() == f32::MAX { 1.0 } else { f64::INFINITY };
    }
    let exponent = (rounded.abs().to_bits() >> 23).max(1) as i32;
    (got as f64 - want).abs() / 2f64.powi(exponent - 127 - 23)
}

fn ulps_f64(got: f64, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == 0.0 && want == 0.0 {
        return if got.is_sign_negative() == want.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    let order = |v: f64| if v < 0.0 { -((v.to_bits() & !(1 << 63)) as i64) } else { v.to_bits() as i64 };
    order(got).abs_diff(order(want)) as f64
}

/// Every `stride`-th bit pattern, both signs, NaNs and infinities among them.
fn all_f32(stride: usize) -> Vec<f32> {
    let mut x: Vec<f32> = (0..=u32::MAX).step_by(stride).map(f32::from_bits).collect();
    x.extend([
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::MIN,
    ]);
    for centre in [
        1.0f32,
        -1.0,
        0.5,
        -0.5,
        2.414_213_7,
        0.414_213_57,
        0.921_875,
        88.722_84,
        -103.972_08,
        -87.336_55,
        128.0,
    ] {
        x.extend((-40..40).map(|d| f32::from_bits(centre.to_bits().wrapping_add_signed(d))));
    }
    for k in 1..3000 {
        // Next to multiples of π/2, where the reduction cancels most.
        let near = (k as f64 * 97.0 * std::f64::consts::FRAC_PI_2) as f32;
        x.extend((-2..3).map(|d| f32::from_bits(near.to_bits().wrapping_add_signed(d))));
    }
    x
}

fn all_f64(count: u64) -> Vec<f64> {
    let mut x = Vec::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ (state >> 29)
    };
    for _ in 0..count {
        x.push(f64::from_bits(random()));
        // Moderate exponents are where the functions do something.
        let exponent = 1023 - 30 + random() % 40;
        x.push(f64::from_bits((random() & 0x800f_ffff_ffff_ffff) | exponent << 52));
    }
    x.extend(all_f32(1 << 20).iter().map(|&v| v as f64));
    for k in 1..3000i64 {
        let near = k as f64 * 211.0 * std::f64::consts::FRAC_PI_2;
        x.extend((-2..3).map(|d| f64::from_bits(near.to_bits().wrapping_add_signed(d))));
        x.extend([
            709.0 + k as f64 * 3e-4,
            -745.2 + k as f64 * 1e-2,
            1.0 + k as f64 * 1e-9,
            1.0 - k as f64 * 1e-12,
        ]);
    }
    x
}

fn worst<T: Copy>(x: &[T], y: &[T], error: impl Fn(T, T) -> f64) -> (f64, usize) {
    let mut worst = (0.0, 0);
    for i in 0..x.len() {
        let e = error(x[i], y[i]);
        if e > worst.0 {
            worst = (e, i);
        }
    }
    worst
}

fn check_f32(name: &str, f: Unary<f32>, want: fn(f64) -> f64, bound: f64) {
    let x = all_f32(2003);
    let mut y = vec![0.0; x.len()];
    f(&x, &mut y);
    let (error, i) = worst(&x, &y, |x, y| ulps_f32(y, want(x as f64)));
    println!("{name} f32: {error:.3} ULP at {:e}", x[i]);
    assert!(
        error <= bound,
        "{name} f32: {error} ULP > {bound} at {:e}: {:e}, not {:e}",
        x[i],
        y[i],
        want(x[i] as f64)
    );
}

fn check_f64(name: &str, f: Unary<f64>, want: fn(f64) -> f64, bound: f64) {
    let x = all_f64(100_000);
    let mut y = vec![0.0; x.len()];
    f(&x, &mut y);
    let (error, i) = worst(&x, &y, |x, y| ulps_f64(y, want(x)));
    println!("{name} f64: {error} ULP at {:e}", x[i]);
    assert!(
        error <= bound,
        "{name} f64: {error} ULP > {bound} at {:e}: {:e}, not {:e}",
        x[i],
        y[i],
        want(x[i])
    );
}

macro_rules! bounds {
    ($($test:ident: $f32:ident <= $bound32:literal, $f64:ident <= $bound64:literal, $want:expr;)*) => {$(
        #[test]
        fn $test() {
            check_f32(stringify!($test), $f32, $want, $bound32);
            check_f64(stringify!($test), $f64, $want, $bound64);
        }
    )*};
}
bounds! {
    exp: exp_f32 <= 1.5, exp_f64 <= 2.0, libm::exp;
    exp2: exp2_f32 <= 1.5, exp2_f64 <= 2.0, libm::exp2;
    expm1: expm1_f32 <= 1.5, expm1_f64 <= 3.0, libm::expm1;
    ln: ln_f32 <= 1.0, ln_f64 <= 2.0, libm::log;
    log2: log2_f32 <= 1.5, log2_f64 <= 3.0, libm::log2;
    log10: log10_f32 <= 1.5, log10_f64 <= 3.0, libm::log10;
    log1p: log1p_f32 <= 1.5, log1p_f64 <= 3.0, libm::log1p;
    sin: sin_f32 <= 2.0, sin_f64 <= 2.0, libm::sin;
    cos: cos_f32 <= 2.0, cos_f64 <= 2.0, libm::cos;
    tan: tan_f32 <= 3.5, tan_f64 <= 3.0, libm::tan;
    asin: asin_f32 <= 2.5, asin_f64 <= 3.0, libm::asin;
    acos: acos_f32 <= 2.5, acos_f64 <= 3.0, libm::acos;
    atan: atan_f32 <= 2.5, atan_f64 <= 3.0, libm::atan;
    sinh: sinh_f32 <= 2.0, sinh_f64 <= 4.0, libm::sinh;
    cosh: cosh_f32 <= 2.0, cosh_f64 <= 4.0, libm::cosh;
    tanh: tanh_f32 <= 3.0, tanh_f64 <= 4.0, libm::tanh;
    asinh: asinh_f32 <= 2.0, asinh_f64 <= 4.0, libm::asinh;
    acosh: acosh_f32 <= 2.0, acosh_f64 <= 4.0, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) };
    atanh: atanh_f32 <= 2.0, atanh_f64 <= 4.0, libm::atanh;
    erf: erf_f32 <= 2.0, erf_f64 <= 1.0, libm::erf;
    rsqrt: rsqrt_f32 <= 1.0, rsqrt_f64 <= 2.0, |x| 1.0 / x.sqrt();
}

/// All pairs of special and ordinary values.
fn pairs_f32() -> (Vec<f32>, Vec<f32>) {
    let mut values =
        vec![0.0, 1.0, 0.5, 2.0, 3.0, 0.1, 1.5, 1e-40, 1e-45, f32::MAX, f32::INFINITY, f32::MIN_POSITIVE];
    values.extend([
        7.0,
        1e10,
        16_777_215.0,
        16_777_216.0,
        8_388_609.0,
        0.999_999_94,
        1.000_000_1,
        1e-20,
        33.3,
        1e20,
    ]);
    values.extend((0..60).map(|i| 1.37f32.powi(i - 30)));
    let mut all: Vec<f32> = values.iter().flat_map(|&v| [v, -v]).collect();
    all.push(f32::NAN);
    all.iter().flat_map(|&a| all.iter().map(move |&b| (a, b))).unzip()
}

#[test]
fn binary_functions_keep_their_bounds() {
    type Binary<T> = fn(&[T], &[T], &mut [T]);
    let (x, y) = pairs_f32();
    #[expect(clippy::type_complexity, reason = "a table, read once below")]
    let cases: [(&str, Binary<f32>, Binary<f64>, fn(f64, f64) -> f64, f64, f64); 3] = [
        ("pow", pow_f32, pow_f64, libm::pow, 1.0, 1.0),
        ("atan2", atan2_f32, atan2_f64, libm::atan2, 1.0, 4.0),
        ("hypot", hypot_f32, hypot_f64, libm::hypot, 1.0, 4.0),
    ];
    for (name, f32_fn, f64_fn, want, bound32, bound64) in cases {
        let mut z = vec![0.0f32; x.len()];
        f32_fn(&x, &y, &mut z);
        for i in 0..x.len() {
            let want = want(x[i] as f64, y[i] as f64);
            let error = ulps_f32(z[i], want);
            assert!(
                error <= bound32,
                "{name}({:e}, {:e}) f32 = {:e}, not {want:e}: {error}",
                x[i],
                y[i],
                z[i]
            );
        }
        let wide = |v: &[f32]| {
            v.iter().map(|&v| v as f64 * if v.abs() > 1e30 { 1e200 } else { 1.0 }).collect::<Vec<f64>>()
        };
        let (x, y) = (wide(&x), wide(&y));
        let mut z = vec![0.0f64; x.len()];
        f64_fn(&x, &y, &mut z);
        for i in 0..x.len() {
            let want = want(x[i], y[i]);
            let error = ulps_f64(z[i], want);
            assert!(
                error <= bound64,
                "{name}({:e}, {:e}) f64 = {:e}, not {want:e}: {error}",
                x[i],
                y[i],
                z[i]
            );
        }
    }
}

#[test]
fn huge_arguments_within_a_block_of_small_ones() {
    let mut x = vec![0.25f32; 200];
    x[70] = 1e30;
    x[199] = -3e8;
    x[3] = f32::INFINITY;
    let mut y = vec![0.0; 200];
    sin_f32(&x, &mut y);
    for i in 0..200 {
        assert!(ulps_f32(y[i], libm::sin(x[i] as f64)) <= 1.5, "{i}: {} of {}", y[i], x[i]);
    }
}

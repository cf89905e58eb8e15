//! Scalar functions, row by row: an MSL expression and its known value. Inputs come from a buffer, so nothing is folded away.

mod common;
use common::*;

/// `a`..`d` are 0.5, 2.0, -3.25, 7.0 in type `T`; `i`, `j` are ints 3 and -2.
fn evaluate(ty: &str, rows: &[(&str, f64)]) -> Vec<f32> {
    let body: String = rows.iter().enumerate().map(|(k, (e, _))| format!("out[{k}] = float({e});\n")).collect();
    let src = format!(
        "kernel void k(device const float *in, device float *out) {{
            typedef {ty} T; T a = T(in[0]), b = T(in[1]), c = T(in[2]), d = T(in[3]); int i = int(in[4]), j = int(in[5]);
            (void)a; (void)b; (void)c; (void)d; (void)i; (void)j;
            {body} }}"
    );
    run(&src, "k", 1, 1, &[data(&[0.5f32, 2.0, -3.25, 7.0, 3.0, -2.0]), zeros::<f32>(rows.len())]).get(1)
}

fn compare(ty: &str, tolerance: f64, rows: &[(&str, f64)]) {
    let got = evaluate(ty, rows);
    let mut wrong = Vec::new();
    for ((e, want), &got) in rows.iter().zip(&got) {
        let same = (want.is_nan() && got.is_nan()) || f64::from(got) == *want || (f64::from(got) - want).abs() <= tolerance * want.abs().max(1.0);
        if !same {
            wrong.push(format!("{ty}: {e} is {got}, not {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const FUNCTIONS: &[(&str, f64)] = &[
    ("acos(a)", 1.0471975511965979),
    ("acosh(b)", 1.3169578969248166),
    ("asin(a)", 0.5235987755982989),
    ("asinh(b)", 1.4436354751788103),
    ("atan(b)", 1.1071487177940904),
    ("atanh(a)", 0.5493061443340548),
    ("atan2(a, b)", 0.24497866312686414),
    ("ceil(c)", -3.0),
    ("floor(c)", -4.0),
    ("trunc(c)", -3.0),
    ("round(T(2.5f))", 3.0),
    ("rint(T(2.5f))", 2.0),
    ("fract(c)", 0.75),
    ("cos(a)", 0.8775825618903728),
    ("sin(a)", 0.479425538604203),
    ("tan(a)", 0.5463024898437905),
    ("cosh(a)", 1.1276259652063807),
    ("sinh(a)", 0.5210953054937474),
    ("tanh(a)", 0.46211715726000975),
    ("cospi(a)", 0.0),
    ("sinpi(a)", 1.0),
    ("exp(a)", 1.6487212707001282),
    ("exp2(a)", std::f64::consts::SQRT_2),
    ("exp10(a)", 3.1622776601683795),
    ("log(b)", std::f64::consts::LN_2),
    ("log2(d)", 2.807354922057604),
    ("log10(d)", 0.845098040014257),
    ("sqrt(b)", std::f64::consts::SQRT_2),
    ("rsqrt(b)", std::f64::consts::FRAC_1_SQRT_2),
    ("pow(b, a)", std::f64::consts::SQRT_2),
    ("powr(b, T(3.0f))", 8.0),
    ("fabs(c)", 3.25),
    ("abs(c)", 3.25),
    ("fmod(d, b)", 1.0),
    ("fmax(a, b)", 2.0),
    ("fmin(a, b)", 0.5),
    ("max(c, d)", 7.0),
    ("min(c, d)", -3.25),
    ("fdim(d, b)", 5.0),
    ("fma(a, b, d)", 8.0),
    ("copysign(d, c)", -7.0),
    ("sign(c)", -1.0),
    ("step(a, b)", 1.0),
    ("step(b, a)", 0.0),
    ("clamp(d, a, b)", 2.0),
    ("saturate(c)", 0.0),
    ("saturate(d)", 1.0),
    ("mix(b, d, a)", 4.5),
    ("smoothstep(T(0.0f), b, a)", 0.15625),
    ("ldexp(a, i)", 4.0),
    ("ilogb(d)", 2.0),
    ("max3(a, b, c)", 2.0),
    ("min3(a, b, c)", -3.25),
    ("median3(a, b, c)", 0.5),
    ("select(a, b, true)", 2.0),
    ("select(a, b, false)", 0.5),
    ("isnan(c) ? T(1.0f) : T(0.0f)", 0.0),
    ("isnan(T(NAN)) ? 1 : 0", 1.0),
    ("isinf(T(INFINITY)) ? 1 : 0", 1.0),
    ("isfinite(a) ? 1 : 0", 1.0),
    ("isnormal(a) ? 1 : 0", 1.0),
    ("signbit(c) ? 1 : 0", 1.0),
    ("degrees(T(0.0f))", 0.0),
    ("radians(T(0.0f))", 0.0),
    ("fast::exp(a)", 1.6487212707001282),
    ("precise::tanh(a)", 0.46211715726000975),
    ("fast::divide(d, b)", 3.5),
    ("precise::sqrt(b)", std::f64::consts::SQRT_2),
    ("fast::max(a, b)", 2.0),
    ("metal::fast::clamp(d, a, b)", 2.0),
];

#[test]
fn float_functions() {
    compare("float", 1e-6, FUNCTIONS);
    compare(
        "float",
        1e-6,
        &[
            ("degrees(T(M_PI_F))", 180.0),
            ("radians(T(180.0f))", std::f64::consts::PI),
            ("fmax3(a, b, d)", 7.0),
            ("fmin3(a, b, d)", 0.5),
            ("fmedian3(a, b, d)", 2.0),
            ("nextafter(1.0f, 2.0f) - 1.0f", 1.1920929e-7),
            ("fmax(NAN, a)", 0.5),
            ("max(a, NAN)", 0.5),
            ("min(NAN, a)", 0.5),
            ("1.0 / 3.0", 0.333_333_343_267_440_8),
            ("sizeof(1.0)", 4.0),
            ("isordered(a, b)", 1.0),
            ("isunordered(a, NAN)", 1.0),
        ],
    );
}

#[test]
fn half_functions() {
    compare("half", 4e-3, FUNCTIONS);
    compare(
        "half",
        0.0,
        &[
            ("1.0h / 3.0h", 0.333251953125),
            ("half(65504.0f) + half(32.0f)", f64::INFINITY),
            ("a + 1.0h", 1.5),
            ("sizeof(1.0h)", 2.0),
            ("HALF_MAX", 65504.0),
            ("half(2049)", 2048.0),
            ("half(0.1f) * half(3.0f)", 0.299_804_687_5),
        ],
    );
}

#[test]
fn bfloat_functions() {
    let skip = ["ilogb", "ldexp"];
    let rows: Vec<_> = FUNCTIONS.iter().filter(|(e, _)| !skip.iter().any(|s| e.starts_with(s))).copied().collect();
    compare("bfloat", 2e-2, &rows);
    compare(
        "bfloat",
        0.0,
        &[
            ("bfloat(257.0f)", 256.0),
            ("bfloat(259.0f)", 260.0),
            ("bfloat(1.0f) + bfloat(0.00390625f)", 1.0),
            ("float(bfloat(3.140625f))", 3.140625),
            ("float(bfloat(a)) + 0.25f", 0.75),
            ("static_cast<bfloat>(half(1.5h))", 1.5),
            ("static_cast<half>(bfloat(2.5f))", 2.5),
            ("sizeof(bfloat)", 2.0),
            ("as_type<ushort>(bfloat(1.0f))", 16256.0),
            ("a > 0 ? a : 0", 0.5),
        ],
    );
}

#[test]
fn functions_with_results_by_reference() {
    let src = "kernel void k(device float *out) {
        int e; float m = frexp(12.0f, e); float whole; float part = modf(-3.25f, whole); float c; float s = sincos(0.5f, c);
        out[0] = m; out[1] = e; out[2] = part; out[3] = whole; out[4] = s; out[5] = c; }";
    let out = run(src, "k", 1, 1, &[zeros::<f32>(6)]).get::<f32>(0);
    assert_eq!(&out[..4], &[0.75, 4.0, -0.25, -3.0]);
    assert!((out[4] - 0.5f32.sin()).abs() < 1e-6 && (out[5] - 0.5f32.cos()).abs() < 1e-6);
}

#[test]
fn numeric_limits_and_macros() {
    compare(
        "float",
        0.0,
        &[
            ("numeric_limits<float>::max()", f64::from(f32::MAX)),
            ("numeric_limits<float>::lowest()", f64::from(f32::MIN)),
            ("numeric_limits<float>::epsilon()", f64::from(f32::EPSILON)),
            ("numeric_limits<float>::infinity()", f64::INFINITY),
            ("numeric_limits<half>::max()", 65504.0),
            ("numeric_limits<bfloat>::epsilon()", 0.0078125),
            ("numeric_limits<int>::min()", -2147483648.0),
            ("numeric_limits<uchar>::max()", 255.0),
            ("numeric_limits<const short>::max()", 32767.0),
            ("numeric_limits<float>::quiet_NaN()", f64::NAN),
            ("numeric_limits<uint>::digits", 32.0),
            ("FLT_MAX", f64::from(f32::MAX)),
            ("INT_MAX == 2147483647", 1.0),
            ("UINT_MAX == 4294967295u", 1.0),
            ("M_PI_F", f64::from(std::f32::consts::PI)),
            ("is_same_v<half, float>", 0.0),
            ("is_floating_point_v<bfloat>", 1.0),
            ("is_integral<ushort>::value", 1.0),
            ("is_same<conditional_t<true, int, float>, int>::value", 1.0),
            ("is_same<make_unsigned_t<int>, uint>::value", 1.0),
            ("is_convertible_v<int, float>", 1.0),
            ("is_same<remove_reference_t<int &>, int>::value", 1.0),
        ],
    );
}

//! Vectors, packed vectors and matrices: constructors, swizzles, operators, functions.

mod common;
use common::*;

/// Each row writes up to four floats; missing ones are zero.
fn compare(rows: &[(&str, &[f32])]) {
    let body: String = rows
        .iter()
        .enumerate()
        .map(|(k, (e, want))| match want.len() {
            1 => format!("out[{k}] = float4(float({e}), 0, 0, 0);\n"),
            2 => format!("out[{k}] = float4(float2({e}), 0, 0);\n"),
            3 => format!("out[{k}] = float4(float3({e}), 0);\n"),
            _ => format!("out[{k}] = float4({e});\n"),
        })
        .collect();
    let src = format!(
        "kernel void k(device const float *in, device float4 *out) {{
            float4 v = float4(in[0], in[1], in[2], in[3]); float2 p = v.xy; float3 q = v.xyz; int4 i = int4(v); half4 h = half4(v); bool4 t = v > 2.0f;
            packed_float3 pk = packed_float3(q); float2x2 m2 = float2x2(v.xy, v.zw); float4x4 id = float4x4(1.0); float2x3 m23 = float2x3(q, q * 2);
            (void)p; (void)q; (void)i; (void)h; (void)t; (void)pk; (void)m2; (void)id; (void)m23;
            {body} }}"
    );
    let got: Vec<[f32; 4]> = run(&src, "k", 1, 1, &[data(&[1.0f32, 2.0, 3.0, 4.0]), zeros::<f32>(rows.len() * 4)]).get(1);
    let mut wrong = Vec::new();
    for ((e, want), got) in rows.iter().zip(&got) {
        if want.iter().zip(got).any(|(a, b)| (a - b).abs() > 1e-5) {
            wrong.push(format!("{e} is {got:?}, not {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn constructors_and_swizzles() {
    compare(&[
        ("float4(1)", &[1.0, 1.0, 1.0, 1.0]),
        ("float4(p, p)", &[1.0, 2.0, 1.0, 2.0]),
        ("float4(q, 9)", &[1.0, 2.0, 3.0, 9.0]),
        ("float4(9, q)", &[9.0, 1.0, 2.0, 3.0]),
        ("float4(8, p, 9)", &[8.0, 1.0, 2.0, 9.0]),
        ("float4(8, 9, p)", &[8.0, 9.0, 1.0, 2.0]),
        ("float4(p, 8, 9)", &[1.0, 2.0, 8.0, 9.0]),
        ("float3(p, 7)", &[1.0, 2.0, 7.0]),
        ("float3(7, p)", &[7.0, 1.0, 2.0]),
        ("v.wzyx", &[4.0, 3.0, 2.0, 1.0]),
        ("v.abgr", &[4.0, 3.0, 2.0, 1.0]),
        ("v.xxyy", &[1.0, 1.0, 2.0, 2.0]),
        ("v.zw", &[3.0, 4.0]),
        ("v.rgb", &[1.0, 2.0, 3.0]),
        ("v[2]", &[3.0]),
        ("v.xyz.zyx.xy", &[3.0, 2.0]),
        ("q.zx", &[3.0, 1.0]),
        ("p.yxyx", &[2.0, 1.0, 2.0, 1.0]),
        ("(v.xy = float2(7, 8), v)", &[7.0, 8.0, 3.0, 4.0]),
        ("(v.wx = float2(5, 6), v)", &[6.0, 8.0, 3.0, 5.0]),
        ("(v.zy *= 2, v)", &[6.0, 16.0, 6.0, 5.0]),
        ("(v.r = 1, v.g = 2, v.b = 3, v.a = 4, v)", &[1.0, 2.0, 3.0, 4.0]),
        ("(v[1] = 20, v.y)", &[20.0]),
        ("(v = float4(1, 2, 3, 4), v)", &[1.0, 2.0, 3.0, 4.0]),
        ("int4(float4(1.9, -1.9, 0, 2))", &[1.0, -1.0, 0.0, 2.0]),
        ("float4(i)", &[1.0, 2.0, 3.0, 4.0]),
        ("half4(h.wzyx)", &[4.0, 3.0, 2.0, 1.0]),
        ("float4(bfloat4(half4(h)))", &[1.0, 2.0, 3.0, 4.0]),
        ("vec<float, 3>(1, 2, 3)", &[1.0, 2.0, 3.0]),
        ("pk", &[1.0, 2.0, 3.0]),
        ("pk.zyx", &[3.0, 2.0, 1.0]),
        ("pk[1] + pk.x", &[3.0]),
        ("pk * 2.0f", &[2.0, 4.0, 6.0]),
        ("float3(pk) + q", &[2.0, 4.0, 6.0]),
        ("float4(packed_uchar4(1, 2, 3, 4).xyzw)", &[1.0, 2.0, 3.0, 4.0]),
    ]);
}

#[test]
fn operators() {
    compare(&[
        ("v + 1", &[2.0, 3.0, 4.0, 5.0]),
        ("10 - v", &[9.0, 8.0, 7.0, 6.0]),
        ("v * v", &[1.0, 4.0, 9.0, 16.0]),
        ("v / 2", &[0.5, 1.0, 1.5, 2.0]),
        ("-v", &[-1.0, -2.0, -3.0, -4.0]),
        ("i % 2", &[1.0, 0.0, 1.0, 0.0]),
        ("i << 1", &[2.0, 4.0, 6.0, 8.0]),
        ("(i & 1) | 2", &[3.0, 2.0, 3.0, 2.0]),
        ("i ^ 1", &[0.0, 3.0, 2.0, 5.0]),
        ("~i", &[-2.0, -3.0, -4.0, -5.0]),
        ("float4(v > 2)", &[0.0, 0.0, 1.0, 1.0]),
        ("float4(v == float4(1, 0, 3, 0))", &[1.0, 0.0, 1.0, 0.0]),
        ("float4(!t)", &[1.0, 1.0, 0.0, 0.0]),
        ("float4(t && bool4(1, 1, 1, 0))", &[0.0, 0.0, 1.0, 0.0]),
        ("any(v > 3)", &[1.0]),
        ("all(v > 3)", &[0.0]),
        ("all(v.xy == p)", &[1.0]),
        ("select(v, -v, t)", &[1.0, 2.0, -3.0, -4.0]),
        ("(v += 1, v)", &[2.0, 3.0, 4.0, 5.0]),
        ("(v -= float4(1), v)", &[1.0, 2.0, 3.0, 4.0]),
        ("(i++, i)", &[2.0, 3.0, 4.0, 5.0]),
        ("h * 2.0h", &[2.0, 4.0, 6.0, 8.0]),
        ("(uchar4(250) + uchar4(10)).x", &[4.0]),
    ]);
}

#[test]
fn functions_on_vectors() {
    compare(&[
        ("dot(v, v)", &[30.0]),
        ("dot(p, p)", &[5.0]),
        ("cross(float3(1, 0, 0), float3(0, 1, 0))", &[0.0, 0.0, 1.0]),
        ("length(float2(3, 4))", &[5.0]),
        ("length_squared(q)", &[14.0]),
        ("distance(float3(1, 2, 2), float3(0))", &[3.0]),
        ("normalize(float2(3, 4))", &[0.6, 0.8]),
        ("reflect(float2(1, -1), float2(0, 1))", &[1.0, 1.0]),
        ("refract(float2(0, -1), float2(0, 1), 1.0f)", &[0.0, -1.0]),
        ("faceforward(float2(0, 1), float2(0, 1), float2(0, 1))", &[0.0, -1.0]),
        ("max(v, 2.5f)", &[2.5, 2.5, 3.0, 4.0]),
        ("min(v, v.wzyx)", &[1.0, 2.0, 2.0, 1.0]),
        ("clamp(v, 2.0f, 3.0f)", &[2.0, 2.0, 3.0, 3.0]),
        ("mix(v, v * 3, 0.5f)", &[2.0, 4.0, 6.0, 8.0]),
        ("step(2.5f, v)", &[0.0, 0.0, 1.0, 1.0]),
        ("floor(v / 2)", &[0.0, 1.0, 1.0, 2.0]),
        ("exp2(v)", &[2.0, 4.0, 8.0, 16.0]),
        ("sqrt(v * v)", &[1.0, 2.0, 3.0, 4.0]),
        ("pow(v, float4(2))", &[1.0, 4.0, 9.0, 16.0]),
        ("fma(v, v, v)", &[2.0, 6.0, 12.0, 20.0]),
        ("abs(-i)", &[1.0, 2.0, 3.0, 4.0]),
        ("sign(v - 2)", &[-1.0, 0.0, 1.0, 1.0]),
        ("fract(v + 0.25f)", &[0.25, 0.25, 0.25, 0.25]),
        ("popcount(i)", &[1.0, 1.0, 2.0, 1.0]),
        ("float4(isnan(v / 0.0f * 0.0f))", &[1.0, 1.0, 1.0, 1.0]),
    ]);
}

#[test]
fn matrices() {
    compare(&[
        ("m2[1]", &[3.0, 4.0]),
        ("m2 * p", &[7.0, 10.0]),
        ("p * m2", &[5.0, 11.0]),
        ("(m2 * m2)[0]", &[7.0, 10.0]),
        ("transpose(m2)[0]", &[1.0, 3.0]),
        ("determinant(m2)", &[-2.0]),
        ("id * v", &[1.0, 2.0, 3.0, 4.0]),
        ("(id * 3.0f)[2]", &[0.0, 0.0, 3.0, 0.0]),
        ("(m2 + m2)[1]", &[6.0, 8.0]),
        ("(-m2)[0]", &[-1.0, -2.0]),
        ("m23[1]", &[2.0, 4.0, 6.0]),
        ("transpose(m23)[2]", &[3.0, 6.0]),
        ("m23 * p", &[5.0, 10.0, 15.0]),
        ("float2x2(1, 2, 3, 4)[1][0]", &[3.0]),
        ("determinant(float3x3(2.0))", &[8.0]),
        ("determinant(float4x4(2.0))", &[16.0]),
        ("float2(half2x2(m2)[1])", &[3.0, 4.0]),
        ("m2[0][1]", &[2.0]),
    ]);
}

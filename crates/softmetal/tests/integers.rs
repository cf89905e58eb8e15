//! Integer functions and packing, row by row.

mod common;
use common::*;

fn compare(rows: &[(&str, i64)]) {
    let body: String = rows.iter().enumerate().map(|(k, (e, _))| format!("out[{k}] = long({e});\n")).collect();
    let src = format!(
        "kernel void k(device const int *in, device long *out) {{
            int i = in[0], n = in[1]; uint u = uint(in[2]); uchar b = uchar(in[3]); short s = short(in[4]); ulong l = ulong(u) << 20; ushort w = ushort(in[4]);
            (void)i; (void)n; (void)u; (void)b; (void)s; (void)l; (void)w;
            {body} }}"
    );
    let got: Vec<i64> = run(&src, "k", 1, 1, &[data(&[1000i32, -7, 0x00f0_1234, 200, -30000]), zeros::<i64>(rows.len())]).get(1);
    let wrong: Vec<_> = rows.iter().zip(&got).filter(|((_, want), got)| want != *got).map(|((e, want), got)| format!("{e} is {got}, not {want}")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn integer_functions() {
    compare(&[
        ("abs(n)", 7),
        ("absdiff(n, i)", 1007),
        ("addsat(b, uchar(100))", 255),
        ("addsat(s, short(-10000))", -32768),
        ("addsat(2147483647, i)", 2147483647),
        ("subsat(uchar(3), b)", 0),
        ("subsat(u, 0xffffffffu)", 0),
        ("subsat(s, short(10000))", -32768),
        ("clamp(i, 0, 10)", 10),
        ("clz(u)", 8),
        ("clz(0u)", 32),
        ("clz(b)", 0),
        ("clz(l)", 20),
        ("ctz(u)", 2),
        ("ctz(0)", 32),
        ("popcount(u)", 9),
        ("reverse_bits(1u) == 0x80000000u", 1),
        ("reverse_bits(uchar(3))", 192),
        ("rotate(0x80000001u, 4u)", 0x18),
        ("rotate(uchar(0x81), uchar(1))", 3),
        ("mulhi(u, 0x10000u)", 0xf0),
        ("mulhi(n, i)", -1),
        ("mulhi(0xfffffffffffffffful, 2ul) == 1", 1),
        ("madhi(u, 0x10000u, 5u)", 0xf5),
        ("madsat(i, 10000000, 5)", 2147483647),
        ("hadd(3, 6)", 4),
        ("rhadd(3, 6)", 5),
        ("hadd(2147483647, 2147483647)", 2147483647),
        ("extract_bits(u, 4, 8)", 0x23),
        ("extract_bits(n, 0, 3)", 1),
        ("insert_bits(0u, 0xffu, 4, 4)", 0xf0),
        ("max(i, n)", 1000),
        ("min(b, uchar(7))", 7),
        ("max(w, ushort(1))", 35536),
        ("min3(3, 1, 2)", 1),
        ("median3(3, 1, 2)", 2),
        ("mad24(i, 3, 5)", 3005),
        ("mul24(u, 2u)", 0x1e0_2468),
        ("n / 2", -3),
        ("n % 4", -3),
        ("n >> 1", -4),
        ("uint(n) >> 28", 15),
        ("uchar(b + 100)", 44),
        ("as_type<uint>(1.0f)", 0x3f80_0000),
        ("as_type<int>(uchar4(1, 2, 3, 4))", 0x0403_0201),
        ("as_type<ushort>(1.0h)", 0x3c00),
        ("as_type<float>(0x40490fdbu) == M_PI_F", 1),
        ("sizeof(long)", 8),
        ("sizeof(packed_float3)", 12),
        ("sizeof(float3)", 16),
        ("sizeof(half3)", 8),
        ("sizeof(char4)", 4),
        ("alignof(float4)", 16),
        ("alignof(packed_float4)", 4),
        ("sizeof(float4x4)", 64),
        ("sizeof(float3x3)", 48),
        ("sizeof(size_t)", 8),
        ("sizeof(bool4)", 4),
    ]);
}

#[test]
fn pack_and_unpack() {
    compare(&[
        ("pack_float_to_unorm4x8(float4(0, 0.5, 1, 2))", 0xffff_8000),
        ("pack_float_to_snorm4x8(float4(-1, 0, 1, 0.5))", 0x407f_0081),
        ("pack_float_to_unorm2x16(float2(1, 0.5))", 0x8000_ffff),
        ("pack_float_to_snorm2x16(float2(1, -1))", 0x8001_7fff),
        ("pack_float_to_unorm10a2(float4(1, 0, 1, 1))", 0xfff0_03ff),
        ("pack_float_to_unorm565(float3(1, 0, 1))", 0xf81f),
        ("pack_half_to_unorm4x8(half4(0, 1, 0, 1))", 0xff00_ff00),
        ("int(unpack_unorm4x8_to_float(0xff008000u).y * 255 + 0.5f)", 128),
        ("int(unpack_snorm4x8_to_float(0x81u).x)", -1),
        ("int(unpack_unorm2x16_to_float(0xffff0000u).y)", 1),
        ("int(unpack_snorm2x16_to_float(0x80007fffu).y)", -1),
        ("int(unpack_unorm10a2_to_float(0xc0000000u).w)", 1),
        ("int(unpack_unorm565_to_float(ushort(0xf800)).z)", 1),
        ("int(unpack_unorm4x8_to_half(0xff000000u).w)", 1),
        ("pack_float_to_srgb_unorm4x8(float4(0.5, 0, 1, 0.5)) & 0xff", 188),
    ]);
}

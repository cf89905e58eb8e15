// map_points
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 5>;
@group(0) @binding(2) var<storage, read_write> b0_0: array<u32>;
fn g0(i: u32) -> u32 {
    return b0_0[i];
}
fn s0(i: u32, v: u32) {
    b0_0[i] = v; return;
}
@group(0) @binding(3) var<storage, read> b1_0: array<u32>;
fn g1(i: u32) -> u32 {
    return b1_0[i];
}
fn finish(i: u32) {
    let c3 = i % p[1].w;
    let rest3 = i / p[1].w;
    let c2 = rest3 % p[1].z;
    let rest2 = rest3 / p[1].z;
    let c1 = rest2 % p[1].y;
    let rest1 = rest2 / p[1].y;
    let c0 = rest1;
    let p0 = p[2].x + c0 * p[2].z + c1 * p[2].w + c2 * p[3].x + c3 * p[3].y;
    let r0: f32 = bitcast<f32>(g1(p0));
    let r1: vec2<u32> = i64_from_f32(r0);
    let o0 = p[2].y + i;
    s0(2u * (o0), r1.x);
    s0(2u * (o0) + 1u, r1.y);
}
fn arg_points() -> u32 {
    return p[4].z;
}
fn arg_run() -> u32 {
    return p[4].w;
}
const WG = 64u;
@compute @workgroup_size(WG)
fn map_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = group_index(group) * arg_run();
    let end = min(arg_points(), first + arg_run());
    for (var i = first + lane; i < end; i += WG) {
        finish(i);
    }
}
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}
fn i64_from_f32(x: f32) -> vec2<u32> {
    if is_nan(x) {
        return vec2<u32>(0u, 0u);
    }
    let bits = bitcast<u32>(x);
    let negative = (bits >> 31u) == 1u;
    if (bits & 0x7fffffffu) >= 0x5f000000u {
        return select_64(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
    }
    let whole = whole_part(x);
    return select_64(whole, neg_64(whole), negative);
}
fn neg_64(a: vec2<u32>) -> vec2<u32> {
    return sub_64(vec2<u32>(0u, 0u), a);
}
fn sub_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
fn select_64(a: vec2<u32>, b: vec2<u32>, c: bool) -> vec2<u32> {
    if c {
        return b;
    }
    return a;
}
fn whole_part(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x) & 0x7fffffffu;
    let exponent = bits >> 23u;
    if exponent < 127u {
        return vec2<u32>(0u, 0u);
    }
    let mantissa = (bits & 0x7fffffu) | 0x800000u;
    if exponent < 150u {
        return vec2<u32>(mantissa >> (150u - exponent), 0u);
    }
    return left_64(vec2<u32>(mantissa, 0u), exponent - 150u);
}
fn left_64(a: vec2<u32>, n: u32) -> vec2<u32> {
    if n == 0u {
        return a;
    }
    if n >= 32u {
        return vec2<u32>(0u, a.x << (n - 32u));
    }
    return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

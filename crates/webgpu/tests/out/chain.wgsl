// map_packed
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 4>;
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
@group(0) @binding(4) var<storage, read> b2_0: array<u32>;
fn g2(i: u32) -> u32 {
    return b2_0[i];
}
fn out(i: u32) -> f32 {
    let c0 = i;
    let p0 = p[1].y + c0 * p[1].w;
    let p1 = p[1].z + c0 * p[2].x;
    let r0: f32 = f32_from_f16((g1(p0 >> 1u) >> ((p0 & 1u) * 16u)) & 0xffffu);
    let r1: f32 = f32_from_f16((g2(p1 >> 1u) >> ((p1 & 1u) * 16u)) & 0xffffu);
    let r2: f32 = (r0 + r1);
    let r3: f32 = narrow_f16(r2);
    let r4: f32 = neg_f32(r3);
    let r5: f32 = exp_f32(r4);
    let r6: f32 = f32_of(0x3f800000u);
    let r7: f32 = (r6 + r5);
    let r8: f32 = (r3 / r7);
    let r9: f32 = narrow_f16(r8);
    return r9;
}
fn packed(i: u32) -> u32 {
    return f16_from_f32(out(i));
}
const PER_WORD = 2u;
fn arg_elements() -> u32 {
    return p[2].y;
}
fn put_word(w: u32, bits: u32) {
    s0(p[2].z + w, bits);
}
fn arg_points() -> u32 {
    return p[2].w;
}
fn arg_run() -> u32 {
    return p[3].x;
}
const WG = 64u;
@compute @workgroup_size(WG)
fn map_packed(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let count = arg_elements();
    let first = group_index(group) * arg_run();
    let end = min(arg_points(), first + arg_run());
    for (var w = first + lane; w < end; w += WG) {
        var word = 0u;
        for (var j = 0u; j < PER_WORD; j++) {
            let i = w * PER_WORD + j;
            if i < count {
                word |= packed(i) << (j * (32u / PER_WORD));
            }
        }
        put_word(w, word);
    }
}
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}
fn f16_from_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let rest = bits & 0x7fffffffu;
    let normal = (rest - 0x38000000u + 0xfffu + ((rest >> 13u) & 1u)) >> 13u;
    let shift = min(126u - min(rest >> 23u, 125u), 31u);
    let mantissa = (rest & 0x7fffffu) | 0x800000u;
    let kept = mantissa >> shift;
    let lost = mantissa & ((1u << shift) - 1u);
    let middle = 1u << (shift - 1u);
    let up = lost > middle || (lost == middle && (kept & 1u) == 1u);
    let subnormal = kept + select(0u, 1u, up);
    let finite = select(subnormal, normal, rest >= 0x38800000u);
    let special = select(0x7c00u, 0x7e00u, rest > 0x7f800000u);
    return sign | select(finite, special, rest >= 0x47800000u);
}
fn narrow_f16(x: f32) -> f32 {
    return f32_from_f16(f16_from_f32(x));
}
fn f32_from_f16(half: u32) -> f32 {
    let sign = (half & 0x8000u) << 16u;
    let rest = half & 0x7fffu;
    let subnormal = bitcast<u32>(f32(rest) * f32_of(0x33800000u));
    let normal = (rest << 13u) + 0x38000000u;
    let special = 0x7f800000u | (rest << 13u);
    let finite = select(normal, subnormal, rest < 0x400u);
    return f32_of(sign | select(finite, special, rest >= 0x7c00u));
}
fn f32_of(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}
fn exp_f32(x: f32) -> f32 {
    let c = within(x, -105.0, 90.0);
    let n = round(c * 1.4426950216293335);
    let r = (c - n * 0.69314575) - n * 1.4286068e-6;
    var s = 1.395136118e-03;
    s = s * r + 8.369597606e-03;
    s = s * r + 4.166619480e-02;
    s = s * r + 1.666651219e-01;
    s = s * r + 0.5;
    return select(times_power_of_two((s * (r * r) + r) + 1.0, i32(n)), x, is_nan(x));
}
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn times_power_of_two(p: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return p * f32_of(bitcast<u32>(half + 127) << 23u) * f32_of(bitcast<u32>(n - half + 127) << 23u);
}
fn within(x: f32, low: f32, high: f32) -> f32 {
    return select(select(x, high, x > high), low, x < low);
}
fn neg_f32(x: f32) -> f32 {
    return f32_of(bitcast<u32>(x) ^ 0x80000000u);
}

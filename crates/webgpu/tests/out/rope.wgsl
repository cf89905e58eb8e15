// rope_points
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 6>;
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
@group(0) @binding(5) var<storage, read> b3_0: array<u32>;
fn g3(i: u32) -> u32 {
    return b3_0[i];
}
fn in0(i: u32) -> f32 {
    let c0 = i;
    let p0 = p[1].y + c0 * p[1].z;
    let r0: f32 = bitcast<f32>(g1(p0));
    return r0;
}
fn in1(i: u32) -> i32 {
    let c0 = i;
    let p0 = p[2].x + c0 * p[2].y;
    let r0: i32 = bitcast<i32>(g2(p0));
    return r0;
}
fn in2(i: u32) -> f32 {
    let c0 = i;
    let p0 = p[2].w + c0 * p[3].x;
    let r0: f32 = bitcast<f32>(g3(p0));
    return r0;
}
fn finish(i: u32, v: f32) {
    let c0 = i;
    let r0: f32 = v;
    let o0 = p[3].w + c0 * p[4].y;
    s0(o0, bitcast<u32>(r0));
}
const WG = 64u;
const INTERLEAVED = 0u;
fn arg_points() -> u32 {
    return p[4].z;
}
fn arg_width() -> u32 {
    return p[4].w;
}
fn arg_half() -> u32 {
    return p[5].x;
}
@compute @workgroup_size(WG)
fn rope_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = group_index(group) * WG + lane;
    if i >= arg_points() {
        return;
    }
    let width = arg_width();
    let half = arg_half();
    let row = i / width;
    let k = i % width;
    if k >= 2u * half {
        finish(i, in0(i));
        return;
    }
    var pair = k % half;
    var first = pair;
    var second = pair + half;
    if INTERLEAVED == 1u {
        pair = k / 2u;
        first = 2u * pair;
        second = first + 1u;
    }
    let turn = sin_cos_of_product(f32(in1(row)), in2(pair));
    let a = in0(row * width + first);
    let b = in0(row * width + second);
    finish(i, select(a * turn.x + b * turn.y, a * turn.y - b * turn.x, k == first));
}
fn sin_cos_of_product(a: f32, b: f32) -> vec2<f32> {
    let angle = opaque(a * b);
    let turn = quarter_turns(angle);
    let rest = turn.rest + product_error(a, b, angle);
    let s = sin_series(rest);
    let c = cos_series(rest);
    switch turn.quadrant {
        case 0u: { return vec2<f32>(s, c); }
        case 1u: { return vec2<f32>(c, -s); }
        case 2u: { return vec2<f32>(-s, -c); }
        default: { return vec2<f32>(-c, s); }
    }
}
fn cos_series(r: f32) -> f32 {
    let z = r * r;
    var c = 2.443780795e-05;
    c = c * z + -1.388736186e-03;
    c = c * z + 4.166664556e-02;
    return c * (z * z) + (1.0 - 0.5 * z);
}
fn sin_series(r: f32) -> f32 {
    let z = r * r;
    var s = -1.951666054e-04;
    s = s * z + 8.332173340e-03;
    s = s * z + -1.666665524e-01;
    return s * (r * z) + r;
}
fn product_error(a: f32, b: f32, p: f32) -> f32 {
    let ah = upper_half(a);
    let al = a - ah;
    let bh = upper_half(b);
    let bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}
fn upper_half(x: f32) -> f32 {
    return f32_of(bitcast<u32>(x) & 0xfffff000u);
}
fn f32_of(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}
fn quarter_turns(x: f32) -> Angle {
    let bits = bitcast<u32>(x) & 0x7fffffffu;
    if bits < 0x3f490fdbu {
        return Angle(x, 0u);
    }
    let mantissa = (bits & 0x7fffffu) | 0x800000u;
    let start = (bits >> 23u) - 120u;
    let word = start >> 5u;
    let shift = start & 31u;
    let t0 = two_over_pi(word);
    let t1 = two_over_pi(word + 1u);
    let t2 = two_over_pi(word + 2u);
    let t3 = two_over_pi(word + 3u);
    var high = t0;
    var middle = t1;
    var low = t2;
    if shift != 0u {
        high = (t0 << shift) | (t1 >> (32u - shift));
        middle = (t1 << shift) | (t2 >> (32u - shift));
        low = (t2 << shift) | (t3 >> (32u - shift));
    }
    let p1 = add_64(vec2<u32>(mantissa * middle, mulhi_u32(mantissa, middle)), vec2<u32>(mulhi_u32(mantissa, low), 0u));
    let top = mantissa * high + p1.y;
    let below = mantissa * low;
    var quadrant = top >> 30u;
    var fraction = vec2<u32>((p1.x << 2u) | (below >> 30u), (top << 2u) | (p1.x >> 30u));
    var negative = false;
    if (fraction.y >> 31u) == 1u {
        quadrant = quadrant + 1u;
        fraction = neg_64(fraction);
        negative = true;
    }
    var rest = f32_from_u64(fraction) * f32_of(0x2f800000u) * f32_of(0x2fc90fdbu);
    rest = select(rest, -rest, negative);
    if (bitcast<u32>(x) >> 31u) == 1u {
        return Angle(-rest, (4u - quadrant) & 3u);
    }
    return Angle(rest, quadrant & 3u);
}
struct Angle {
    rest: f32,
    quadrant: u32,
}
fn f32_from_u64(v: vec2<u32>) -> f32 {
    if v.y == 0u && v.x < 0x1000000u {
        return f32(v.x);
    }
    let zeros = select(countLeadingZeros(v.y), 32u + countLeadingZeros(v.x), v.y == 0u);
    let top = left_64(v, zeros);
    let kept = top.y >> 8u;
    let lost = top.y & 0xffu;
    let up = lost > 0x80u || (lost == 0x80u && (top.x != 0u || (kept & 1u) == 1u));
    return f32_of(((190u - zeros) << 23u) + (kept & 0x7fffffu) + select(0u, 1u, up));
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
fn neg_64(a: vec2<u32>) -> vec2<u32> {
    return sub_64(vec2<u32>(0u, 0u), a);
}
fn sub_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
fn mulhi_u32(a: u32, b: u32) -> u32 {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let low = ah * bl + ((al * bl) >> 16u);
    let mid = al * bh + (low & 0xffffu);
    return ah * bh + (low >> 16u) + (mid >> 16u);
}
fn add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn two_over_pi(i: u32) -> u32 {
    switch i {
        case 1u: { return 0xa2f9836eu; }
        case 2u: { return 0x4e441529u; }
        case 3u: { return 0xfc2757d1u; }
        case 4u: { return 0xf534ddc0u; }
        case 5u: { return 0xdb629599u; }
        case 6u: { return 0x3c439041u; }
        case 7u: { return 0xfe5163abu; }
        default: { return 0u; }
    }
}
fn opaque(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ p[0].w);
}
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}

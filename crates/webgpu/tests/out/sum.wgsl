// map_packed
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 3>;
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
fn out(i: u32) -> f32 {
    let c0 = i;
    let p0 = p[1].y + c0 * p[1].z;
    let r0: f32 = f32_of((g1(p0 >> 1u) >> ((p0 & 1u) * 16u)) << 16u);
    let r1: f32 = (r0 * r0);
    let r2: f32 = narrow_bf16(r1);
    return r2;
}
fn packed(i: u32) -> u32 {
    return bf16_from_f32(out(i));
}
const PER_WORD = 2u;
fn arg_elements() -> u32 {
    return p[1].w;
}
fn put_word(w: u32, bits: u32) {
    s0(p[2].x + w, bits);
}
fn arg_points() -> u32 {
    return p[2].y;
}
fn arg_run() -> u32 {
    return p[2].z;
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
fn bf16_from_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return (bits >> 16u) | 0x40u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
fn narrow_bf16(x: f32) -> f32 {
    return f32_of(bf16_from_f32(x) << 16u);
}
fn f32_of(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

// reduce_parts_quads
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 4>;
@group(0) @binding(2) var<storage, read_write> b0_0: array<atomic<u32>>;
fn g0(i: u32) -> u32 {
    return atomicLoad(&b0_0[i]);
}
fn m0(i: u32, keep: u32, bits: u32) {
    atomicAnd(&b0_0[i], keep); atomicOr(&b0_0[i], bits); return;
}
fn a0(i: u32, v: u32) -> u32 {
    return atomicAdd(&b0_0[i], v);
}
fn x0(i: u32, was: u32, v: u32) -> bool {
    return atomicCompareExchangeWeak(&b0_0[i], was, v).exchanged;
}
@group(0) @binding(3) var<storage, read_write> b1_0: array<u32>;
fn g1(i: u32) -> u32 {
    return b1_0[i];
}
@group(0) @binding(4) var<storage, read_write> b2_0: array<u32>;
fn g2(i: u32) -> u32 {
    return b2_0[i];
}
fn s2(i: u32, v: u32) {
    b2_0[i] = v; return;
}
alias T = f32;
fn combine(a: T, b: T) -> T {
    return (a + b);
}
fn identity() -> T {
    return f32_of(0x0u);
}
fn arg_inner() -> u32 {
    return p[1].x;
}
fn in0(i: u32) -> f32 {
    let c0 = i;
    let p0 = p[1].z + c0 * p[1].w;
    let r0: f32 = f32_of((g1(p0 >> 1u) >> ((p0 & 1u) * 16u)) << 16u);
    return r0;
}
const WG = 64u;
fn arg_parts() -> u32 {
    return p[2].x;
}
fn arg_part() -> u32 {
    return p[2].y;
}
fn put_part(i: u32, v: f32) {
    s2(i, bitcast<u32>(v));
}
fn get_part(i: u32) -> f32 {
    return f32_of(vec2<u32>(g2(i), 0u).x);
}
fn in0_of(l0: f32) -> f32 {
    let r0: f32 = l0;
    return r0;
}
fn in0_4(i: u32) -> vec4<f32> {
    let c0 = i;
    let p0 = p[2].w + c0 * p[3].x;
    let p0_0 = p0 + 0u * p[3].x;
    let w0_0: f32 = f32_of((g1(p0_0 >> 1u) >> ((p0_0 & 1u) * 16u)) << 16u);
    let p0_1 = p0 + 1u * p[3].x;
    let w0_1: f32 = f32_of((g1(p0_1 >> 1u) >> ((p0_1 & 1u) * 16u)) << 16u);
    let p0_2 = p0 + 2u * p[3].x;
    let w0_2: f32 = f32_of((g1(p0_2 >> 1u) >> ((p0_2 & 1u) * 16u)) << 16u);
    let p0_3 = p0 + 3u * p[3].x;
    let w0_3: f32 = f32_of((g1(p0_3 >> 1u) >> ((p0_3 & 1u) * 16u)) << 16u);
    return vec4<f32>(in0_of(w0_0), in0_of(w0_1), in0_of(w0_2), in0_of(w0_3));
}
@compute @workgroup_size(WG)
fn reduce_parts_quads(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let inner = arg_inner();
    let parts = arg_parts();
    let base = index / parts * inner;
    let begin = (index % parts) * arg_part();
    let end = min(begin + arg_part(), inner);
    var own = identity();
    for (var k = begin + 4u * lane; k < end; k += 4u * WG) {
        own = combine(own, reduce_quad(in0_4(base + k)));
    }
    let all = reduce_group(own, lane);
    if lane == 0u {
        put_part(index, all);
    }
}
fn reduce_group(own: T, lane: u32) -> T {
    reduce_shared[lane] = own;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s {
            reduce_shared[lane] = combine(reduce_shared[lane], reduce_shared[lane + s]);
        }
        workgroupBarrier();
    }
    return reduce_shared[0];
}
var<workgroup> reduce_shared: array<T, WG>;
fn reduce_quad(v: vec4<T>) -> T {
    return combine(combine(v.x, v.y), combine(v.z, v.w));
}
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}
fn f32_of(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

// reduce_joined
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 2>;
@group(0) @binding(2) var<storage, read_write> b0_0: array<atomic<u32>>;
fn g0(i: u32) -> u32 {
    return atomicLoad(&b0_0[i]);
}
fn m0(i: u32, keep: u32, bits: u32) {
    atomicAnd(&b0_0[i], keep); atomicOr(&b0_0[i], bits); return;
}
fn a0(i: u32, v: u32) -> u32 {
    return atomicAdd(&b0_0[i], v);
}
fn x0(i: u32, was: u32, v: u32) -> bool {
    return atomicCompareExchangeWeak(&b0_0[i], was, v).exchanged;
}
@group(0) @binding(3) var<storage, read_write> b1_0: array<u32>;
fn g1(i: u32) -> u32 {
    return b1_0[i];
}
fn s1(i: u32, v: u32) {
    b1_0[i] = v; return;
}
alias T = f32;
fn combine(a: T, b: T) -> T {
    return (a + b);
}
fn identity() -> T {
    return f32_of(0x0u);
}
fn arg_inner() -> u32 {
    return p[1].x;
}
const WG = 64u;
fn arg_parts() -> u32 {
    return p[1].y;
}
fn put_part(i: u32, v: f32) {
    s1(i, bitcast<u32>(v));
}
fn get_part(i: u32) -> f32 {
    return f32_of(vec2<u32>(g1(i), 0u).x);
}
fn finish(i: u32, v: f32) {
    let r0: f32 = v;
    let o0 = p[1].w;
    m0(o0 >> 1u, ~(0xffffu << ((o0 & 1u) * 16u)), bf16_from_f32(r0) << ((o0 & 1u) * 16u));
}
@compute @workgroup_size(WG)
fn reduce_joined(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let outer = group_index(group);
    if outer >= p[0].y {
        return;
    }
    let parts = arg_parts();
    var own = identity();
    for (var k = lane; k < parts; k += WG) {
        own = combine(own, get_part(outer * parts + k));
    }
    let all = reduce_group(own, lane);
    if lane == 0u {
        finish(outer, all);
    }
}
fn reduce_group(own: T, lane: u32) -> T {
    reduce_shared[lane] = own;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s {
            reduce_shared[lane] = combine(reduce_shared[lane], reduce_shared[lane + s]);
        }
        workgroupBarrier();
    }
    return reduce_shared[0];
}
var<workgroup> reduce_shared: array<T, WG>;
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}
fn bf16_from_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return (bits >> 16u) | 0x40u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
fn f32_of(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

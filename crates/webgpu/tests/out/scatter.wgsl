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
fn out(i: u32) -> u32 {
    let c0 = i;
    let p0 = p[1].y + c0 * p[1].z;
    let r0: u32 = ((g1(p0 >> 2u) >> ((p0 & 3u) * 8u)) & 0xffu);
    return r0;
}
fn packed(i: u32) -> u32 {
    return (out(i) & 0xffu);
}
const PER_WORD = 4u;
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

// index_points
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 5>;
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
@group(0) @binding(3) var<storage, read_write> b1_0: array<atomic<u32>>;
fn g1(i: u32) -> u32 {
    return atomicLoad(&b1_0[i]);
}
fn m1(i: u32, keep: u32, bits: u32) {
    atomicAnd(&b1_0[i], keep); atomicOr(&b1_0[i], bits); return;
}
fn a1(i: u32, v: u32) -> u32 {
    return atomicAdd(&b1_0[i], v);
}
fn x1(i: u32, was: u32, v: u32) -> bool {
    return atomicCompareExchangeWeak(&b1_0[i], was, v).exchanged;
}
@group(0) @binding(4) var<storage, read> b2_0: array<u32>;
fn g2(i: u32) -> u32 {
    return b2_0[i];
}
@group(0) @binding(5) var<storage, read> b3_0: array<u32>;
fn g3(i: u32) -> u32 {
    return b3_0[i];
}
fn fault(code: u32) {
    atomicMax(&b0_0[0], ~((p[0].z << 4u) | code));
}
fn in0(i: u32) -> vec2<u32> {
    let c0 = i;
    let p0 = p[1].y + c0 * p[1].z;
    let r0: vec2<u32> = vec2<u32>(g2(2u * (p0)), g2(2u * (p0) + 1u));
    return r0;
}
fn in1(i: u32) -> u32 {
    let c0 = i;
    let p0 = p[2].x + c0 * p[2].y;
    let r0: u32 = ((g3(p0 >> 2u) >> ((p0 & 3u) * 8u)) & 0xffu);
    return r0;
}
fn index_point(i: u32) {
    var rest = i;
    var c1 = rest % p[2].z;
    rest = rest / p[2].z;
    var c0 = rest % p[2].w;
    rest = rest / p[2].w;
    c0 = resolve_index(in0(i), p[3].x);
    if c0 == NOWHERE {
        return;
    }
    let at = p[3].y + c0 * p[3].z + c1 * p[3].w;
    let value = in1(i);
    m1(at >> 2u, ~(0xffu << ((at & 3u) * 8u)), (value & 0xffu) << ((at & 3u) * 8u));
}
fn arg_points() -> u32 {
    return p[4].x;
}
fn arg_run() -> u32 {
    return p[4].y;
}
const WG = 64u;
@compute @workgroup_size(WG)
fn index_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = group_index(group) * arg_run();
    let end = min(arg_points(), first + arg_run());
    for (var i = first + lane; i < end; i += WG) {
        index_point(i);
    }
}
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}
const NOWHERE = 0xffffffffu;
fn resolve_index(index: vec2<u32>, extent: u32) -> u32 {
    var i = index;
    if is_negative_64(i) {
        i = add_64(i, vec2<u32>(extent, 0u));
    }
    if i.y != 0u || i.x >= extent {
        fault(3u);
        return NOWHERE;
    }
    return i.x;
}
fn add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn is_negative_64(a: vec2<u32>) -> bool {
    return (a.y >> 31u) == 1u;
}

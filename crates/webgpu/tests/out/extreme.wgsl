// arg_rows
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
fn in0(i: u32) -> f32 {
    let c0 = i;
    let p0 = p[1].y + c0 * p[1].z;
    let r0: f32 = bitcast<f32>(g1(p0));
    return r0;
}
alias K = u32;
fn key_of(x: f32) -> K {
    return sort_key_f32(x);
}
fn key_lt(a: K, b: K) -> bool {
    return a < b;
}
fn last_key() -> K {
    return 0xffffffffu;
}
const WG = 64u;
fn arg_width() -> u32 {
    return p[1].w;
}
fn finish(i: u32, v: vec2<u32>) {
    let c0 = i;
    let r0: vec2<u32> = v;
    let o0 = p[2].z + c0 * p[3].x;
    s0(2u * (o0), r0.x);
    s0(2u * (o0) + 1u, r0.y);
}
@compute @workgroup_size(WG)
fn arg_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let n = arg_width();
    var place = select(0u, lane, lane < n);
    var best = key_of(in0(row * n + place));
    for (var k = lane + WG; k < n; k += WG) {
        let key = key_of(in0(row * n + k));
        if key_lt(best, key) {
            best = key;
            place = k;
        }
    }
    arg_keys[lane] = best;
    arg_places[lane] = place;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s && arg_beats(arg_keys[lane + s], arg_places[lane + s], arg_keys[lane], arg_places[lane]) {
            arg_keys[lane] = arg_keys[lane + s];
            arg_places[lane] = arg_places[lane + s];
        }
        workgroupBarrier();
    }
    if lane == 0u {
        finish(row, vec2<u32>(arg_places[0], 0u));
    }
}
var<workgroup> arg_places: array<u32, WG>;
var<workgroup> arg_keys: array<K, WG>;
fn arg_beats(a: K, i: u32, b: K, j: u32) -> bool {
    return key_lt(b, a) || (!key_lt(a, b) && i < j);
}
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}
fn sort_key_f32(x: f32) -> u32 {
    return select(bitcast<u32>(order_key(x)) ^ 0x80000000u, 0xffffffffu, is_nan(x));
}
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn order_key(x: f32) -> i32 {
    let bits = bitcast<i32>(x);
    return select(bits, -(bits & 0x7fffffff), bits < 0);
}

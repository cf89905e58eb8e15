// map_points
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
@group(0) @binding(3) var<storage, read_write> b1_0: array<u32>;
fn g1(i: u32) -> u32 {
    return b1_0[i];
}
fn s1(i: u32, v: u32) {
    b1_0[i] = v; return;
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
fn finish(i: u32) {
    let c1 = i % p[1].y;
    let rest1 = i / p[1].y;
    let c0 = rest1;
    let p0 = p[1].z + i;
    let p1 = p[1].w + c0 * p[2].w + c1 * p[3].x;
    let r0: i32 = bitcast<i32>(g2(p0));
    let r1: i32 = bitcast<i32>(g3(p1));
    let r2: i32 = floor_div_i32(r0, r1);
    let o0 = p[2].x + i;
    s1(o0, bitcast<u32>(r2));
}
fn arg_points() -> u32 {
    return p[3].w;
}
fn arg_run() -> u32 {
    return p[4].x;
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
fn floor_div_i32(a: i32, b: i32) -> i32 {
    if b == 0 {
        fault(1u);
        return 0;
    }
    let ua = bitcast<u32>(select(a, -a, a < 0));
    let ub = bitcast<u32>(select(b, -b, b < 0));
    let q = ua / ub;
    if (a < 0) == (b < 0) {
        return bitcast<i32>(q);
    }
    return -bitcast<i32>(q) - select(0, 1, ua % ub != 0u);
}

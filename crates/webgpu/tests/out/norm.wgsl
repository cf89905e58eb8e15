// rms_norm_kept
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 8>;
@group(0) @binding(2) var<storage, read_write> b0_0: array<vec4<u32>>;
fn g0(i: u32) -> u32 {
    let at = i >> 2u;
    return b0_0[at][i & 3u];
}
fn q0(i: u32) -> vec4<u32> {
    return b0_0[i];
}
fn t0(i: u32, v: vec4<u32>) {
    b0_0[i] = v; return;
}
@group(0) @binding(3) var<storage, read> b1_0: array<vec4<u32>>;
fn g1(i: u32) -> u32 {
    let at = i >> 2u;
    return b1_0[at][i & 3u];
}
fn q1(i: u32) -> vec4<u32> {
    return b1_0[i];
}
@group(0) @binding(4) var<storage, read> b2_0: array<vec4<u32>>;
fn g2(i: u32) -> u32 {
    let at = i >> 2u;
    return b2_0[at][i & 3u];
}
fn q2(i: u32) -> vec4<u32> {
    return b2_0[i];
}
fn in0(i: u32) -> f32 {
    let c0 = i;
    let p0 = p[1].y + c0 * p[1].z;
    let r0: f32 = bitcast<f32>(g1(p0));
    return r0;
}
fn in1(i: u32) -> f32 {
    let c0 = i;
    let p0 = p[2].x + c0 * p[2].y;
    let r0: f32 = bitcast<f32>(g2(p0));
    return r0;
}
fn arg_width() -> u32 {
    return p[2].z;
}
fn arg_eps() -> f32 {
    return bitcast<f32>(p[2].w);
}
fn in0_of(l0: f32) -> f32 {
    let r0: f32 = l0;
    return r0;
}
fn in0_4(i: u32) -> vec4<f32> {
    let p0 = p[3].z + i;
    let w0 = bitcast<vec4<f32>>(q1(p0 >> 2u));
    return vec4<f32>(in0_of(w0[0]), in0_of(w0[1]), in0_of(w0[2]), in0_of(w0[3]));
}
fn in1_of(l0: f32) -> f32 {
    let r0: f32 = l0;
    return r0;
}
fn in1_4(i: u32) -> vec4<f32> {
    let c0 = i;
    let p0 = p[4].z + c0 * p[4].w;
    let w0 = bitcast<vec4<f32>>(q2(p0 >> 2u));
    return vec4<f32>(in1_of(w0[0]), in1_of(w0[1]), in1_of(w0[2]), in1_of(w0[3]));
}
fn weighted_4(k: u32, x: vec4<f32>) -> vec4<f32> {
    return x * in1_4(k);
}
fn out_of(l0: f32, l1: f32) -> f32 {
    let r0: f32 = l0;
    let r1: f32 = l1;
    let r2: f32 = (r0 * r1);
    return r2;
}
fn finish_4(i: u32, v: vec4<f32>) {
    let c1 = i % p[5].y;
    let rest1 = i / p[5].y;
    let c0 = rest1;
    let p1 = p[5].w + c0 * p[6].w + c1 * p[7].x;
    let p2 = p[6].x + i;
    let w1 = bitcast<vec4<f32>>(q2(p1 >> 2u));
    t0(p2 >> 2u, vec4<u32>(bitcast<u32>(out_of(v[0], w1[0])), bitcast<u32>(out_of(v[1], w1[1])), bitcast<u32>(out_of(v[2], w1[2])), bitcast<u32>(out_of(v[3], w1[3]))));
}
const WG = 64u;
const KEEP = 1u;
@compute @workgroup_size(WG)
fn rms_norm_kept(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let n = arg_width();
    let base = row * n;
    var kept: array<vec4<f32>, KEEP>;
    var own = 0.0;
    keep_row(&kept, base, n, lane);
    for (var j = 0u; j < KEEP; j++) {
        own += dot(kept[j], kept[j]);
    }
    let mean = group_sum(own, lane) / f32(n);
    let scale = 1.0 / sqrt(mean + arg_eps());
    finish_row(&kept, base, n, lane, scale);
}
fn finish_row(kept: ptr<function, array<vec4<f32>, KEEP>>, base: u32, n: u32, lane: u32, scale: f32) {
    for (var j = 0u; j < KEEP; j++) {
        let k = 4u * (j * WG + lane);
        if k < n {
            finish_4(base + k, weighted_4(k, (*kept)[j] * scale));
        }
    }
}
fn group_sum(own: f32, lane: u32) -> f32 {
    group_shared[lane] = own;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s {
            group_shared[lane] += group_shared[lane + s];
        }
        workgroupBarrier();
    }
    let all = group_shared[0];
    workgroupBarrier();
    return all;
}
var<workgroup> group_shared: array<f32, WG>;
fn keep_row(kept: ptr<function, array<vec4<f32>, KEEP>>, base: u32, n: u32, lane: u32) {
    for (var j = 0u; j < KEEP; j++) {
        let k = 4u * (j * WG + lane);
        if k < n {
            (*kept)[j] = in0_4(base + k);
        }
    }
}
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}

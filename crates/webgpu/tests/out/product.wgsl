// matmul_tiles
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
@group(0) @binding(4) var<storage, read> b2_0: array<u32>;
fn g2(i: u32) -> u32 {
    return b2_0[i];
}
fn at0(c0: u32, c1: u32) -> f32 {
    let p0 = p[1].x + c0 * p[1].y + c1 * p[1].z;
    return bitcast<f32>(g1(p0));
}
fn a_at(batch: u32, row: u32, column: u32) -> f32 {
    var rest = batch;
    return at0(row, column);
}
fn at1(c0: u32, c1: u32) -> f32 {
    let p0 = p[1].w + c0 * p[2].x + c1 * p[2].y;
    return bitcast<f32>(g2(p0));
}
fn b_at(batch: u32, row: u32, column: u32) -> f32 {
    var rest = batch;
    return at1(row, column);
}
fn finish(i: u32, v: f32) {
    let c0 = i;
    let r0: f32 = v;
    let r1: f32 = exp_f32(r0);
    let o0 = p[3].x + c0 * p[3].z;
    s0(o0, bitcast<u32>(r1));
}
fn arg_m() -> u32 {
    return p[3].w;
}
fn arg_n() -> u32 {
    return p[4].x;
}
fn arg_k() -> u32 {
    return p[4].y;
}
@compute @workgroup_size(256)
fn matmul_tiles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let n = arg_n();
    let m = arg_m();
    let depth = arg_k();
    let across = (n + TILE - 1u) / TILE;
    let down = (m + TILE - 1u) / TILE;
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let left = index % across * TILE;
    let top = index / across % down * TILE;
    let batch = index / across / down;
    let tx = lane % 16u;
    let ty = lane / 16u;
    var c0 = vec4<f32>();
    var c1 = vec4<f32>();
    var c2 = vec4<f32>();
    var c3 = vec4<f32>();
    for (var k0 = 0u; k0 < depth; k0 += DEPTH) {
        tile_a[lane] = tile_a_quad(batch, top + 4u * (lane / 16u), k0 + lane % 16u, m, depth, lane);
        tile_b[lane] = tile_b_quad(batch, k0 + lane / 16u, left + 4u * (lane % 16u), n, depth);
        workgroupBarrier();
        for (var k = 0u; k < DEPTH; k++) {
            let a = tile_a[ty * 16u + k];
            let b = tile_b[k * 16u + tx];
            c0 += a.x * b;
            c1 += a.y * b;
            c2 += a.z * b;
            c3 += a.w * b;
        }
        workgroupBarrier();
    }
    let row = top + 4u * ty;
    let column = left + 4u * tx;
    tile_row(batch, row, column, c0);
    tile_row(batch, row + 1u, column, c1);
    tile_row(batch, row + 2u, column, c2);
    tile_row(batch, row + 3u, column, c3);
}
fn tile_row(batch: u32, row: u32, column: u32, v: vec4<f32>) {
    let n = arg_n();
    if row >= arg_m() {
        return;
    }
    let at = (batch * arg_m() + row) * n + column;
    if column < n { finish(at, v.x); }
    if column + 1u < n { finish(at + 1u, v.y); }
    if column + 2u < n { finish(at + 2u, v.z); }
    if column + 3u < n { finish(at + 3u, v.w); }
}
var<workgroup> tile_b: array<vec4<f32>, 256>;
var<workgroup> tile_a: array<vec4<f32>, 256>;
const DEPTH = 16u;
fn tile_b_quad(batch: u32, k: u32, column: u32, n: u32, depth: u32) -> vec4<f32> {
    var v = vec4<f32>();
    if k < depth {
        if column < n { v.x = b_at(batch, k, column); }
        if column + 1u < n { v.y = b_at(batch, k, column + 1u); }
        if column + 2u < n { v.z = b_at(batch, k, column + 2u); }
        if column + 3u < n { v.w = b_at(batch, k, column + 3u); }
    }
    return v;
}
fn tile_a_quad(batch: u32, row: u32, k: u32, m: u32, depth: u32, lane: u32) -> vec4<f32> {
    var v = vec4<f32>();
    if k < depth {
        if row < m { v.x = a_at(batch, row, k); }
        if row + 1u < m { v.y = a_at(batch, row + 1u, k); }
        if row + 2u < m { v.z = a_at(batch, row + 2u, k); }
        if row + 3u < m { v.w = a_at(batch, row + 3u, k); }
    }
    return v;
}
const TILE = 64u;
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
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
fn f32_of(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}
fn within(x: f32, low: f32, high: f32) -> f32 {
    return select(select(x, high, x > high), low, x < low);
}

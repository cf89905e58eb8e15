// Products of m×k and k×n matrices, `batch` of them. `a_at(batch, row, k)` and `b_at(batch, k, column)` read operands.

// One invocation per element of the result: any type, small problems.
@compute @workgroup_size(WG)
fn matmul_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = group_index(group) * WG + lane;
    if i >= arg_points() {
        return;
    }
    let n = arg_n();
    let column = i % n;
    let row = i / n % arg_m();
    let batch = i / n / arg_m();
    var sum = zero();
    for (var k = 0u; k < arg_k(); k++) {
        sum = multiply_add(a_at(batch, row, k), b_at(batch, k, column), sum);
    }
    finish(i, sum);
}

// Tiles of 64×64 in workgroup memory, 4×4 elements per invocation in registers.
const TILE = 64u;
const DEPTH = 16u;
var<workgroup> tile_a: array<vec4<f32>, 256>;
var<workgroup> tile_b: array<vec4<f32>, 256>;

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
        // Slot k·16 + q holds rows (or columns) 4q … 4q + 3 at depth k.
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

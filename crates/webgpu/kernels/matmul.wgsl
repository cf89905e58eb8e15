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

// Lanes split the inner extent: rows times columns that lie along k, few of them. LANES lanes per column, WG / LANES
// columns and up to ROWS rows per workgroup; an element of b is used for all rows.
var<workgroup> dot_shared: array<f32, DOT_SHARED>;

@compute @workgroup_size(WG)
fn matmul_dot(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let columns = WG / LANES;
    let n = arg_n();
    let m = arg_m();
    let across = (n + columns - 1u) / columns;
    let down = (m + ROWS - 1u) / ROWS;
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let column = (index % across) * columns + lane / LANES;
    let first = index / across % down * ROWS;
    let batch = index / across / down;
    let own = lane % LANES;
    var sums: array<f32, ROWS>;
    if column < n {
        for (var k = own; k < arg_k(); k += LANES) {
            let b = b_at(batch, k, column);
            for (var r = 0u; r < ROWS; r++) {
                if first + r < m {
                    sums[r] += a_at(batch, first + r, k) * b;
                }
            }
        }
    }
    for (var r = 0u; r < ROWS; r++) {
        dot_shared[r * WG + lane] = sums[r];
    }
    workgroupBarrier();
    for (var t = lane; t < ROWS * columns; t += WG) {
        let r = t / columns;
        let c = (index % across) * columns + t % columns;
        if first + r < m && c < n {
            var sum = 0.0;
            for (var j = 0u; j < LANES; j++) {
                sum += dot_shared[r * WG + (t % columns) * LANES + j];
            }
            finish((batch * m + first + r) * n + c, sum);
        }
    }
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

// The same tiles by cooperative matrices of 8×8, which a subgroup of 32 holds together: eight subgroups, each with 16 rows
// and 32 columns. The operands are in workgroup memory, a's 64×16 before b's 16×64, as halves where both are halves in
// memory too; results go through it, 8×8 of each subgroup at a time.
var<workgroup> operands: array<Operand, 2048>;
var<workgroup> results: array<f32, 512>;

@compute @workgroup_size(256)
fn matmul_cooperative(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let n = arg_n();
    let depth = arg_k();
    let across = (n + TILE - 1u) / TILE;
    let down = (arg_m() + TILE - 1u) / TILE;
    let index = group_index(group);
    // Cooperative operations allow no early return: a workgroup too many has no rows.
    let m = select(0u, arg_m(), index < p[0].y);
    let left = index % across * TILE;
    let top = index / across % down * TILE;
    let batch = index / across / down;
    let subgroup = lane / 32u;
    let own_a = subgroup / 2u * 16u * DEPTH;
    let own_b = TILE * DEPTH + subgroup % 2u * 32u;
    let own = subgroup * 64u;
    results[lane] = 0.0;
    results[lane + 256u] = 0.0;
    workgroupBarrier();
    var c00 = coopLoadT<coop_mat8x8<f32, C>>(&results[own], 8u);
    var c01 = c00;
    var c02 = c00;
    var c03 = c00;
    var c10 = c00;
    var c11 = c00;
    var c12 = c00;
    var c13 = c00;
    for (var k0 = 0u; k0 < depth; k0 += DEPTH) {
        workgroupBarrier();
        for (var i = lane; i < TILE * DEPTH; i += 256u) {
            operands[i] = cooperative_a(batch, top + i / DEPTH, k0 + i % DEPTH, m, depth);
            operands[TILE * DEPTH + i] = cooperative_b(batch, k0 + i / TILE, left + i % TILE, n, depth);
        }
        workgroupBarrier();
        for (var k = 0u; k < DEPTH; k += 8u) {
            let a0 = coopLoadT<coop_mat8x8<Operand, A>>(&operands[own_a + k], DEPTH);
            let a1 = coopLoadT<coop_mat8x8<Operand, A>>(&operands[own_a + 8u * DEPTH + k], DEPTH);
            let b0 = coopLoadT<coop_mat8x8<Operand, B>>(&operands[own_b + k * TILE], TILE);
            let b1 = coopLoadT<coop_mat8x8<Operand, B>>(&operands[own_b + k * TILE + 8u], TILE);
            let b2 = coopLoadT<coop_mat8x8<Operand, B>>(&operands[own_b + k * TILE + 16u], TILE);
            let b3 = coopLoadT<coop_mat8x8<Operand, B>>(&operands[own_b + k * TILE + 24u], TILE);
            c00 = coopMultiplyAdd(a0, b0, c00);
            c01 = coopMultiplyAdd(a0, b1, c01);
            c02 = coopMultiplyAdd(a0, b2, c02);
            c03 = coopMultiplyAdd(a0, b3, c03);
            c10 = coopMultiplyAdd(a1, b0, c10);
            c11 = coopMultiplyAdd(a1, b1, c11);
            c12 = coopMultiplyAdd(a1, b2, c12);
            c13 = coopMultiplyAdd(a1, b3, c13);
        }
    }
    let row = top + subgroup / 2u * 16u;
    let column = left + subgroup % 2u * 32u;
    coopStoreT(c00, &results[own], 8u);
    cooperative_finish(batch, row, column, m, lane);
    coopStoreT(c01, &results[own], 8u);
    cooperative_finish(batch, row, column + 8u, m, lane);
    coopStoreT(c02, &results[own], 8u);
    cooperative_finish(batch, row, column + 16u, m, lane);
    coopStoreT(c03, &results[own], 8u);
    cooperative_finish(batch, row, column + 24u, m, lane);
    coopStoreT(c10, &results[own], 8u);
    cooperative_finish(batch, row + 8u, column, m, lane);
    coopStoreT(c11, &results[own], 8u);
    cooperative_finish(batch, row + 8u, column + 8u, m, lane);
    coopStoreT(c12, &results[own], 8u);
    cooperative_finish(batch, row + 8u, column + 16u, m, lane);
    coopStoreT(c13, &results[own], 8u);
    cooperative_finish(batch, row + 8u, column + 24u, m, lane);
}

fn cooperative_a(batch: u32, row: u32, k: u32, m: u32, depth: u32) -> Operand {
    if row < m && k < depth {
        return Operand(a_at(batch, row, k));
    }
    return Operand(0.0);
}

fn cooperative_b(batch: u32, k: u32, column: u32, n: u32, depth: u32) -> Operand {
    if column < n && k < depth {
        return Operand(b_at(batch, k, column));
    }
    return Operand(0.0);
}

// Finishes the 8×8 that a subgroup has stored, and waits until it may store the next.
fn cooperative_finish(batch: u32, top: u32, left: u32, m: u32, lane: u32) {
    workgroupBarrier();
    for (var i = lane % 32u; i < 64u; i += 32u) {
        let row = top + i / 8u;
        let column = left + i % 8u;
        if row < m && column < arg_n() {
            finish((batch * m + row) * arg_n() + column, results[lane / 32u * 64u + i]);
        }
    }
    workgroupBarrier();
}

// The tiles of gemm_tiled.wgsl by cooperative matrices of 8×8, which a subgroup of 32 holds together: eight subgroups, each with 16 rows
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

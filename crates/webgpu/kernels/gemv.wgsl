// Products of few rows or few columns; operands as in gemm_tiled.wgsl.

// Lanes split the inner extent: rows times columns that lie along k, few of them. LANES lanes per column, WG / LANES
// columns and up to ROWS rows per workgroup; an element of b is used for all rows.
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
    finish_columns(sums, batch * m + first, min(m - first, ROWS), (index % across) * columns, lane);
}

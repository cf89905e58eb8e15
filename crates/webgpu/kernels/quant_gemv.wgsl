// x·Wᵀ for few rows of x. LANES lanes share a row of W, each taking every LANES-th chunk; a chunk is decoded once for
// up to ROWS rows of x, whose sums over the chunk meet the offsets.
@compute @workgroup_size(WG)
fn quant_dot(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let columns = WG / LANES;
    let n = arg_n();
    let m = arg_m();
    let depth = arg_k();
    let across = (n + columns - 1u) / columns;
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let column = (index % across) * columns + lane / LANES;
    let first = index / across * ROWS;
    var sums: array<f32, ROWS>;
    if column < n {
        let start = row_start(column);
        for (var chunk = lane % LANES; chunk < depth / 32u; chunk += LANES) {
            let at = start + chunk / (BLOCK_LEN / 32u) * BLOCK_BYTES;
            let c = chunk % (BLOCK_LEN / 32u);
            let s = block_scales(at, c);
            for (var q = 0u; q < 8u; q++) {
                let half = select(s.xy, s.zw, q >= 4u);
                let w = half.x * block_codes(at, c, q) + half.y;
                for (var r = 0u; r < ROWS; r++) {
                    if first + r < m {
                        let x = (first + r) * depth + chunk * 32u + 4u * q;
                        sums[r] += w.x * in0(x) + w.y * in0(x + 1u) + w.z * in0(x + 2u) + w.w * in0(x + 3u);
                    }
                }
            }
        }
    }
    finish_columns(sums, first, min(m - first, ROWS), (index % across) * columns, lane);
}

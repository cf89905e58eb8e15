// x·Wᵀ for many rows of x: tiles of 32 rows by 64 columns, one chunk deep. A chunk of W is decoded once per tile.
var<workgroup> quant_x: array<f32, 1024>;

@compute @workgroup_size(64)
fn quant_tiles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let n = arg_n();
    let m = arg_m();
    let depth = arg_k();
    let across = (n + 63u) / 64u;
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let left = index % across * 64u;
    let top = index / across * 32u;
    let column = left + lane;
    let start = row_start(min(column, n - 1u));
    var sums: array<f32, 32>;
    for (var chunk = 0u; chunk < depth / 32u; chunk++) {
        for (var t = lane; t < 1024u; t += 64u) {
            let row = top + t / 32u;
            quant_x[t] = 0.0;
            if row < m {
                quant_x[t] = in0(row * depth + chunk * 32u + t % 32u);
            }
        }
        workgroupBarrier();
        let at = start + chunk / (BLOCK_LEN / 32u) * BLOCK_BYTES;
        let c = chunk % (BLOCK_LEN / 32u);
        let s = block_scales(at, c);
        for (var q = 0u; q < 8u; q++) {
            let half = select(s.xy, s.zw, q >= 4u);
            let w = half.x * block_codes(at, c, q) + half.y;
            for (var r = 0u; r < 32u; r++) {
                let x = r * 32u + 4u * q;
                sums[r] += w.x * quant_x[x] + w.y * quant_x[x + 1u] + w.z * quant_x[x + 2u] + w.w * quant_x[x + 3u];
            }
        }
        workgroupBarrier();
    }
    if column < n {
        for (var r = 0u; r < 32u; r++) {
            if top + r < m {
                finish((top + r) * n + column, sums[r]);
            }
        }
    }
}

// Attention with a workgroup for each query; see attention.wgsl.

@compute @workgroup_size(WG)
fn attention_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let at = attention_place(index);
    let width = arg_columns();
    let keys = visible(at.w);
    attention_load(at, lane);
    // Columns beyond what the lanes hold at once take another pass over the keys.
    for (var e0 = 0u; e0 < width; e0 += WG * ATTENTION_COLUMNS) {
        let a = attention_over(at, keys, e0, lane);
        for (var c = 0u; c < ATTENTION_COLUMNS; c++) {
            let e = e0 + c * WG + lane;
            if e < width {
                finish(index * width + e, a.sums[c] * attention_share(a.top, a.total, at.y));
            }
        }
    }
}

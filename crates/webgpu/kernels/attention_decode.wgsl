// Attention of few queries with many keys: the keys are split between workgroups, and attention_combine.wgsl joins the parts.
// See attention.wgsl.

// A part has its highest score, its sum of weights, and then its columns.
@compute @workgroup_size(WG)
fn attention_parts(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let parts = arg_parts();
    let at = attention_place(index / parts);
    let width = arg_columns();
    let all = visible(at.w);
    let begin = max(all.x, index % parts * arg_part());
    let keys = vec2<u32>(begin, max(begin, min(all.y, (index % parts + 1u) * arg_part())));
    attention_load(at, lane);
    let base = index * (width + 2u);
    for (var e0 = 0u; e0 < width; e0 += WG * ATTENTION_COLUMNS) {
        let a = attention_over(at, keys, e0, lane);
        if lane == 0u {
            put_part(base, a.top);
            put_part(base + 1u, a.total);
        }
        for (var c = 0u; c < ATTENTION_COLUMNS; c++) {
            let e = e0 + c * WG + lane;
            if e < width {
                put_part(base + 2u + e, a.sums[c]);
            }
        }
    }
}

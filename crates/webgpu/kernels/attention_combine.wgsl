// The second launch of attention whose keys were split.

@compute @workgroup_size(WG)
fn attention_joined(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let parts = arg_parts();
    let width = arg_columns();
    let base = index * parts * (width + 2u);
    var top = -inf_f32();
    for (var j = 0u; j < parts; j++) {
        top = max(top, get_part(base + j * (width + 2u)));
    }
    let hidden = bitcast<u32>(top) == 0xff800000u;
    for (var e = lane; e < width; e += WG) {
        var total = 0.0;
        var sum = 0.0;
        for (var j = 0u; j < parts; j++) {
            let part = base + j * (width + 2u);
            let own = get_part(part + 1u);
            let fade = select(exp_f32(get_part(part) - top), 1.0, hidden);
            if own != 0.0 {
                total += own * fade;
                sum += get_part(part + 2u + e) * fade;
            }
        }
        let h = index / arg_queries() % arg_heads();
        finish(index * width + e, sum * attention_share(top, total, h));
    }
}

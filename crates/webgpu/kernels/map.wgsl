// Elementwise code over all points of the result, several per invocation with the grid as the stride.

fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}

@compute @workgroup_size(WG)
fn map_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let count = arg_points();
    let stride = arg_stride();
    for (var i = group_index(group) * WG + lane; i < count; i += stride) {
        finish(i, 0u);
    }
}

// The same by quads of points.
@compute @workgroup_size(WG)
fn map_quads(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let count = arg_points();
    let stride = arg_stride();
    for (var i = group_index(group) * WG + lane; i < count; i += stride) {
        finish_4(4u * i, vec4<u32>());
    }
}

// Narrow dtypes where the store is contiguous: each invocation owns whole words.
@compute @workgroup_size(WG)
fn map_packed(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let count = arg_points();
    let words = arg_words();
    let stride = arg_stride();
    for (var w = group_index(group) * WG + lane; w < words; w += stride) {
        let first = w * PER_WORD;
        var word = 0u;
        for (var j = 0u; j < PER_WORD; j++) {
            if first + j < count {
                word |= packed(first + j) << (j * (32u / PER_WORD));
            }
        }
        put_word(w, word);
    }
}

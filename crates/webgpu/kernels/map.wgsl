// Elementwise code over all points of the result: each workgroup takes a run of them.

fn group_index(group: vec3<u32>) -> u32 {
    return group.y * p[0].x + group.x;
}

@compute @workgroup_size(WG)
fn map_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = group_index(group) * arg_run();
    let end = min(arg_points(), first + arg_run());
    for (var i = first + lane; i < end; i += WG) {
        finish(i);
    }
}

// The same by quads of points.
@compute @workgroup_size(WG)
fn map_quads(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = group_index(group) * arg_run();
    let end = min(arg_points(), first + arg_run());
    for (var i = first + lane; i < end; i += WG) {
        finish_4(4u * i);
    }
}

// Narrow dtypes where the store is contiguous: each invocation owns whole words.
@compute @workgroup_size(WG)
fn map_packed(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let count = arg_elements();
    let first = group_index(group) * arg_run();
    let end = min(arg_points(), first + arg_run());
    for (var w = first + lane; w < end; w += WG) {
        var word = 0u;
        for (var j = 0u; j < PER_WORD; j++) {
            let i = w * PER_WORD + j;
            if i < count {
                word |= packed(i) << (j * (32u / PER_WORD));
            }
        }
        put_word(w, word);
    }
}

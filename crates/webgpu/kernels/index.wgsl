// Reading and writing by index.

const NOWHERE = 0xffffffffu;

// A position along an axis from an index that may count from the end; out of range is a fault, and NOWHERE.
fn resolve_index(index: vec2<u32>, extent: u32) -> u32 {
    var i = index;
    if is_negative_64(i) {
        i = add_64(i, vec2<u32>(extent, 0u));
    }
    if i.y != 0u || i.x >= extent {
        fault(3u);
        return NOWHERE;
    }
    return i.x;
}

@compute @workgroup_size(WG)
fn index_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = group_index(group) * arg_run();
    let end = min(arg_points(), first + arg_run());
    for (var i = first + lane; i < end; i += WG) {
        index_point(i);
    }
}

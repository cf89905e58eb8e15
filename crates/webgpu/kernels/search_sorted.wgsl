// Binary search: the number of keys of a sorted vector that are below a value's, or (with RIGHT) not above it.

@compute @workgroup_size(WG)
fn search_sorted(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = group_index(group) * arg_run();
    let end = min(arg_points(), first + arg_run());
    for (var i = first + lane; i < end; i += WG) {
        let key = key_of(in1(i));
        var low = 0u;
        var count = arg_extent();
        while count > 0u {
            let part = count / 2u;
            let element = key_of(at0(low + part));
            if key_lt(element, key) || (RIGHT == 1u && !key_lt(key, element)) {
                low += part + 1u;
                count -= part + 1u;
            } else {
                count = part;
            }
        }
        finish(i, vec2<u32>(low, 0u));
    }
}

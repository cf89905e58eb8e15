// The position of the extreme of each row: the largest key wins, and among equal keys the first.

var<workgroup> arg_keys: array<K, WG>;
var<workgroup> arg_places: array<u32, WG>;

fn arg_beats(a: K, i: u32, b: K, j: u32) -> bool {
    return key_lt(b, a) || (!key_lt(a, b) && i < j);
}

@compute @workgroup_size(WG)
fn arg_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let n = arg_width();
    // Lanes beyond the row repeat its first element, which changes nothing.
    var place = select(0u, lane, lane < n);
    var best = key_of(in0(row * n + place));
    for (var k = lane + WG; k < n; k += WG) {
        let key = key_of(in0(row * n + k));
        if key_lt(best, key) {
            best = key;
            place = k;
        }
    }
    arg_keys[lane] = best;
    arg_places[lane] = place;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s && arg_beats(arg_keys[lane + s], arg_places[lane + s], arg_keys[lane], arg_places[lane]) {
            arg_keys[lane] = arg_keys[lane + s];
            arg_places[lane] = arg_places[lane + s];
        }
        workgroupBarrier();
    }
    if lane == 0u {
        finish(row, vec2<u32>(arg_places[0], 0u));
    }
}

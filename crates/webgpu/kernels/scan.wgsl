// Running combinations along rows.

var<workgroup> scan_shared: array<T, WG>;

// One invocation per row: short rows.
@compute @workgroup_size(WG)
fn scan_serial(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group) * WG + lane;
    if row >= arg_rows_count() {
        return;
    }
    let n = arg_width();
    var running = in0(row * n);
    finish(row * n, running);
    for (var k = 1u; k < n; k++) {
        running = combine(running, in0(row * n + k));
        finish(row * n + k, running);
    }
}

// One workgroup per row. Each lane runs over a piece of its own twice: first for the piece's total, then, with what all
// pieces before it come to, for the results.
@compute @workgroup_size(WG)
fn scan_pieces(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let n = arg_width();
    let piece = (n + WG - 1u) / WG;
    let begin = min(lane * piece, n);
    let end = min(begin + piece, n);
    var total = identity();
    for (var k = begin; k < end; k++) {
        total = combine(total, in0(row * n + k));
    }
    scan_shared[lane] = total;
    workgroupBarrier();
    var running = identity();
    for (var j = 0u; j < lane; j++) {
        running = combine(running, scan_shared[j]);
    }
    for (var k = begin; k < end; k++) {
        running = combine(running, in0(row * n + k));
        finish(row * n + k, running);
    }
}

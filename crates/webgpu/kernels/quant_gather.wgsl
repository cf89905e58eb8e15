// Rows of a block-quantised matrix, as floats.

@compute @workgroup_size(WG)
fn quant_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = group_index(group) * arg_run();
    let end = min(arg_points(), first + arg_run());
    for (var i = first + lane; i < end; i += WG) {
        let row = resolve_index(row_index(i / arg_width()), arg_extent());
        if row != NOWHERE {
            finish(i, quant_value(row, i % arg_width()));
        }
    }
}

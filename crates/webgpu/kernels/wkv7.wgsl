// RWKV-7: S ← S·diag(w) + (S·a)·bᵀ + v·kᵀ, out = S·r, step by step. Rows of a head's state do not depend on one another: one
// invocation takes one row through all steps, in the place of the result where the new state is to be.

@compute @workgroup_size(WG)
fn wkv7_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group) * WG + lane;
    let depth = arg_depth();
    let heads = arg_heads();
    if index >= heads * depth {
        return;
    }
    let head = index / depth;
    let row = index % depth;
    let steps = arg_steps();
    let state = steps * heads * depth + index * depth;
    for (var j = 0u; j < depth; j++) {
        put_f32(state + j, in6(index * depth + j));
    }
    for (var t = 0u; t < steps; t++) {
        let at = (t * heads + head) * depth;
        var removed = 0.0;
        for (var j = 0u; j < depth; j++) {
            removed += get_f32(state + j) * in4(at + j);
        }
        let added = in3(at + row);
        var out = 0.0;
        for (var j = 0u; j < depth; j++) {
            let s = get_f32(state + j) * in1(at + j) + removed * in5(at + j) + added * in2(at + j);
            put_f32(state + j, s);
            out += s * in0(at + j);
        }
        put_f32(at + row, out);
    }
}

// RWKV-7: S ← S·diag(w) + (S·a)·bᵀ + v·kᵀ, out = S·r, step by step. Rows of a head's state do not depend on one another: one
// invocation takes one row through all steps and keeps it in registers (DEPTH is constant, so loops over it unroll). All
// invocations of a head read the same vectors at the same time. The result is the outputs [t, h, ROWS], then the new state [h, ROWS, DEPTH].

@compute @workgroup_size(WG)
fn wkv7_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group) * WG + lane;
    let heads = arg_heads();
    if index >= heads * ROWS {
        return;
    }
    let head = index / ROWS;
    let row = index % ROWS;
    let steps = arg_steps();
    var state: array<f32, DEPTH>;
    for (var j = 0u; j < DEPTH; j++) {
        state[j] = in6(index * DEPTH + j);
    }
    for (var t = 0u; t < steps; t++) {
        let at = (t * heads + head) * DEPTH;
        var removed = 0.0;
        for (var j = 0u; j < DEPTH; j++) {
            removed += state[j] * in4(at + j);
        }
        let value = (t * heads + head) * ROWS + row;
        let added = in3(value);
        var out = 0.0;
        for (var j = 0u; j < DEPTH; j++) {
            state[j] = state[j] * in1(at + j) + removed * in5(at + j) + added * in2(at + j);
            out += state[j] * in0(at + j);
        }
        put_f32(value, out);
    }
    for (var j = 0u; j < DEPTH; j++) {
        put_f32(steps * heads * ROWS + index * DEPTH + j, state[j]);
    }
}

// exp(x - max) / sum of it, along rows; or its logarithm x - max - ln(sum). One workgroup per row.

var<workgroup> softmax_shared: array<f32, WG>;

@compute @workgroup_size(WG)
fn softmax_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let n = arg_width();
    let base = row * n;
    var top = -inf_f32();
    for (var k = lane; k < n; k += WG) {
        top = max_f32(top, in0(base + k));
    }
    softmax_shared[lane] = top;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s {
            softmax_shared[lane] = max_f32(softmax_shared[lane], softmax_shared[lane + s]);
        }
        workgroupBarrier();
    }
    top = softmax_shared[0];
    workgroupBarrier();
    var sum = 0.0;
    for (var k = lane; k < n; k += WG) {
        sum += exp_f32(in0(base + k) - top);
    }
    softmax_shared[lane] = sum;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s {
            softmax_shared[lane] += softmax_shared[lane + s];
        }
        workgroupBarrier();
    }
    sum = softmax_shared[0];
    if LOG == 1u {
        let rest = log_f32(sum);
        for (var k = lane; k < n; k += WG) {
            finish(base + k, (in0(base + k) - top) - rest);
        }
    } else {
        let scale = 1.0 / sum;
        for (var k = lane; k < n; k += WG) {
            finish(base + k, exp_f32(in0(base + k) - top) * scale);
        }
    }
}

// Norms of rows, one workgroup per row. `weighted(k, x)` applies weight and bias where the op has them.

var<workgroup> norm_shared: array<f32, WG>;

fn norm_sum(own: f32, lane: u32) -> f32 {
    norm_shared[lane] = own;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s {
            norm_shared[lane] += norm_shared[lane + s];
        }
        workgroupBarrier();
    }
    let all = norm_shared[0];
    workgroupBarrier();
    return all;
}

// x / sqrt(mean(x^2) + eps)
@compute @workgroup_size(WG)
fn rms_norm_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let n = arg_width();
    let base = row * n;
    var own = 0.0;
    for (var k = lane; k < n; k += WG) {
        let x = in0(base + k);
        own += x * x;
    }
    let mean = norm_sum(own, lane) / f32(n);
    let scale = 1.0 / sqrt(mean + arg_eps());
    for (var k = lane; k < n; k += WG) {
        finish(base + k, weighted(k, in0(base + k) * scale));
    }
}

// (x - mean) / sqrt(var + eps); the variance is that of the differences, which keeps its digits far from zero.
@compute @workgroup_size(WG)
fn layer_norm_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let n = arg_width();
    let base = row * n;
    var own = 0.0;
    for (var k = lane; k < n; k += WG) {
        own += in0(base + k);
    }
    let mean = norm_sum(own, lane) / f32(n);
    var spread = 0.0;
    for (var k = lane; k < n; k += WG) {
        let d = in0(base + k) - mean;
        spread += d * d;
    }
    let variance = norm_sum(spread, lane) / f32(n);
    let scale = 1.0 / sqrt(variance + arg_eps());
    for (var k = lane; k < n; k += WG) {
        finish(base + k, weighted(k, (in0(base + k) - mean) * scale));
    }
}

// exp(x - max) / sum of it, along rows; or its logarithm x - max - ln(sum). One workgroup per row. A NaN in a row makes its
// sum NaN, and with that the whole row.

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
        top = max(top, in0(base + k));
    }
    top = group_max(top, lane);
    var sum = 0.0;
    for (var k = lane; k < n; k += WG) {
        sum += exp_f32(in0(base + k) - top);
    }
    sum = group_sum(sum, lane);
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

fn softmax_exp(x: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w));
}

fn softmax_top(x: vec4<f32>) -> f32 {
    return max(max(x.x, x.y), max(x.z, x.w));
}

// Rows of whole quads that the lanes can hold in registers, up to KEEP quads each: memory is read once.
@compute @workgroup_size(WG)
fn softmax_kept(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let quads = arg_width() / 4u;
    let base = row * arg_width();
    var kept: array<vec4<f32>, KEEP>;
    var top = -inf_f32();
    for (var j = 0u; j < KEEP; j++) {
        if j * WG + lane < quads {
            kept[j] = in0_4(base + 4u * (j * WG + lane));
            top = max(top, softmax_top(kept[j]));
        }
    }
    top = group_max(top, lane);
    var sum = 0.0;
    for (var j = 0u; j < KEEP; j++) {
        if j * WG + lane < quads {
            let x = kept[j] - top;
            let e = softmax_exp(x);
            sum += (e.x + e.y) + (e.z + e.w);
            if LOG == 1u {
                kept[j] = x;
            } else {
                kept[j] = e;
            }
        }
    }
    sum = group_sum(sum, lane);
    let rest = select(0.0, log_f32(sum), LOG == 1u);
    let scale = select(1.0 / sum, 1.0, LOG == 1u);
    for (var j = 0u; j < KEEP; j++) {
        if j * WG + lane < quads {
            finish_4(base + 4u * (j * WG + lane), kept[j] * scale - rest);
        }
    }
}

// Norms of rows, one workgroup per row. `weighted(k, x)` applies weight and bias where the op has them. Rows of whole quads
// that the lanes can hold in registers, up to KEEP quads each, are read once.

// This lane's quads of a row; zeros beyond its end.
fn keep_row(kept: ptr<function, array<vec4<f32>, KEEP>>, base: u32, n: u32, lane: u32) {
    for (var j = 0u; j < KEEP; j++) {
        let k = 4u * (j * WG + lane);
        if k < n {
            (*kept)[j] = in0_4(base + k);
        }
    }
}

fn finish_row(kept: ptr<function, array<vec4<f32>, KEEP>>, base: u32, n: u32, lane: u32, scale: f32) {
    for (var j = 0u; j < KEEP; j++) {
        let k = 4u * (j * WG + lane);
        if k < n {
            finish_4(base + k, weighted_4(k, (*kept)[j] * scale));
        }
    }
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
    let mean = group_sum(own, lane) / f32(n);
    let scale = 1.0 / sqrt(mean + arg_eps());
    for (var k = lane; k < n; k += WG) {
        finish(base + k, weighted(k, in0(base + k) * scale));
    }
}

@compute @workgroup_size(WG)
fn rms_norm_kept(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let n = arg_width();
    let base = row * n;
    var kept: array<vec4<f32>, KEEP>;
    var own = 0.0;
    keep_row(&kept, base, n, lane);
    for (var j = 0u; j < KEEP; j++) {
        own += dot(kept[j], kept[j]);
    }
    let mean = group_sum(own, lane) / f32(n);
    let scale = 1.0 / sqrt(mean + arg_eps());
    finish_row(&kept, base, n, lane, scale);
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
    let mean = group_sum(own, lane) / f32(n);
    var spread = 0.0;
    for (var k = lane; k < n; k += WG) {
        let d = in0(base + k) - mean;
        spread += d * d;
    }
    let variance = group_sum(spread, lane) / f32(n);
    let scale = 1.0 / sqrt(variance + arg_eps());
    for (var k = lane; k < n; k += WG) {
        finish(base + k, weighted(k, (in0(base + k) - mean) * scale));
    }
}

@compute @workgroup_size(WG)
fn layer_norm_kept(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    let n = arg_width();
    let base = row * n;
    var kept: array<vec4<f32>, KEEP>;
    var own = 0.0;
    keep_row(&kept, base, n, lane);
    for (var j = 0u; j < KEEP; j++) {
        own += (kept[j].x + kept[j].y) + (kept[j].z + kept[j].w);
    }
    let mean = group_sum(own, lane) / f32(n);
    var spread = 0.0;
    for (var j = 0u; j < KEEP; j++) {
        if 4u * (j * WG + lane) < n {
            kept[j] -= mean;
            spread += dot(kept[j], kept[j]);
        }
    }
    let variance = group_sum(spread, lane) / f32(n);
    let scale = 1.0 / sqrt(variance + arg_eps());
    finish_row(&kept, base, n, lane, scale);
}

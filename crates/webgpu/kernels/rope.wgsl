// Rotary embedding: a pair (a, b) of a row turns by position times frequency. One invocation per element.

// Sine and cosine of a·b, with what the product loses in rounding: positions are large, and an angle's error is absolute.
fn sin_cos_of_product(a: f32, b: f32) -> vec2<f32> {
    let angle = opaque(a * b);
    let turn = quarter_turns(angle);
    let rest = turn.rest + product_error(a, b, angle);
    let s = sin_series(rest);
    let c = cos_series(rest);
    switch turn.quadrant {
        case 0u: { return vec2<f32>(s, c); }
        case 1u: { return vec2<f32>(c, -s); }
        case 2u: { return vec2<f32>(-s, -c); }
        default: { return vec2<f32>(-c, s); }
    }
}

@compute @workgroup_size(WG)
fn rope_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = group_index(group) * WG + lane;
    if i >= arg_points() {
        return;
    }
    let width = arg_width();
    let half = arg_half();
    let row = i / width;
    let k = i % width;
    if k >= 2u * half {
        finish(i, in0(i));
        return;
    }
    var pair = k % half;
    var first = pair;
    var second = pair + half;
    if INTERLEAVED == 1u {
        pair = k / 2u;
        first = 2u * pair;
        second = first + 1u;
    }
    let turn = sin_cos_of_product(f32(in1(row)), in2(pair));
    let a = in0(row * width + first);
    let b = in0(row * width + second);
    finish(i, select(a * turn.x + b * turn.y, a * turn.y - b * turn.x, k == first));
}

// Comparisons of floats by their bits: compilers of shaders may assume that there is no NaN, and devices may take
// subnormal numbers for zero.

fn nan_f32() -> f32 {
    return f32_of(0x7fc00000u);
}

fn inf_f32() -> f32 {
    return f32_of(0x7f800000u);
}

// An integer that orders as the float does; zeros of both signs are equal.
fn order_key(x: f32) -> i32 {
    let bits = bitcast<i32>(x);
    return select(bits, -(bits & 0x7fffffff), bits < 0);
}

fn eq_f32(a: f32, b: f32) -> bool {
    return order_key(a) == order_key(b) && !is_nan(a);
}

fn lt_f32(a: f32, b: f32) -> bool {
    return order_key(a) < order_key(b) && !is_nan(a) && !is_nan(b);
}

fn le_f32(a: f32, b: f32) -> bool {
    return order_key(a) <= order_key(b) && !is_nan(a) && !is_nan(b);
}

fn min_f32(a: f32, b: f32) -> f32 {
    let least = select(b, a, order_key(a) < order_key(b));
    return select(least, nan_f32(), is_nan(a) || is_nan(b));
}

fn max_f32(a: f32, b: f32) -> f32 {
    let most = select(b, a, order_key(a) > order_key(b));
    return select(most, nan_f32(), is_nan(a) || is_nan(b));
}

fn abs_f32(x: f32) -> f32 {
    return f32_of(bitcast<u32>(x) & 0x7fffffffu);
}

fn neg_f32(x: f32) -> f32 {
    return f32_of(bitcast<u32>(x) ^ 0x80000000u);
}

fn copysign_f32(a: f32, b: f32) -> f32 {
    return f32_of((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u));
}

// Rises with the value; NaN of either sign comes last, zeros of both signs are equal.
fn sort_key_f32(x: f32) -> u32 {
    return select(bitcast<u32>(order_key(x)) ^ 0x80000000u, 0xffffffffu, is_nan(x));
}

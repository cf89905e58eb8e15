// x to the power of y in f32, by a logarithm in two parts: y may multiply its error by a hundred.

fn upper_half(x: f32) -> f32 {
    return f32_of(bitcast<u32>(x) & 0xfffff000u);
}

// What a·b loses in rounding to p.
fn product_error(a: f32, b: f32, p: f32) -> f32 {
    let ah = upper_half(a);
    let al = a - ah;
    let bh = upper_half(b);
    let bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

// log2 of a positive number as a sum of two floats.
fn log2_in_two(x: f32) -> vec2<f32> {
    let parts = log_parts(x);
    let f = parts.x;
    let sum = opaque(2.0 + f);
    let sum_low = f - (sum - 2.0);
    // s = f / (2 + f); ln(1 + f) = 2·atanh(s).
    let s = f / sum;
    let p = opaque(s * sum);
    let s_low = (((f - p) - product_error(s, sum, p)) - s * sum_low) / sum;
    let z = s * s;
    var q = 0.15384615;
    q = q * z + 0.18181819;
    q = q * z + 0.22222222;
    q = q * z + 0.2857143;
    q = q * z + 0.4;
    q = q * z + 0.6666667;
    let high = 2.0 * s;
    let low = 2.0 * s_low + q * (s * z);
    let scaled = opaque(high * 1.4426950216293335);
    let scaled_low = product_error(high, 1.4426950216293335, scaled)
        + (high * 1.925963033500011e-08 + low * 1.4426950216293335);
    let total = opaque(parts.y + scaled);
    // The exponent is zero or the larger one.
    let lost = select(scaled - (total - parts.y), parts.y - (total - scaled), abs(scaled) > abs(parts.y));
    return vec2<f32>(total, scaled_low + lost);
}

// |x| to the power of y for finite x other than zero.
fn pow_positive(x: f32, y: f32) -> f32 {
    let l = log2_in_two(x);
    let rough = opaque(y * l.x);
    if !(abs(rough) < 200.0) {
        return select(0.0, inf_f32(), rough > 0.0);
    }
    let low = product_error(y, l.x, rough) + y * l.y;
    let n = round(rough);
    let r = (rough - n) + low;
    return times_power_of_two(exp2_series(r) * r + 1.0, i32(n));
}

fn pow_f32(x: f32, y: f32) -> f32 {
    let ux = bitcast<u32>(x) & 0x7fffffffu;
    let uy = bitcast<u32>(y) & 0x7fffffffu;
    if uy == 0u || bitcast<u32>(x) == 0x3f800000u {
        return 1.0;
    }
    if is_nan(x) || is_nan(y) {
        return nan_f32();
    }
    let a = abs_f32(x);
    let large = uy >= 0x4b800000u;
    let whole = large || floor(y) == y;
    let odd = whole && !large && (i32(y) & 1) == 1;
    let negative = (bitcast<u32>(x) >> 31u) == 1u;
    let falls = (bitcast<u32>(y) >> 31u) == 1u;
    var result = 0.0;
    if uy == 0x7f800000u {
        if ux == 0x3f800000u {
            return 1.0;
        }
        return select(0.0, inf_f32(), (a > 1.0) != falls);
    } else if ux == 0u {
        result = select(0.0, inf_f32(), falls);
    } else if ux == 0x7f800000u {
        result = select(inf_f32(), 0.0, falls);
    } else if negative && !whole {
        return nan_f32();
    } else {
        result = pow_positive(a, y);
    }
    return select(result, neg_f32(result), negative && odd);
}

// Trigonometric functions in f32.

// Bits of 2/pi after the point, with a word of zeros in front.
fn two_over_pi(i: u32) -> u32 {
    switch i {
        case 1u: { return 0xa2f9836eu; }
        case 2u: { return 0x4e441529u; }
        case 3u: { return 0xfc2757d1u; }
        case 4u: { return 0xf534ddc0u; }
        case 5u: { return 0xdb629599u; }
        case 6u: { return 0x3c439041u; }
        case 7u: { return 0xfe5163abu; }
        default: { return 0u; }
    }
}

// x modulo pi/2: the rest in [-pi/4, pi/4], and the quadrant. Right for every finite x: the mantissa is multiplied with
// the 96 bits of 2/pi that matter at its exponent (Payne and Hanek), and what is above four quadrants drops out.
struct Angle {
    rest: f32,
    quadrant: u32,
}

fn quarter_turns(x: f32) -> Angle {
    let bits = bitcast<u32>(x) & 0x7fffffffu;
    if bits < 0x3f490fdbu {
        return Angle(x, 0u);
    }
    let mantissa = (bits & 0x7fffffu) | 0x800000u;
    let start = (bits >> 23u) - 120u;
    let word = start >> 5u;
    let shift = start & 31u;
    let t0 = two_over_pi(word);
    let t1 = two_over_pi(word + 1u);
    let t2 = two_over_pi(word + 2u);
    let t3 = two_over_pi(word + 3u);
    var high = t0;
    var middle = t1;
    var low = t2;
    if shift != 0u {
        high = (t0 << shift) | (t1 >> (32u - shift));
        middle = (t1 << shift) | (t2 >> (32u - shift));
        low = (t2 << shift) | (t3 >> (32u - shift));
    }
    let p1 = add_64(vec2<u32>(mantissa * middle, mulhi_u32(mantissa, middle)), vec2<u32>(mulhi_u32(mantissa, low), 0u));
    let top = mantissa * high + p1.y;
    let below = mantissa * low;
    var quadrant = top >> 30u;
    var fraction = vec2<u32>((p1.x << 2u) | (below >> 30u), (top << 2u) | (p1.x >> 30u));
    var negative = false;
    if (fraction.y >> 31u) == 1u {
        quadrant = quadrant + 1u;
        fraction = neg_64(fraction);
        negative = true;
    }
    // fraction · 2^-64 · pi/2, in two factors that stay normal.
    var rest = f32_from_u64(fraction) * f32_of(0x2f800000u) * f32_of(0x2fc90fdbu);
    rest = select(rest, -rest, negative);
    if (bitcast<u32>(x) >> 31u) == 1u {
        return Angle(-rest, (4u - quadrant) & 3u);
    }
    return Angle(rest, quadrant & 3u);
}

fn sin_series(r: f32) -> f32 {
    let z = r * r;
    var s = -1.951666054e-04;
    s = s * z + 8.332173340e-03;
    s = s * z + -1.666665524e-01;
    return s * (r * z) + r;
}

fn cos_series(r: f32) -> f32 {
    let z = r * r;
    var c = 2.443780795e-05;
    c = c * z + -1.388736186e-03;
    c = c * z + 4.166664556e-02;
    return c * (z * z) + (1.0 - 0.5 * z);
}

fn is_infinite_or_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) >= 0x7f800000u;
}

fn sin_f32(x: f32) -> f32 {
    if is_infinite_or_nan(x) {
        return nan_f32();
    }
    let angle = quarter_turns(x);
    var y = sin_series(angle.rest);
    if (angle.quadrant & 1u) == 1u {
        y = cos_series(angle.rest);
    }
    return select(y, neg_f32(y), angle.quadrant >= 2u);
}

fn cos_f32(x: f32) -> f32 {
    if is_infinite_or_nan(x) {
        return nan_f32();
    }
    let angle = quarter_turns(x);
    var y = cos_series(angle.rest);
    if (angle.quadrant & 1u) == 1u {
        y = sin_series(angle.rest);
    }
    return select(y, -y, angle.quadrant == 1u || angle.quadrant == 2u);
}

fn tan_f32(x: f32) -> f32 {
    if is_infinite_or_nan(x) {
        return nan_f32();
    }
    let angle = quarter_turns(x);
    let s = sin_series(angle.rest);
    let c = cos_series(angle.rest);
    if (angle.quadrant & 1u) == 1u {
        return -c / s;
    }
    return s / c;
}

fn asin_series(s: f32, z: f32) -> f32 {
    var p = 4.223179445e-02;
    p = p * z + 2.414024062e-02;
    p = p * z + 4.547849298e-02;
    p = p * z + 7.495231926e-02;
    p = p * z + 1.666675359e-01;
    return p * (s * z) + s;
}

fn asin_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if !(a <= 1.0) {
        return nan_f32();
    }
    if a > 0.5 {
        let z = 0.5 * (1.0 - a);
        let core = asin_series(sqrt(z), z);
        return copysign_f32(1.5707963705062866 - (2.0 * core - -4.371138828673793e-08), x);
    }
    return copysign_f32(asin_series(a, a * a), x);
}

fn acos_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if !(a <= 1.0) {
        return nan_f32();
    }
    if a > 0.5 {
        let z = 0.5 * (1.0 - a);
        let core = 2.0 * asin_series(sqrt(z), z);
        return select(core, 3.1415927410125732 - (core - -8.742277657347586e-08), x < 0.0);
    }
    return 1.5707963705062866 - (asin_series(x, x * x) - -4.371138828673793e-08);
}

// The arc tangent of a number that is not negative.
fn atan_positive(a: f32) -> f32 {
    var t = a;
    var base = 0.0;
    var base_low = 0.0;
    if a > 2.4142137 {
        t = -1.0 / a;
        base = 1.5707963705062866;
        base_low = -4.371138828673793e-08;
    } else if a > 0.41421357 {
        t = (a - 1.0) / (a + 1.0);
        base = 0.7853981852531433;
        base_low = -2.1855694143368964e-08;
    }
    let z = t * t;
    var s = -6.081163511e-02;
    s = s * z + 1.059514433e-01;
    s = s * z + -1.424373984e-01;
    s = s * z + 1.999848485e-01;
    s = s * z + -3.333331645e-01;
    return base + ((s * (t * z) + base_low) + t);
}

fn atan_f32(x: f32) -> f32 {
    return select(copysign_f32(atan_positive(abs_f32(x)), x), x, is_nan(x));
}

fn atan2_f32(y: f32, x: f32) -> f32 {
    if is_nan(x) || is_nan(y) {
        return nan_f32();
    }
    let a = abs_f32(y);
    let b = abs_f32(x);
    let left = (bitcast<u32>(x) >> 31u) == 1u;
    var angle = 0.0;
    if bitcast<u32>(a) == 0u {
        angle = 0.0;
    } else if bitcast<u32>(a) == 0x7f800000u && bitcast<u32>(b) == 0x7f800000u {
        angle = 0.7853981852531433;
    } else {
        angle = atan_positive(a / b);
    }
    if left {
        angle = 3.1415927410125732 - (angle - -8.742277657347586e-08);
    }
    return copysign_f32(angle, y);
}

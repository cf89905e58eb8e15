// Elementary functions in f32, accurate to a few units in the last place whatever the adapter's own do. Polynomials are
// those of the CPU backend, whose coefficients crates/cpu/tools/fit_math.py finds. Special values follow C99 annex F.

// p times 2^n, in two factors so that neither leaves the range.
fn times_power_of_two(p: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return p * f32_of(bitcast<u32>(half + 127) << 23u) * f32_of(bitcast<u32>(n - half + 127) << 23u);
}

fn within(x: f32, low: f32, high: f32) -> f32 {
    return select(select(x, high, x > high), low, x < low);
}

fn exp_f32(x: f32) -> f32 {
    let c = within(x, -105.0, 90.0);
    let n = round(c * 1.4426950216293335);
    let r = (c - n * 0.69314575) - n * 1.4286068e-6;
    var s = 1.395136118e-03;
    s = s * r + 8.369597606e-03;
    s = s * r + 4.166619480e-02;
    s = s * r + 1.666651219e-01;
    s = s * r + 0.5;
    // Without a branch: neighbours stay together.
    return select(times_power_of_two((s * (r * r) + r) + 1.0, i32(n)), x, is_nan(x));
}

// (2^r - 1) / r for |r| up to a half.
fn exp2_series(r: f32) -> f32 {
    var s = 1.531755152e-05;
    s = s * r + 1.546968415e-04;
    s = s * r + 1.333342050e-03;
    s = s * r + 9.618028998e-03;
    s = s * r + 5.550410971e-02;
    s = s * r + 2.402265072e-01;
    return s * r + 6.931471825e-01;
}

fn exp2_f32(x: f32) -> f32 {
    if is_nan(x) {
        return x;
    }
    let c = within(x, -152.0, 130.0);
    let n = round(c);
    let r = c - n;
    return times_power_of_two(exp2_series(r) * r + 1.0, i32(n));
}

fn expm1_f32(x: f32) -> f32 {
    if is_nan(x) {
        return x;
    }
    let c = within(x, -30.0, 90.0);
    let n = round(c * 1.4426950216293335);
    let r = (c - n * 0.69314575) - n * 1.4286068e-6;
    var s = 1.991554891e-04;
    s = s * r + 1.394204912e-03;
    s = s * r + 8.333270438e-03;
    s = s * r + 4.166634381e-02;
    s = s * r + 1.666666716e-01;
    s = s * r + 0.5;
    let m = s * (r * r) + r;
    // (m + 1)·2^n - 1 with 2^n = a·b: (m·a + (a - 1/b))·b.
    let k = i32(n);
    let half = k >> 1u;
    let a = f32_of(bitcast<u32>(half + 127) << 23u);
    let b = f32_of(bitcast<u32>(k - half + 127) << 23u);
    let inverse = f32_of(bitcast<u32>(half - k + 127) << 23u);
    return copysign_f32((m * a + (a - inverse)) * b, x);
}

// What a positive number is: m - 1 for its mantissa m in [sqrt(1/2), sqrt(2)), and its exponent.
fn log_parts(x: f32) -> vec2<f32> {
    var bits = bitcast<u32>(x);
    var below = 0.0;
    if bits < 0x00800000u {
        bits = bitcast<u32>(f32(bits));
        below = -149.0;
    }
    let shifted = bits + (0x3f800000u - 0x3f3504f3u);
    let exponent = f32(bitcast<i32>(shifted >> 23u) - 127) + below;
    return vec2<f32>(f32_of((shifted & 0x7fffffu) + 0x3f3504f3u) - 1.0, exponent);
}

// ln(1 + f) - f for f of log_parts.
fn log_rest(f: f32) -> f32 {
    var s = 6.915232539e-02;
    s = s * f + -1.178973243e-01;
    s = s * f + 1.187301502e-01;
    s = s * f + -1.238438264e-01;
    s = s * f + 1.421865970e-01;
    s = s * f + -1.666924804e-01;
    s = s * f + 2.000222653e-01;
    s = s * f + -2.499998659e-01;
    s = s * f + 3.333331048e-01;
    let z = f * f;
    return s * (f * z) - 0.5 * z;
}

// The logarithm of what has no parts: zero, infinity, NaN and negative numbers.
fn log_special(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) == 0u {
        return -inf_f32();
    }
    return select(nan_f32(), x, bits == 0x7f800000u);
}

fn is_log_special(x: f32) -> bool {
    let bits = bitcast<u32>(x);
    return bits == 0u || bits >= 0x7f800000u;
}

fn log_f32(x: f32) -> f32 {
    if is_log_special(x) {
        return log_special(x);
    }
    let p = log_parts(x);
    let rest = log_rest(p.x) + p.y * 1.4286068e-6;
    return p.y * 0.69314575 + (rest + p.x);
}

fn log2_f32(x: f32) -> f32 {
    if is_log_special(x) {
        return log_special(x);
    }
    let p = log_parts(x);
    return p.y + (log_rest(p.x) + p.x) * 1.4426950216293335;
}

fn log10_f32(x: f32) -> f32 {
    if is_log_special(x) {
        return log_special(x);
    }
    let p = log_parts(x);
    let rest = p.y * 4.605039066518657e-06 + (log_rest(p.x) + p.x) * 0.4342944920063019;
    return p.y * 0.301025390625 + rest;
}

fn log1p_f32(x: f32) -> f32 {
    if is_nan(x) || x <= -1.0 || x > 1e30 {
        return select(log_f32(1.0 + x), x, is_nan(x));
    }
    let u = opaque(1.0 + x);
    if u == 1.0 {
        return x;
    }
    // What 1 + x lost in rounding.
    let lost = select(1.0 - (u - x), x - (u - 1.0), abs(x) < 1.0);
    return log_f32(u) + lost / u;
}

fn sinh_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if a > 80.0 {
        let w = exp_f32(0.5 * a);
        return copysign_f32((0.5 * w) * w, x);
    }
    let e = expm1_f32(a);
    return select(copysign_f32(0.5 * (e + e / (e + 1.0)), x), x, is_nan(x));
}

fn cosh_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if a > 80.0 {
        let w = exp_f32(0.5 * a);
        return (0.5 * w) * w;
    }
    let e = exp_f32(a);
    return 0.5 * e + 0.5 / e;
}

fn tanh_f32(x: f32) -> f32 {
    let t = expm1_f32(-2.0 * abs_f32(x));
    return select(copysign_f32(-t / (t + 2.0), x), x, is_nan(x));
}

fn asinh_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if is_nan(x) {
        return x;
    }
    if a > 4096.0 {
        return copysign_f32(log_f32(a) + 0.6931471824645996, x);
    }
    let z = a * a;
    return copysign_f32(log1p_f32(a + z / (1.0 + sqrt(z + 1.0))), x);
}

fn acosh_f32(x: f32) -> f32 {
    if !(x >= 1.0) {
        return nan_f32();
    }
    if x > 4096.0 {
        return log_f32(x) + 0.6931471824645996;
    }
    let t = x - 1.0;
    return log1p_f32(t + sqrt(2.0 * t + t * t));
}

fn atanh_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if is_nan(x) || a > 1.0 {
        return nan_f32();
    }
    if a == 1.0 {
        return copysign_f32(inf_f32(), x);
    }
    return copysign_f32(0.5 * log1p_f32(2.0 * a / (1.0 - a)), x);
}

fn rsqrt_f32(x: f32) -> f32 {
    return 1.0 / sqrt(x);
}

fn erf_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if is_nan(x) {
        return x;
    }
    if a <= 0.921875 {
        let z = x * x;
        var s = 8.377591439e-05;
        s = s * z + -8.145080646e-04;
        s = s * z + 5.201305263e-03;
        s = s * z + -2.685953863e-02;
        s = s * z + 1.128369868e-01;
        s = s * z + -3.761263490e-01;
        s = s * z + 1.283791661e-01;
        return s * x + x;
    }
    let c = min(a, 3.95);
    var s = -2.116242831e-05;
    s = s * c + 4.352246760e-04;
    s = s * c + -4.174669739e-03;
    s = s * c + 2.512869239e-02;
    s = s * c + -1.082940474e-01;
    s = s * c + -6.333345771e-01;
    s = s * c + -1.129520893e+00;
    s = s * c + 1.758835715e-04;
    return copysign_f32(1.0 - exp_f32(s), x);
}

// Without overflow or underflow of the squares: scaled by the larger one's exponent.
fn hypot_f32(x: f32, y: f32) -> f32 {
    let a = abs_f32(x);
    let b = abs_f32(y);
    if bitcast<u32>(a) == 0x7f800000u || bitcast<u32>(b) == 0x7f800000u {
        return inf_f32();
    }
    if is_nan(x) || is_nan(y) {
        return nan_f32();
    }
    let exponent = clamp(max(bitcast<u32>(a), bitcast<u32>(b)) >> 23u, 1u, 253u);
    let down = f32_of((254u - exponent) << 23u);
    let p = a * down;
    let q = b * down;
    return sqrt(p * p + q * q) * f32_of(exponent << 23u);
}

// Exact, as C's fmod: the dividend's mantissa is brought down a byte at a time.
fn fmod_f32(a: f32, b: f32) -> f32 {
    let ua = bitcast<u32>(a) & 0x7fffffffu;
    let ub = bitcast<u32>(b) & 0x7fffffffu;
    let sign = bitcast<u32>(a) & 0x80000000u;
    if ua >= 0x7f800000u || ub > 0x7f800000u || ub == 0u {
        return nan_f32();
    }
    if ua < ub {
        return a;
    }
    let ea = max(ua >> 23u, 1u);
    let eb = max(ub >> 23u, 1u);
    let divisor = (ub & 0x7fffffu) | select(0u, 0x800000u, ub >= 0x800000u);
    var m = ((ua & 0x7fffffu) | select(0u, 0x800000u, ua >= 0x800000u)) % divisor;
    var left = ea - eb;
    while left > 0u && m != 0u {
        let step = min(left, 8u);
        m = (m << step) % divisor;
        left -= step;
    }
    if m == 0u {
        return f32_of(sign);
    }
    let scaled = bitcast<u32>(f32(m));
    let exponent = bitcast<i32>(scaled >> 23u) + bitcast<i32>(eb) - 150;
    if exponent < 1 {
        return f32_of(sign | (m << (eb - 1u)));
    }
    return f32_of(sign | (bitcast<u32>(exponent) << 23u) | (scaled & 0x7fffffu));
}

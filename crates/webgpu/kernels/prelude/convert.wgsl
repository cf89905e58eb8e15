// Conversions between number types, by bit patterns: devices differ in how they round, saturate and treat subnormals.

fn f32_of(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

// The same number, in a way that no compiler sees through: it must not simplify (1 + x) - 1. The word is always zero.
fn opaque(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ p[0].w);
}

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// Both conversions of f16 compute every case and select. Where the number is a parameter of the launch, Mesa's software driver
// would compile a branch on it anew at each launch, and not free what it compiled.
fn f32_from_f16(half: u32) -> f32 {
    let sign = (half & 0x8000u) << 16u;
    let rest = half & 0x7fffu;
    // Subnormal: a small integer times 2^-24.
    let subnormal = bitcast<u32>(f32(rest) * f32_of(0x33800000u));
    let normal = (rest << 13u) + 0x38000000u;
    let special = 0x7f800000u | (rest << 13u);
    let finite = select(normal, subnormal, rest < 0x400u);
    return f32_of(sign | select(finite, special, rest >= 0x7c00u));
}

// To nearest, ties to even.
fn f16_from_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let rest = bits & 0x7fffffffu;
    let normal = (rest - 0x38000000u + 0xfffu + ((rest >> 13u) & 1u)) >> 13u;
    // Subnormal, or zero: shifted by 25 and more nothing is kept, and what is lost is below the middle.
    let shift = min(126u - min(rest >> 23u, 125u), 31u);
    let mantissa = (rest & 0x7fffffu) | 0x800000u;
    let kept = mantissa >> shift;
    let lost = mantissa & ((1u << shift) - 1u);
    let middle = 1u << (shift - 1u);
    let up = lost > middle || (lost == middle && (kept & 1u) == 1u);
    let subnormal = kept + select(0u, 1u, up);
    let finite = select(subnormal, normal, rest >= 0x38800000u);
    let special = select(0x7c00u, 0x7e00u, rest > 0x7f800000u);
    return sign | select(finite, special, rest >= 0x47800000u);
}

fn bf16_from_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return (bits >> 16u) | 0x40u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

fn narrow_f16(x: f32) -> f32 {
    return f32_from_f16(f16_from_f32(x));
}

fn narrow_bf16(x: f32) -> f32 {
    return f32_of(bf16_from_f32(x) << 16u);
}

// Whole numbers to floats, to nearest, ties to even.
fn f32_from_u64(v: vec2<u32>) -> f32 {
    if v.y == 0u && v.x < 0x1000000u {
        return f32(v.x);
    }
    let zeros = select(countLeadingZeros(v.y), 32u + countLeadingZeros(v.x), v.y == 0u);
    let top = left_64(v, zeros);
    let kept = top.y >> 8u;
    let lost = top.y & 0xffu;
    let up = lost > 0x80u || (lost == 0x80u && (top.x != 0u || (kept & 1u) == 1u));
    return f32_of(((190u - zeros) << 23u) + (kept & 0x7fffffu) + select(0u, 1u, up));
}

fn f32_from_i64(v: vec2<u32>) -> f32 {
    if is_negative_64(v) {
        return -f32_from_u64(neg_64(v));
    }
    return f32_from_u64(v);
}

fn f32_from_u32(v: u32) -> f32 {
    return f32_from_u64(vec2<u32>(v, 0u));
}

fn f32_from_i32(v: i32) -> f32 {
    return f32_from_i64(i64_from_i32(v));
}

fn i64_from_i32(v: i32) -> vec2<u32> {
    return vec2<u32>(bitcast<u32>(v), bitcast<u32>(v >> 31u));
}

// The magnitude without its fraction, below 2^64.
fn whole_part(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x) & 0x7fffffffu;
    let exponent = bits >> 23u;
    if exponent < 127u {
        return vec2<u32>(0u, 0u);
    }
    let mantissa = (bits & 0x7fffffu) | 0x800000u;
    if exponent < 150u {
        return vec2<u32>(mantissa >> (150u - exponent), 0u);
    }
    return left_64(vec2<u32>(mantissa, 0u), exponent - 150u);
}

// Floats to whole numbers: towards zero, saturating, zero for NaN.
fn u64_from_f32(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    if is_nan(x) || (bits >> 31u) == 1u {
        return vec2<u32>(0u, 0u);
    }
    if bits >= 0x5f800000u {
        return vec2<u32>(0xffffffffu, 0xffffffffu);
    }
    return whole_part(x);
}

fn i64_from_f32(x: f32) -> vec2<u32> {
    if is_nan(x) {
        return vec2<u32>(0u, 0u);
    }
    let bits = bitcast<u32>(x);
    let negative = (bits >> 31u) == 1u;
    if (bits & 0x7fffffffu) >= 0x5f000000u {
        return select_64(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
    }
    let whole = whole_part(x);
    return select_64(whole, neg_64(whole), negative);
}

fn u32_from_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if is_nan(x) || (bits >> 31u) == 1u {
        return 0u;
    }
    return select(whole_part(x).x, 0xffffffffu, bits >= 0x4f800000u);
}

fn i32_from_f32(x: f32) -> i32 {
    if is_nan(x) {
        return 0;
    }
    let bits = bitcast<u32>(x);
    let negative = (bits >> 31u) == 1u;
    if (bits & 0x7fffffffu) >= 0x4f000000u {
        return bitcast<i32>(select(0x7fffffffu, 0x80000000u, negative));
    }
    let whole = bitcast<i32>(whole_part(x).x);
    return select(whole, -whole, negative);
}

// Integers: 64-bit ones are vec2<u32>, the low half first. Everything wraps.

// Upper half of a 32-bit product, from 16-bit pieces.
fn mulhi_u32(a: u32, b: u32) -> u32 {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let low = ah * bl + ((al * bl) >> 16u);
    let mid = al * bh + (low & 0xffffu);
    return ah * bh + (low >> 16u) + (mid >> 16u);
}

fn add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn sub_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn mul_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x * b.x, mulhi_u32(a.x, b.x) + a.x * b.y + a.y * b.x);
}

fn neg_64(a: vec2<u32>) -> vec2<u32> {
    return sub_64(vec2<u32>(0u, 0u), a);
}

fn is_negative_64(a: vec2<u32>) -> bool {
    return (a.y >> 31u) == 1u;
}

fn abs_64(a: vec2<u32>) -> vec2<u32> {
    if is_negative_64(a) {
        return neg_64(a);
    }
    return a;
}

fn eq_64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x == b.x && a.y == b.y;
}

fn lt_u64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn lt_i64(a: vec2<u32>, b: vec2<u32>) -> bool {
    let ah = bitcast<i32>(a.y);
    let bh = bitcast<i32>(b.y);
    return ah < bh || (ah == bh && a.x < b.x);
}

fn select_64(a: vec2<u32>, b: vec2<u32>, c: bool) -> vec2<u32> {
    if c {
        return b;
    }
    return a;
}

fn min_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select_64(b, a, lt_u64(a, b));
}

fn max_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select_64(b, a, lt_u64(b, a));
}

fn min_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select_64(b, a, lt_i64(a, b));
}

fn max_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select_64(b, a, lt_i64(b, a));
}

// Shifts by a count below 64.
fn left_64(a: vec2<u32>, n: u32) -> vec2<u32> {
    if n == 0u {
        return a;
    }
    if n >= 32u {
        return vec2<u32>(0u, a.x << (n - 32u));
    }
    return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

fn right_64(a: vec2<u32>, n: u32) -> vec2<u32> {
    if n == 0u {
        return a;
    }
    if n >= 32u {
        return vec2<u32>(a.y >> (n - 32u), 0u);
    }
    return vec2<u32>((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}

fn shl_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if b.y != 0u || b.x >= 64u {
        return vec2<u32>(0u, 0u);
    }
    return left_64(a, b.x);
}

fn shr_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if b.y != 0u || b.x >= 64u {
        return vec2<u32>(0u, 0u);
    }
    return right_64(a, b.x);
}

// Arithmetic: the complement of a negative number is shifted, so that ones come in from the left.
fn shr_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if is_negative_64(a) {
        return ~shr_u64(~a, b);
    }
    return shr_u64(a, b);
}

fn shl_u32(a: u32, b: u32) -> u32 {
    return select(a << (b & 31u), 0u, b >= 32u);
}

fn shr_u32(a: u32, b: u32) -> u32 {
    return select(a >> (b & 31u), 0u, b >= 32u);
}

fn shl_i32(a: i32, b: i32) -> i32 {
    let n = bitcast<u32>(b);
    return select(a << (n & 31u), 0, n >= 32u);
}

fn shr_i32(a: i32, b: i32) -> i32 {
    let n = bitcast<u32>(b);
    return a >> select(n, 31u, n >= 32u);
}

// Quotient and remainder by long division; the divisor is not zero.
fn divide_64(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
    if a.y == 0u && b.y == 0u {
        return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u);
    }
    var quotient = vec2<u32>(0u, 0u);
    var rest = vec2<u32>(0u, 0u);
    for (var i = 0u; i < 64u; i++) {
        let bit = right_64(a, 63u - i).x & 1u;
        // The rest may use all 64 bits: what is shifted out means that the divisor fits.
        let out = rest.y >> 31u;
        rest = left_64(rest, 1u);
        rest.x |= bit;
        quotient = left_64(quotient, 1u);
        if out == 1u || !lt_u64(rest, b) {
            rest = sub_64(rest, b);
            quotient.x |= 1u;
        }
    }
    return vec4<u32>(quotient, rest);
}

fn floor_div_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if eq_64(b, vec2<u32>(0u, 0u)) {
        fault(1u);
        return b;
    }
    return divide_64(a, b).xy;
}

fn floor_rem_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if eq_64(b, vec2<u32>(0u, 0u)) {
        fault(1u);
        return b;
    }
    return divide_64(a, b).zw;
}

// Rounds towards minus infinity: one less than the truncated quotient where signs differ and something is left.
fn floor_div_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if eq_64(b, vec2<u32>(0u, 0u)) {
        fault(1u);
        return b;
    }
    let d = divide_64(abs_64(a), abs_64(b));
    if is_negative_64(a) == is_negative_64(b) {
        return d.xy;
    }
    let exact = eq_64(d.zw, vec2<u32>(0u, 0u));
    return sub_64(neg_64(d.xy), vec2<u32>(select(1u, 0u, exact), 0u));
}

fn floor_rem_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let q = floor_div_i64(a, b);
    return sub_64(a, mul_64(q, b));
}

fn floor_div_u32(a: u32, b: u32) -> u32 {
    if b == 0u {
        fault(1u);
        return 0u;
    }
    return a / b;
}

fn floor_rem_u32(a: u32, b: u32) -> u32 {
    if b == 0u {
        fault(1u);
        return 0u;
    }
    return a % b;
}

fn floor_div_i32(a: i32, b: i32) -> i32 {
    if b == 0 {
        fault(1u);
        return 0;
    }
    let ua = bitcast<u32>(select(a, -a, a < 0));
    let ub = bitcast<u32>(select(b, -b, b < 0));
    let q = ua / ub;
    if (a < 0) == (b < 0) {
        return bitcast<i32>(q);
    }
    return -bitcast<i32>(q) - select(0, 1, ua % ub != 0u);
}

fn floor_rem_i32(a: i32, b: i32) -> i32 {
    return a - floor_div_i32(a, b) * b;
}

fn pow_u32(a: u32, b: u32) -> u32 {
    var base = a;
    var n = b;
    var result = 1u;
    for (; n > 0u; n = n >> 1u) {
        if (n & 1u) == 1u {
            result = result * base;
        }
        base = base * base;
    }
    return result;
}

fn pow_i32(a: i32, b: i32) -> i32 {
    if b < 0 {
        fault(2u);
        return 0;
    }
    return bitcast<i32>(pow_u32(bitcast<u32>(a), bitcast<u32>(b)));
}

fn pow_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    var base = a;
    var n = b;
    var result = vec2<u32>(1u, 0u);
    for (var i = 0u; i < 64u; i++) {
        if (n.x & 1u) == 1u {
            result = mul_64(result, base);
        }
        base = mul_64(base, base);
        n = right_64(n, 1u);
        if (n.x | n.y) == 0u {
            break;
        }
    }
    return result;
}

fn pow_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if is_negative_64(b) {
        fault(2u);
        return a;
    }
    return pow_u64(a, b);
}

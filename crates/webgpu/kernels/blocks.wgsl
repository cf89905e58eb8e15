// Block-quantised matrices. A row is a run of blocks; a block is one or eight chunks of 32 values. A format says, for chunk
// `c` of the block at byte `at`: `scales_F(at, c)`, scale and offset of its first and of its second half, and
// `codes_F(at, c, q)`, the codes of its values 4q … 4q + 3. A value is scale · code + offset. `weight_word(byte)` and
// `weight_byte(byte)` read the matrix.

fn half_at(at: u32) -> f32 {
    return f32_from_f16(weight_byte(at) | (weight_byte(at + 1u) << 8u));
}

fn bytes_of(word: u32) -> vec4<u32> {
    return vec4<u32>(word & 0xffu, (word >> 8u) & 0xffu, (word >> 16u) & 0xffu, word >> 24u);
}

fn nibbles_of(word: u32, up: u32) -> vec4<u32> {
    return bytes_of((word >> (4u * up)) & 0x0f0f0f0fu);
}

fn signed_bytes(word: u32) -> vec4<f32> {
    let b = bitcast<i32>(word);
    return vec4<f32>(f32((b << 24u) >> 24u), f32((b << 16u) >> 24u), f32((b << 8u) >> 24u), f32(b >> 24u));
}

// 16 bytes of nibbles: values 0–15 low, 16–31 high.
fn split_nibbles(at: u32, q: u32) -> vec4<u32> {
    return nibbles_of(weight_word(at + 4u * (q & 3u)), q >> 2u);
}

fn scales_Q4_0(at: u32, c: u32) -> vec4<f32> {
    let d = half_at(at);
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_Q4_0(at: u32, c: u32, q: u32) -> vec4<f32> {
    return vec4<f32>(split_nibbles(at + 2u, q)) - 8.0;
}

fn scales_Q4_1(at: u32, c: u32) -> vec4<f32> {
    let d = half_at(at);
    let m = half_at(at + 2u);
    return vec4<f32>(d, m, d, m);
}

fn codes_Q4_1(at: u32, c: u32, q: u32) -> vec4<f32> {
    return vec4<f32>(split_nibbles(at + 4u, q));
}

// The fifth bits of values 4q … 4q + 3, in place.
fn fifth_bits(word: u32, q: u32) -> vec4<u32> {
    let b = word >> (4u * q);
    return vec4<u32>((b << 4u) & 16u, (b << 3u) & 16u, (b << 2u) & 16u, (b << 1u) & 16u);
}

fn scales_Q5_0(at: u32, c: u32) -> vec4<f32> {
    let d = half_at(at);
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_Q5_0(at: u32, c: u32, q: u32) -> vec4<f32> {
    return vec4<f32>(split_nibbles(at + 6u, q) | fifth_bits(weight_word(at + 2u), q)) - 16.0;
}

fn scales_Q5_1(at: u32, c: u32) -> vec4<f32> {
    let d = half_at(at);
    let m = half_at(at + 2u);
    return vec4<f32>(d, m, d, m);
}

fn codes_Q5_1(at: u32, c: u32, q: u32) -> vec4<f32> {
    return vec4<f32>(split_nibbles(at + 8u, q) | fifth_bits(weight_word(at + 4u), q));
}

fn scales_Q8_0(at: u32, c: u32) -> vec4<f32> {
    let d = half_at(at);
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_Q8_0(at: u32, c: u32, q: u32) -> vec4<f32> {
    return signed_bytes(weight_word(at + 2u + 4u * q));
}

fn scales_Q8_K(at: u32, c: u32) -> vec4<f32> {
    let d = bitcast<f32>(weight_word(at));
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_Q8_K(at: u32, c: u32, q: u32) -> vec4<f32> {
    return signed_bytes(weight_word(at + 4u + 32u * c + 4u * q));
}

// The table of IQ4_NL as packed signed bytes.
fn table_value(code: u32) -> f32 {
    var word = 0u;
    switch code >> 2u {
        case 0u: { word = 0xbfad9881u; }
        case 1u: { word = 0xf6eaddcfu; }
        case 2u: { word = 0x26190d01u; }
        default: { word = 0x71594535u; }
    }
    return f32(bitcast<i32>(word << (24u - 8u * (code & 3u))) >> 24u);
}

fn table_values(codes: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(table_value(codes.x), table_value(codes.y), table_value(codes.z), table_value(codes.w));
}

fn scales_IQ4_NL(at: u32, c: u32) -> vec4<f32> {
    let d = half_at(at);
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_IQ4_NL(at: u32, c: u32, q: u32) -> vec4<f32> {
    return table_values(split_nibbles(at + 2u, q));
}

fn scales_IQ4_XS(at: u32, c: u32) -> vec4<f32> {
    let low = (weight_byte(at + 4u + c / 2u) >> (4u * (c & 1u))) & 15u;
    let high = ((weight_byte(at + 2u) | (weight_byte(at + 3u) << 8u)) >> (2u * c)) & 3u;
    let d = half_at(at) * (f32(low | (high << 4u)) - 32.0);
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_IQ4_XS(at: u32, c: u32, q: u32) -> vec4<f32> {
    return table_values(split_nibbles(at + 8u + 16u * c, q));
}

// Twice the e2m1 value: two bits of exponent, one of mantissa, a sign.
fn e2m1_doubled(code: u32) -> f32 {
    let magnitude = (0xc8643210u >> (4u * (code & 7u))) & 15u;
    return select(f32(magnitude), -f32(magnitude), code >= 8u);
}

fn scales_MXFP4(at: u32, c: u32) -> vec4<f32> {
    let e = weight_byte(at);
    let d = f32_of(select((e - 1u) << 23u, 0x00200000u << e, e < 2u));
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_MXFP4(at: u32, c: u32, q: u32) -> vec4<f32> {
    let n = split_nibbles(at + 1u, q);
    return vec4<f32>(e2m1_doubled(n.x), e2m1_doubled(n.y), e2m1_doubled(n.z), e2m1_doubled(n.w));
}

// Two bits per value: chunk c is field c % 4 of 32 bytes.
fn two_bits(at: u32, c: u32, q: u32) -> vec4<u32> {
    return bytes_of((weight_word(at + 32u * (c / 4u) + 4u * q) >> (2u * (c & 3u))) & 0x03030303u);
}

fn scales_Q2_K(at: u32, c: u32) -> vec4<f32> {
    let d = half_at(at + 80u);
    let m = half_at(at + 82u);
    let s = weight_byte(at + 2u * c);
    let t = weight_byte(at + 2u * c + 1u);
    return vec4<f32>(d * f32(s & 15u), -(m * f32(s >> 4u)), d * f32(t & 15u), -(m * f32(t >> 4u)));
}

fn codes_Q2_K(at: u32, c: u32, q: u32) -> vec4<f32> {
    return vec4<f32>(two_bits(at + 16u, c, q));
}

fn scale_Q3_K(at: u32, g: u32) -> f32 {
    let low = (weight_byte(at + 96u + (g & 7u)) >> (4u * (g / 8u))) & 15u;
    let high = (weight_byte(at + 104u + (g & 3u)) >> (2u * (g / 4u))) & 3u;
    return f32(low | (high << 4u)) - 32.0;
}

fn scales_Q3_K(at: u32, c: u32) -> vec4<f32> {
    let d = half_at(at + 108u);
    return vec4<f32>(d * scale_Q3_K(at, 2u * c), 0.0, d * scale_Q3_K(at, 2u * c + 1u), 0.0);
}

fn codes_Q3_K(at: u32, c: u32, q: u32) -> vec4<f32> {
    let high = bytes_of((weight_word(at + 4u * q) >> c) & 0x01010101u);
    return vec4<f32>(two_bits(at + 32u, c, q) + 4u * high) - 4.0;
}

// Six-bit scale and offset of group c, of the twelve bytes at `at`.
fn packed_scale(at: u32, c: u32) -> vec2<f32> {
    if c < 4u {
        return vec2<f32>(f32(weight_byte(at + c) & 63u), f32(weight_byte(at + c + 4u) & 63u));
    }
    let low = weight_byte(at + c + 4u);
    let s = (low & 15u) | ((weight_byte(at + c - 4u) >> 6u) << 4u);
    let m = (low >> 4u) | ((weight_byte(at + c) >> 6u) << 4u);
    return vec2<f32>(f32(s), f32(m));
}

fn scales_Q4_K(at: u32, c: u32) -> vec4<f32> {
    let g = packed_scale(at + 4u, c);
    let s = half_at(at) * g.x;
    let m = -(half_at(at + 2u) * g.y);
    return vec4<f32>(s, m, s, m);
}

fn codes_Q4_K(at: u32, c: u32, q: u32) -> vec4<f32> {
    return vec4<f32>(nibbles_of(weight_word(at + 16u + 32u * (c / 2u) + 4u * q), c & 1u));
}

fn scales_Q5_K(at: u32, c: u32) -> vec4<f32> {
    return scales_Q4_K(at, c);
}

fn codes_Q5_K(at: u32, c: u32, q: u32) -> vec4<f32> {
    let low = nibbles_of(weight_word(at + 48u + 32u * (c / 2u) + 4u * q), c & 1u);
    let high = bytes_of((weight_word(at + 16u + 4u * q) >> c) & 0x01010101u);
    return vec4<f32>(low + 16u * high);
}

fn scale_Q6_K(at: u32, g: u32) -> f32 {
    return f32(bitcast<i32>(weight_byte(at + 192u + g) << 24u) >> 24u);
}

fn scales_Q6_K(at: u32, c: u32) -> vec4<f32> {
    let d = half_at(at + 208u);
    return vec4<f32>(d * scale_Q6_K(at, 2u * c), 0.0, d * scale_Q6_K(at, 2u * c + 1u), 0.0);
}

fn codes_Q6_K(at: u32, c: u32, q: u32) -> vec4<f32> {
    let j = c & 3u;
    let low = nibbles_of(weight_word(at + 64u * (c / 4u) + 32u * (j & 1u) + 4u * q), j >> 1u);
    let high = bytes_of((weight_word(at + 128u + 32u * (c / 4u) + 4u * q) >> (2u * j)) & 0x03030303u);
    return vec4<f32>(low + 16u * high) - 32.0;
}

// ---- points of grids: `grid_point(i)` is point i, packed; 4 of its values at a time are bytes of a word ----------------

// Four codes of two bits, or of three.
fn spread_2(bits: u32) -> u32 {
    let pairs = (bits | (bits << 12u)) & 0x000f000fu;
    return (pairs | (pairs << 6u)) & 0x03030303u;
}

fn spread_3(bits: u32) -> u32 {
    return (bits & 7u) | ((bits & 0x38u) << 5u) | ((bits & 0x1c0u) << 10u) | ((bits & 0xe00u) << 15u);
}

// 7 signs and the one that makes their number even.
fn even_signs(stored: u32) -> u32 {
    let signs = stored & 127u;
    return signs | ((countOneBits(signs) & 1u) << 7u);
}

// Positive bytes below 128, negative where one of four bits is set.
fn signed_by(bytes: u32, signs: u32) -> vec4<f32> {
    let negative = (((signs & 15u) * 0x00204081u) & 0x01010101u) * 0xffu;
    return signed_bytes((bytes ^ negative) + (negative & 0x01010101u));
}

// Values 4 h … 4 h + 3 of a point of IQ2: 8, 25 or 43.
fn iq2_values(point: u32, signs: u32, h: u32) -> vec4<f32> {
    let codes = spread_2((point >> (8u * h)) & 0xffu);
    return signed_by(0x08080808u + 17u * codes + ((codes >> 1u) & 0x01010101u), signs >> (4u * h));
}

fn odd_scale(at: u32, s: u32) -> f32 {
    return half_at(at) * f32(2u * s + 1u);
}

// Scales of two groups of 16 in the nibbles of a byte.
fn scales_of_halves(at: u32, nibbles: u32) -> vec4<f32> {
    return 0.125 * vec4<f32>(odd_scale(at, nibbles & 15u), 0.0, odd_scale(at, nibbles >> 4u), 0.0);
}

fn scales_IQ2_XXS(at: u32, c: u32) -> vec4<f32> {
    let d = 0.125 * odd_scale(at, weight_word(at + 6u + 8u * c) >> 28u);
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_IQ2_XXS(at: u32, c: u32, q: u32) -> vec4<f32> {
    let point = grid_point(weight_byte(at + 2u + 8u * c + q / 2u));
    return iq2_values(point, even_signs(weight_word(at + 6u + 8u * c) >> (7u * (q / 2u))), q & 1u);
}

fn scales_IQ2_XS(at: u32, c: u32) -> vec4<f32> {
    return scales_of_halves(at, weight_byte(at + 66u + c));
}

fn codes_IQ2_XS(at: u32, c: u32, q: u32) -> vec4<f32> {
    let run = at + 2u + 8u * c + 2u * (q / 2u);
    let both = weight_byte(run) | (weight_byte(run + 1u) << 8u);
    return iq2_values(grid_point(both & 511u), even_signs(both >> 9u), q & 1u);
}

fn scales_IQ2_S(at: u32, c: u32) -> vec4<f32> {
    return scales_of_halves(at, weight_byte(at + 74u + c));
}

fn codes_IQ2_S(at: u32, c: u32, q: u32) -> vec4<f32> {
    let run = 4u * c + q / 2u;
    let high = (weight_byte(at + 66u + c) >> (2u * (q / 2u))) & 3u;
    let point = grid_point(weight_byte(at + 2u + run) | (high << 8u));
    return iq2_values(point, weight_byte(at + 34u + run), q & 1u);
}

fn scales_IQ3_XXS(at: u32, c: u32) -> vec4<f32> {
    let d = 0.25 * odd_scale(at, weight_word(at + 66u + 4u * c) >> 28u);
    return vec4<f32>(d, 0.0, d, 0.0);
}

// 4, 12, … 52, and 62.
fn codes_IQ3_XXS(at: u32, c: u32, q: u32) -> vec4<f32> {
    let codes = spread_3(grid_point(weight_byte(at + 2u + 8u * c + q)));
    let last = codes & (codes >> 1u) & (codes >> 2u) & 0x01010101u;
    let signs = even_signs(weight_word(at + 66u + 4u * c) >> (7u * (q / 2u)));
    return signed_by(0x04040404u + 8u * codes + 2u * last, signs >> (4u * (q & 1u)));
}

fn scales_IQ3_S(at: u32, c: u32) -> vec4<f32> {
    let d = odd_scale(at, (weight_byte(at + 106u + c / 2u) >> (4u * (c & 1u))) & 15u);
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_IQ3_S(at: u32, c: u32, q: u32) -> vec4<f32> {
    let high = (weight_byte(at + 66u + c) >> q) & 1u;
    let codes = spread_3(grid_point(weight_byte(at + 2u + 8u * c + q) | (high << 8u)));
    let signs = weight_byte(at + 74u + 4u * c + q / 2u);
    return signed_by(0x01010101u + 2u * codes, signs >> (4u * (q & 1u)));
}

// Eight times −1, 0 or 1, and 1 more or less.
fn iq1_values(point: u32, less: bool, h: u32) -> vec4<f32> {
    let codes = vec4<f32>(bytes_of(spread_2((point >> (8u * h)) & 0xffu)));
    return 8.0 * codes + select(-7.0, -9.0, less);
}

fn high_of_IQ1_S(at: u32, c: u32) -> u32 {
    return weight_byte(at + 34u + 2u * c) | (weight_byte(at + 35u + 2u * c) << 8u);
}

fn scales_IQ1_S(at: u32, c: u32) -> vec4<f32> {
    let d = 0.125 * odd_scale(at, (high_of_IQ1_S(at, c) >> 12u) & 7u);
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn codes_IQ1_S(at: u32, c: u32, q: u32) -> vec4<f32> {
    let high = high_of_IQ1_S(at, c);
    let point = weight_byte(at + 2u + 4u * c + q / 2u) | (((high >> (3u * (q / 2u))) & 7u) << 8u);
    return iq1_values(grid_point(point), high >= 0x8000u, q & 1u);
}

fn scales_IQ1_M(at: u32, c: u32) -> vec4<f32> {
    let low = weight_word(at + 48u);
    let high = weight_word(at + 52u);
    let bits = ((low >> 12u) & 15u) | ((low >> 24u) & 0xf0u) | ((high >> 4u) & 0xf00u) | ((high >> 16u) & 0xf000u);
    let d = 0.125 * f32_from_f16(bits);
    let scales = select(low, high, c >= 4u) >> (16u * ((c >> 1u) & 1u) + 6u * (c & 1u));
    return vec4<f32>(d * f32(2u * (scales & 7u) + 1u), 0.0, d * f32(2u * ((scales >> 3u) & 7u) + 1u), 0.0);
}

fn codes_IQ1_M(at: u32, c: u32, q: u32) -> vec4<f32> {
    let high = weight_byte(at + 32u + 2u * c + q / 4u) >> (4u * ((q / 2u) & 1u));
    let point = weight_byte(at + 4u * c + q / 2u) | ((high & 7u) << 8u);
    return iq1_values(grid_point(point), (high & 8u) != 0u, q & 1u);
}

// ---- trits and bits ----------------------------------------------------------------------------------------------------

fn one_scale(at: u32) -> vec4<f32> {
    let d = half_at(at);
    return vec4<f32>(d, 0.0, d, 0.0);
}

fn scales_TQ1_0(at: u32, c: u32) -> vec4<f32> {
    return one_scale(at + 52u);
}

// Trit n of a byte is the first digit, base 3, of the byte as a fraction, times 3 to the n.
fn codes_TQ1_0(at: u32, c: u32, q: u32) -> vec4<f32> {
    var first = 4u * q;
    var n = c;
    if c == 7u && q >= 4u {
        first = 48u;
        n = q - 4u;
    } else if c >= 5u {
        first = 32u + 4u * (q & 3u);
        n = 2u * (c - 5u) + q / 4u;
    }
    let power = select((0x1b090301u >> (8u * (n & 3u))) & 0xffu, 81u, n == 4u);
    let fractions = (bytes_of(weight_word(at + first)) * power) & vec4<u32>(255u);
    return vec4<f32>((fractions * 3u) >> vec4<u32>(8u)) - 1.0;
}

fn scales_TQ2_0(at: u32, c: u32) -> vec4<f32> {
    return one_scale(at + 64u);
}

fn codes_TQ2_0(at: u32, c: u32, q: u32) -> vec4<f32> {
    return vec4<f32>(two_bits(at, c, q)) - 1.0;
}

fn scales_Q1_0(at: u32, c: u32) -> vec4<f32> {
    return one_scale(at);
}

fn codes_Q1_0(at: u32, c: u32, q: u32) -> vec4<f32> {
    let bits = weight_word(at + 2u + 4u * c) >> (4u * q);
    return 2.0 * vec4<f32>(bytes_of(((bits & 15u) * 0x00204081u) & 0x01010101u)) - 1.0;
}

// Half of an unsigned e4m3 number, because the table is doubled; 0x7f is 0.
fn half_e4m3(bits: u32) -> f32 {
    let exponent = (bits >> 3u) & 15u;
    let normal = f32_of(((exponent + 119u) << 23u) | ((bits & 7u) << 20u));
    let value = select(normal, f32(bits & 7u) * 0.0009765625, exponent == 0u);
    return select(value, 0.0, bits == 0x7fu);
}

fn scales_NVFP4(at: u32, c: u32) -> vec4<f32> {
    return vec4<f32>(half_e4m3(weight_byte(at + 2u * c)), 0.0, half_e4m3(weight_byte(at + 2u * c + 1u)), 0.0);
}

fn codes_NVFP4(at: u32, c: u32, q: u32) -> vec4<f32> {
    let group = 2u * c + q / 4u;
    let n = nibbles_of(weight_word(at + 4u + 8u * group + 4u * (q & 1u)), (q / 2u) & 1u);
    return vec4<f32>(e2m1_doubled(n.x), e2m1_doubled(n.y), e2m1_doubled(n.z), e2m1_doubled(n.w));
}

// Value k of a row, by its format.
fn quant_value(row: u32, k: u32) -> f32 {
    let at = row_start(row) + k / BLOCK_LEN * BLOCK_BYTES;
    let c = k % BLOCK_LEN / 32u;
    let j = k % 32u;
    let s = block_scales(at, c);
    let code = block_codes(at, c, j / 4u)[j % 4u];
    let half = select(s.xy, s.zw, j >= 16u);
    return half.x * code + half.y;
}

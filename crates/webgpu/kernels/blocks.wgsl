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

// The block formats of quantised rows: one struct each, used by every kernel that reads them. `Format` is the one chosen.
//
// A block of LEN values takes BYTES bytes. It is cut into PIECES of PAIRS pairs; a pair is two runs of 16 neighbouring values whose
// codes lie in the same bytes (or next to each other), and `position` says where in the block a run starts. A lane that takes a whole
// piece reads every byte of codes once. Codes come as packed bytes, one per value, and a run's values are
//
//     value[i] = scale · code[i] · FACTOR[i mod 4] + offset
//
// where `codes` turns four packed bytes into floats. Most formats mask the bytes where they are, which makes the second one 256 times
// too large, and so on: FACTOR takes that back, and a product applies it to its other operand, once for all rows. Likewise the high
// nibble of a byte is not shifted down: its scale is a sixteenth.
//
// `head` is what both pairs of a piece need beside their codes, mostly for scales; with WORDS it is the same four words for all
// pieces of a block, which a quad of lanes may load together. `shared` are the bits of codes that both pairs of a piece need.

struct Pair {
    uint4 low, high;
    float2 scale, offset;
};

// 16 bytes from an address that 4, 2 or 1 divides.
inline uint4 bytes16_by4(device const uchar* p) { return uint4(*(device const packed_uint4*)p); }
inline uint4 bytes16_by2(device const uchar* p) {
    device const packed_ushort4* q = (device const packed_ushort4*)p;
    return uint4(as_type<uint2>(ushort4(q[0])), as_type<uint2>(ushort4(q[1])));
}
inline uint4 bytes16_by1(device const uchar* p) {
    device const packed_uchar4* q = (device const packed_uchar4*)p;
    return uint4(as_type<uint>(uchar4(q[0])), as_type<uint>(uchar4(q[1])), as_type<uint>(uchar4(q[2])),
                 as_type<uint>(uchar4(q[3])));
}
inline float half_at(device const uchar* p) { return float(*(device const half*)p); }
inline uint short_at(device const uchar* p) { return uint(*(device const ushort*)p); }

// Four bytes as floats, each where it stands: the factor of byte i is 2^(−8i).
inline float4 bytes_in_place(uint packed) {
    return float4(uint4(packed & 0xffu, packed & 0xff00u, packed & 0xff0000u, packed & 0xff000000u));
}
#define IN_PLACE_FACTOR float4(1.0f, 1.0f / 256.0f, 1.0f / 65536.0f, 1.0f / 16777216.0f)

// Bit `bit` of every byte, as bit 4 or as bit `to`.
inline uint4 bit_to(uint4 bits, uint bit, uint to) { return ((bits >> bit) & 0x01010101u) << to; }

// Members that formats share, as macros: structs of Metal have no bases.
#define SMALL_BLOCK                                                                   \
    enum : uint { LEN = 32, PIECES = 1, PAIRS = 1 };                                  \
    static inline uint position(uint, uint, uint run) { return run * 16; }            \
    NO_HEAD NO_SHARED
#define LARGE_BLOCK enum : uint { LEN = 256, PIECES = 4, PAIRS = 2 };
#define NO_HEAD                                                                       \
    enum : uint { WORDS = 0 };                                                        \
    static inline uint4 head(device const uchar*, uint) { return uint4(0); }
#define NO_SHARED static inline uint4 shared(device const uchar*, uint) { return uint4(0); }
#define CODES_IN_PLACE                                                                \
    static inline float4 codes(uint packed) { return bytes_in_place(packed); }        \
    static inline float4 factor() { return IN_PLACE_FACTOR; }
#define SIGNED_BYTES                                                                  \
    static inline float4 codes(uint packed) { return float4(as_type<char4>(packed)); }\
    static inline float4 factor() { return float4(1.0f); }
#define IQ4_CODES                                                                     \
    static inline float4 codes(uint packed) { return iq4_values(packed); }            \
    static inline float4 factor() { return float4(1.0f); }

// ---- formats of 32 values: a lane takes a whole block -----------------------------------------------------------------

inline Pair nibbles(uint4 q, float scale, float offset) {
    Pair p;
    p.low = q & 0x0f0f0f0fu;
    p.high = q & 0xf0f0f0f0u;
    p.scale = float2(scale, scale / 16.0f);
    p.offset = float2(offset);
    return p;
}

// d · (code − 8)
struct Q4_0 {
    SMALL_BLOCK
    CODES_IN_PLACE
    enum : uint { BYTES = 18, OFFSETS = 1 };
    static inline Pair pair(device const uchar* b, uint, uint, uint4, uint4) {
        const float d = half_at(b);
        return nibbles(bytes16_by2(b + 2), d, -8.0f * d);
    }
};

// d · code + m
struct Q4_1 {
    SMALL_BLOCK
    CODES_IN_PLACE
    enum : uint { BYTES = 20, OFFSETS = 1 };
    static inline Pair pair(device const uchar* b, uint, uint, uint4, uint4) {
        return nibbles(bytes16_by4(b + 4), half_at(b), half_at(b + 2));
    }
};

// Spreads bits 0…3 of a nibble over bytes: bit i becomes bit 4 of byte i.
inline uint fifth_bits(uint nibble) { return ((nibble * 0x00204081u) & 0x01010101u) << 4; }
inline uint4 fifth_bits4(uint bits) {
    return uint4(fifth_bits(bits & 15u), fifth_bits((bits >> 4) & 15u), fifth_bits((bits >> 8) & 15u),
                 fifth_bits((bits >> 12) & 15u));
}
inline Pair five_bits(uint4 q, uint high, float scale, float offset) {
    Pair p;
    p.low = (q & 0x0f0f0f0fu) | fifth_bits4(high & 0xffffu);
    p.high = ((q >> 4) & 0x0f0f0f0fu) | fifth_bits4(high >> 16);
    p.scale = float2(scale);
    p.offset = float2(offset);
    return p;
}

// d · (code − 16), the fifth bit of value i being bit i of four bytes
struct Q5_0 {
    SMALL_BLOCK
    CODES_IN_PLACE
    enum : uint { BYTES = 22, OFFSETS = 1 };
    static inline Pair pair(device const uchar* b, uint, uint, uint4, uint4) {
        const float d = half_at(b);
        const uint high = short_at(b + 2) | short_at(b + 4) << 16;
        return five_bits(bytes16_by2(b + 6), high, d, -16.0f * d);
    }
};

// d · code + m
struct Q5_1 {
    SMALL_BLOCK
    CODES_IN_PLACE
    enum : uint { BYTES = 24, OFFSETS = 1 };
    static inline Pair pair(device const uchar* b, uint, uint, uint4, uint4) {
        return five_bits(bytes16_by4(b + 8), *(device const uint*)(b + 4), half_at(b), half_at(b + 2));
    }
};

// d · code, signed bytes
struct Q8_0 {
    SMALL_BLOCK
    enum : uint { BYTES = 34, OFFSETS = 0 };
    SIGNED_BYTES
    static inline Pair pair(device const uchar* b, uint, uint, uint4, uint4) {
        Pair p;
        p.low = bytes16_by2(b + 2);
        p.high = bytes16_by2(b + 18);
        p.scale = float2(half_at(b));
        p.offset = float2(0.0f);
        return p;
    }
};

// d · table[code]
constant float IQ4_TABLE[16] = {-127.0f, -104.0f, -83.0f, -65.0f, -49.0f, -35.0f, -22.0f, -10.0f,
                                1.0f,    13.0f,   25.0f,  38.0f,  53.0f,  69.0f,  89.0f,  113.0f};
inline float4 iq4_values(uint packed) {
    return float4(IQ4_TABLE[packed & 15u], IQ4_TABLE[(packed >> 8) & 15u], IQ4_TABLE[(packed >> 16) & 15u],
                  IQ4_TABLE[(packed >> 24) & 15u]);
}
inline Pair table_nibbles(uint4 q, float scale) {
    Pair p;
    p.low = q & 0x0f0f0f0fu;
    p.high = (q >> 4) & 0x0f0f0f0fu;
    p.scale = float2(scale);
    p.offset = float2(0.0f);
    return p;
}
struct IQ4_NL {
    SMALL_BLOCK
    enum : uint { BYTES = 18, OFFSETS = 0 };
    IQ4_CODES
    static inline Pair pair(device const uchar* b, uint, uint, uint4, uint4) {
        return table_nibbles(bytes16_by2(b + 2), half_at(b));
    }
};

// 2^(e − 127) · e2m1. A code's exponent and mantissa, put where half has its own, are 2^14 times too small.
struct MXFP4 {
    SMALL_BLOCK
    enum : uint { BYTES = 17, OFFSETS = 0 };
    static inline float small_float(uint code) {
        return float(as_type<half>(ushort((code & 8u) << 12 | (code & 7u) << 9)));
    }
    static inline float4 codes(uint packed) {
        return 16384.0f * float4(small_float(packed & 15u), small_float((packed >> 8) & 15u),
                                 small_float((packed >> 16) & 15u), small_float((packed >> 24) & 15u));
    }
    static inline float4 factor() { return float4(1.0f); }
    static inline Pair pair(device const uchar* b, uint, uint, uint4, uint4) {
        const uint e = uint(b[0]);
        return table_nibbles(bytes16_by1(b + 1), as_type<float>(e == 0 ? 0x00400000u : e << 23));
    }
};

// ---- formats of 256 values: four lanes take a block -------------------------------------------------------------------

// Scales and offsets of groups 2c and 2c + 1, from d, dmin and 12 bytes of 6-bit numbers: those of groups 0–3 are the low six bits
// of bytes 0–3 and 4–7; those of groups 4–7 have their low bits in the nibbles of bytes 8–11 and their high bits on top of bytes 0–7.
inline void six_bit_groups(uint4 head, uint c, thread float2& scale, thread float2& offset) {
    const float2 d = float2(as_type<half2>(head.x));
    const uint shift = 16 * (c % 2);
    const uint s = head.y >> shift, m = head.z >> shift, low = head.w >> shift;
    const uint scales = c < 2 ? s & 0x3f3fu : (low & 0x0f0fu) | ((s >> 2) & 0x3030u);
    const uint offsets = c < 2 ? m & 0x3f3fu : ((low >> 4) & 0x0f0fu) | ((m >> 2) & 0x3030u);
    scale = d.x * float2(float(scales & 0xffu), float((scales >> 8) & 0xffu));
    offset = -d.y * float2(float(offsets & 0xffu), float((offsets >> 8) & 0xffu));
}

inline uint six_bit_position(uint piece, uint t, uint run) {
    return 64 * (piece / 2 * 2 + t) + 32 * run + 16 * (piece % 2);
}

// Bytes 32c… hold group 2c in their low and 2c + 1 in their high nibbles. Piece: half h of two chunks c; pair: one chunk.
struct Q4_K {
    LARGE_BLOCK
    NO_SHARED
    CODES_IN_PLACE
    enum : uint { BYTES = 144, OFFSETS = 1, WORDS = 4 };
    static inline uint position(uint piece, uint t, uint run) { return six_bit_position(piece, t, run); }
    static inline uint4 head(device const uchar* b, uint) { return bytes16_by4(b); }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4 head, uint4) {
        const uint c = piece / 2 * 2 + t;
        Pair p = nibbles(bytes16_by4(b + 16 + 32 * c + 16 * (piece % 2)), 1.0f, 0.0f);
        float2 scale;
        six_bit_groups(head, c, scale, p.offset);
        p.scale *= scale;
        return p;
    }
};

// As Q4_K; bit g of byte i of the 32 high bytes is the fifth bit of value i of group g.
struct Q5_K {
    LARGE_BLOCK
    CODES_IN_PLACE
    enum : uint { BYTES = 176, OFFSETS = 1, WORDS = 4 };
    static inline uint position(uint piece, uint t, uint run) { return six_bit_position(piece, t, run); }
    static inline uint4 head(device const uchar* b, uint) { return bytes16_by4(b); }
    static inline uint4 shared(device const uchar* b, uint piece) { return bytes16_by4(b + 16 + 16 * (piece % 2)); }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4 head, uint4 high) {
        const uint c = piece / 2 * 2 + t;
        const uint4 q = bytes16_by4(b + 48 + 32 * c + 16 * (piece % 2));
        Pair p;
        p.low = (q & 0x0f0f0f0fu) | bit_to(high, 2 * c, 4);
        p.high = ((q >> 4) & 0x0f0f0f0fu) | bit_to(high, 2 * c + 1, 4);
        six_bit_groups(head, c, p.scale, p.offset);
        return p;
    }
};

// d · scale · (code − 32). Each half of 128 values has 64 bytes of nibbles and 32 of high bits; quarter j of it has its nibbles in
// bytes 32 (j mod 2)…, nibble j / 2, and its high bits in bits 2j…. Piece: 16 bytes i of a half; pair t: quarters t and t + 2.
struct Q6_K {
    LARGE_BLOCK
    CODES_IN_PLACE
    enum : uint { BYTES = 210, OFFSETS = 1, WORDS = 0 };
    static inline uint position(uint piece, uint t, uint run) {
        return 128 * (piece / 2) + 32 * (t + 2 * run) + 16 * (piece % 2);
    }
    static inline uint4 shared(device const uchar* b, uint piece) {
        return bytes16_by2(b + 128 + 32 * (piece / 2) + 16 * (piece % 2));
    }
    static inline uint4 head(device const uchar* b, uint) { return uint4(as_type<uint>(half_at(b + 208)), 0, 0, 0); }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4 head, uint4 high) {
        const uint4 q = bytes16_by2(b + 64 * (piece / 2) + 32 * t + 16 * (piece % 2));
        const uint group = 192 + 8 * (piece / 2) + 2 * t + piece % 2;
        const float d = as_type<float>(head.x);
        Pair p;
        p.low = (q & 0x0f0f0f0fu) | (((high >> (2 * t)) & 0x03030303u) << 4);
        p.high = ((q >> 4) & 0x0f0f0f0fu) | (((high >> (2 * t + 4)) & 0x03030303u) << 4);
        p.scale = d * float2(float(((device const char*)b)[group]), float(((device const char*)b)[group + 4]));
        p.offset = -32.0f * p.scale;
        return p;
    }
};

// Each half of 128 values is 32 bytes; value 32 s + i of it is bits 2 s… of byte i. Piece: 16 bytes i of a half; pair t: s = 2t, 2t + 1.
inline uint two_bit_position(uint piece, uint t, uint run) {
    return 128 * (piece / 2) + 32 * (2 * t + run) + 16 * (piece % 2);
}
struct Q2_K {
    LARGE_BLOCK
    CODES_IN_PLACE
    enum : uint { BYTES = 84, OFFSETS = 1, WORDS = 0 };
    static inline uint position(uint piece, uint t, uint run) { return two_bit_position(piece, t, run); }
    static inline uint4 shared(device const uchar* b, uint piece) { return bytes16_by4(b + 16 + 16 * piece); }
    static inline uint4 head(device const uchar* b, uint) { return uint4(*(device const uint*)(b + 80), 0, 0, 0); }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4 head, uint4 q) {
        const uint group = 8 * (piece / 2) + 4 * t + piece % 2;
        const uint first = uint(b[group]), second = uint(b[group + 2]);
        const float2 d = float2(as_type<half2>(head.x));
        Pair p;
        p.low = (q >> (4 * t)) & 0x03030303u;
        p.high = (q >> (4 * t + 2)) & 0x03030303u;
        p.scale = d.x * float2(float(first & 15u), float(second & 15u));
        p.offset = -d.y * float2(float(first >> 4), float(second >> 4));
        return p;
    }
};

// d · (scale − 32) · (code − 4); two bits as in Q2_K, and bit j of byte i of the first 32 is the third bit of value 32 j + i. The 6-bit
// scale of group g has its low nibble in byte g mod 8, nibble g / 8, and its high bits in byte 8 + g mod 4, from bit 2 (g / 4) on.
struct Q3_K {
    LARGE_BLOCK
    CODES_IN_PLACE
    enum : uint { BYTES = 110, OFFSETS = 1, WORDS = 0 };
    static inline uint position(uint piece, uint t, uint run) { return two_bit_position(piece, t, run); }
    static inline uint4 shared(device const uchar* b, uint piece) { return bytes16_by2(b + 32 + 16 * piece); }
    static inline float scale_of(device const uchar* s, uint g) {
        const uint low = (uint(s[g % 8]) >> (4 * (g / 8))) & 15u;
        const uint high = (uint(s[8 + g % 4]) >> (2 * (g / 4))) & 3u;
        return float(int(low | high << 4) - 32);
    }
    static inline uint4 head(device const uchar* b, uint piece) { return bytes16_by2(b + 16 * (piece % 2)); }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4 third, uint4 q) {
        const uint group = 8 * (piece / 2) + 4 * t + piece % 2;
        const uint j = 4 * (piece / 2) + 2 * t;
        Pair p;
        p.low = ((q >> (4 * t)) & 0x03030303u) | bit_to(third, j, 2);
        p.high = ((q >> (4 * t + 2)) & 0x03030303u) | bit_to(third, j + 1, 2);
        p.scale = half_at(b + 108) * float2(scale_of(b + 96, group), scale_of(b + 96, group + 2));
        p.offset = -4.0f * p.scale;
        return p;
    }
};

// d · code, signed bytes; the sums behind them serve integer products and are not read here.
struct Q8_K {
    LARGE_BLOCK
    NO_HEAD
    NO_SHARED
    enum : uint { BYTES = 292, OFFSETS = 0 };
    static inline uint position(uint piece, uint t, uint run) { return 64 * piece + 32 * t + 16 * run; }
    SIGNED_BYTES
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4, uint4) {
        device const uchar* q = b + 4 + 64 * piece + 32 * t;
        Pair p;
        p.low = bytes16_by4(q);
        p.high = bytes16_by4(q + 16);
        p.scale = float2(*(device const float*)b);
        p.offset = float2(0.0f);
        return p;
    }
};

// d · (scale − 32) · table[code]; group g has 16 bytes, its scale four bits in a nibble and two in a short.
struct IQ4_XS {
    LARGE_BLOCK
    NO_SHARED
    enum : uint { BYTES = 136, OFFSETS = 0, WORDS = 0 };
    static inline uint position(uint piece, uint t, uint run) { return 64 * piece + 32 * t + 16 * run; }
    IQ4_CODES
    static inline uint4 head(device const uchar* b, uint piece) {
        return uint4(*(device const uint*)b, uint(b[4 + piece]), 0, 0);
    }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4 head, uint4) {
        const uint g = 2 * piece + t;
        const uint low = (head.y >> (4 * t)) & 15u;
        const uint high = (head.x >> (16 + 2 * g)) & 3u;
        const float d = float(as_type<half2>(head.x).x);
        return table_nibbles(bytes16_by4(b + 8 + 16 * g), d * float(int(low | high << 4) - 32));
    }
};

// ---- formats whose runs are points of a grid: 64 values a piece, 32 a pair ---------------------------------------------
//
// A point is GRID's, the codes of its values packed; `codes` of runs are signed bytes.

#ifdef GRID
constant ushort GRID_POINTS[] = {GRID};
inline uint grid_point(uint i) { return GRID_POINTS[i]; }
#else
inline uint grid_point(uint) { return 0; }
#endif

#define IN_ORDER static inline uint position(uint piece, uint t, uint run) { return 64 * piece + 32 * t + 16 * run; }
#define GRID_BLOCK                                                                    \
    LARGE_BLOCK                                                                       \
    NO_HEAD                                                                           \
    NO_SHARED                                                                         \
    SIGNED_BYTES                                                                      \
    IN_ORDER

// Four codes of two bits, or of three.
inline uint spread_2(uint bits) {
    const uint pairs = (bits | bits << 12) & 0x000f000fu;
    return (pairs | pairs << 6) & 0x03030303u;
}
inline uint spread_3(uint bits) {
    return (bits & 7u) | (bits & 0x38u) << 5 | (bits & 0x1c0u) << 10 | (bits & 0xe00u) << 15;
}

// 7 signs and the one that makes their number even.
inline uint even_signs(uint stored) {
    const uint signs = stored & 127u;
    return signs | (popcount(signs) & 1u) << 7;
}

// One bit of four in each byte.
inline uint bits_to_bytes(uint bits) { return ((bits & 15u) * 0x00204081u) & 0x01010101u; }

// Positive bytes below 128, negated where one of four bits is set.
inline uint signed_by(uint bytes, uint signs) {
    const uint ones = bits_to_bytes(signs);
    return (bytes ^ ones * 0xffu) + ones;
}

inline uint word_by2(device const uchar* p) { return short_at(p) | short_at(p + 2) << 16; }

inline Pair grid_pair(uint4 low, uint4 high, float first, float second) {
    Pair p;
    p.low = low;
    p.high = high;
    p.scale = float2(first, second);
    p.offset = float2(0.0f);
    return p;
}

// 8, 25 or 43.
inline uint iq2_four(uint bits, uint signs) {
    const uint codes = spread_2(bits);
    return signed_by(0x08080808u + 17 * codes + ((codes >> 1) & 0x01010101u), signs);
}
inline uint2 iq2_run(uint index, uint signs) {
    const uint point = grid_point(index);
    return uint2(iq2_four(point & 0xffu, signs), iq2_four(point >> 8, signs >> 4));
}

// d · (2 scale + 1) / 8, of a group of 32
struct IQ2_XXS {
    GRID_BLOCK
    enum : uint { BYTES = 66, OFFSETS = 0 };
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4, uint4) {
        device const uchar* q = b + 2 + 8 * (2 * piece + t);
        const uint word = word_by2(q + 4);
        const float scale = 0.125f * half_at(b) * float(2 * (word >> 28) + 1);
        const uint4 low = uint4(iq2_run(q[0], even_signs(word)), iq2_run(q[1], even_signs(word >> 7)));
        const uint4 high = uint4(iq2_run(q[2], even_signs(word >> 14)), iq2_run(q[3], even_signs(word >> 21)));
        return grid_pair(low, high, scale, scale);
    }
};

inline Pair iq2_halves(device const uchar* b, uint nibbles, uint4 low, uint4 high) {
    const float d = 0.125f * half_at(b);
    return grid_pair(low, high, d * float(2 * (nibbles & 15u) + 1), d * float(2 * (nibbles >> 4) + 1));
}

// The same, of groups of 16
struct IQ2_XS {
    GRID_BLOCK
    enum : uint { BYTES = 74, OFFSETS = 0 };
    static inline uint2 run(device const uchar* q) {
        const uint both = short_at(q);
        return iq2_run(both & 511u, even_signs(both >> 9));
    }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4, uint4) {
        const uint g = 2 * piece + t;
        device const uchar* q = b + 2 + 8 * g;
        return iq2_halves(b, uint(b[66 + g]), uint4(run(q), run(q + 2)), uint4(run(q + 4), run(q + 6)));
    }
};

struct IQ2_S {
    GRID_BLOCK
    enum : uint { BYTES = 82, OFFSETS = 0 };
    static inline uint2 run(device const uchar* b, uint r, uint high) {
        return iq2_run(uint(b[2 + r]) | ((high >> (2 * (r % 4))) & 3u) << 8, uint(b[34 + r]));
    }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4, uint4) {
        const uint g = 2 * piece + t, r = 4 * g, high = uint(b[66 + g]);
        const uint4 first = uint4(run(b, r, high), run(b, r + 1, high));
        const uint4 second = uint4(run(b, r + 2, high), run(b, r + 3, high));
        return iq2_halves(b, uint(b[74 + g]), first, second);
    }
};

// d · (2 scale + 1) / 4; 4, 12, … 52, and 62
struct IQ3_XXS {
    GRID_BLOCK
    enum : uint { BYTES = 98, OFFSETS = 0 };
    static inline uint four(uint index, uint signs) {
        const uint codes = spread_3(grid_point(index));
        const uint last = codes & codes >> 1 & codes >> 2 & 0x01010101u;
        return signed_by(0x04040404u + 8 * codes + 2 * last, signs);
    }
    static inline uint2 eight(device const uchar* q, uint stored) {
        const uint signs = even_signs(stored);
        return uint2(four(q[0], signs), four(q[1], signs >> 4));
    }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4, uint4) {
        const uint g = 2 * piece + t;
        device const uchar* q = b + 2 + 8 * g;
        const uint word = word_by2(b + 66 + 4 * g);
        const float scale = 0.25f * half_at(b) * float(2 * (word >> 28) + 1);
        return grid_pair(uint4(eight(q, word), eight(q + 2, word >> 7)),
                         uint4(eight(q + 4, word >> 14), eight(q + 6, word >> 21)), scale, scale);
    }
};

// d · (2 scale + 1); odd numbers
struct IQ3_S {
    GRID_BLOCK
    enum : uint { BYTES = 110, OFFSETS = 0 };
    static inline uint four(uint low, uint high, uint signs) {
        return signed_by(0x01010101u + 2 * spread_3(grid_point(low | (high & 1u) << 8)), signs);
    }
    static inline uint2 eight(device const uchar* q, uint high, uint signs) {
        return uint2(four(q[0], high, signs), four(q[1], high >> 1, signs >> 4));
    }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4, uint4) {
        const uint g = 2 * piece + t, high = uint(b[66 + g]);
        device const uchar* q = b + 2 + 8 * g;
        device const uchar* s = b + 74 + 4 * g;
        const float scale = half_at(b) * float(2 * ((uint(b[106 + piece]) >> (4 * t)) & 15u) + 1);
        return grid_pair(uint4(eight(q, high, s[0]), eight(q + 2, high >> 2, s[1])),
                         uint4(eight(q + 4, high >> 4, s[2]), eight(q + 6, high >> 6, s[3])), scale, scale);
    }
};

// Eight times −1, 0 or 1, and 1 more or less: bytes that wrap into their signs.
inline uint2 iq1_run(uint index, bool less) {
    const uint point = grid_point(index), shift = less ? 0x77777777u : 0x79797979u;
    return uint2((8 * spread_2(point & 0xffu) + shift) ^ 0x80808080u, (8 * spread_2(point >> 8) + shift) ^ 0x80808080u);
}

// d · (2 scale + 1) / 8
struct IQ1_S {
    GRID_BLOCK
    enum : uint { BYTES = 50, OFFSETS = 0 };
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4, uint4) {
        const uint g = 2 * piece + t, high = short_at(b + 34 + 2 * g);
        device const uchar* q = b + 2 + 4 * g;
        const bool less = (high & 0x8000u) != 0;
        const float scale = 0.125f * half_at(b) * float(2 * ((high >> 12) & 7u) + 1);
        return grid_pair(uint4(iq1_run(q[0] | (high & 7u) << 8, less), iq1_run(q[1] | (high >> 3 & 7u) << 8, less)),
                         uint4(iq1_run(q[2] | (high >> 6 & 7u) << 8, less), iq1_run(q[3] | (high >> 9 & 7u) << 8, less)),
                         scale, scale);
    }
};

// The same, of groups of 16; d is in the top nibbles of the four shorts of scales, the lowest first.
struct IQ1_M {
    GRID_BLOCK
    enum : uint { BYTES = 56, OFFSETS = 0 };
    static inline uint2 run(device const uchar* b, uint r) {
        const uint high = uint(b[32 + r / 2]) >> (4 * (r % 2));
        return iq1_run(uint(b[r]) | (high & 7u) << 8, (high & 8u) != 0);
    }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4, uint4) {
        const uint4 s = uint4(short_at(b + 48), short_at(b + 50), short_at(b + 52), short_at(b + 54));
        const uint bits = s.x >> 12 | (s.y >> 8 & 0xf0u) | (s.z >> 4 & 0xf00u) | (s.w & 0xf000u);
        const float d = 0.125f * float(as_type<half>(ushort(bits)));
        const uint r = 8 * piece + 4 * t, scales = s[piece] >> (6 * t);
        return grid_pair(uint4(run(b, r), run(b, r + 1)), uint4(run(b, r + 2), run(b, r + 3)),
                         d * float(2 * (scales & 7u) + 1), d * float(2 * (scales >> 3 & 7u) + 1));
    }
};

// ---- trits, bits, and small floats in fours ----------------------------------------------------------------------------

// Bytes less 1, as signed ones.
inline uint4 less_one(uint4 bytes) { return (bytes + 0x7f7f7f7fu) ^ 0x80808080u; }

// d · (trit − 1). Trit n of a byte is the first digit, base 3, of the byte as a fraction of 256, times 3 to the n. 32 bytes have
// five runs of 32 values, 16 bytes five runs of 16, and 4 bytes the last 16 values.
struct TQ1_0 {
    GRID_BLOCK
    enum : uint { BYTES = 54, OFFSETS = 0 };
    static inline uint4 trits(uint4 bytes, uint4 power) {
        const uint4 even = ((bytes & 0x00ff00ffu) * power) & 0x00ff00ffu;
        const uint4 odd = (((bytes >> 8) & 0x00ff00ffu) * power) & 0x00ff00ffu;
        return less_one((((even * 3u) >> 8) & 0x00030003u) | ((odd * 3u) & 0x03000300u));
    }
    static inline uint4 power(uint n) { return uint4(n == 4 ? 81u : (0x1b090301u >> (8 * n)) & 0xffu); }
    static inline Pair pair(device const uchar* b, uint piece, uint t, uint4, uint4) {
        const uint g = 2 * piece + t;
        const float d = half_at(b + 52);
        if (g < 5) {
            return grid_pair(trits(bytes16_by2(b), power(g)), trits(bytes16_by2(b + 16), power(g)), d, d);
        }
        const uint n = 2 * (g - 5);
        const uint4 q = bytes16_by2(b + 32);
        const uint4 high = g == 7 ? trits(uint4(word_by2(b + 48)), uint4(1, 3, 9, 27)) : trits(q, power(n + 1));
        return grid_pair(trits(q, power(n)), high, d, d);
    }
};

// d · (code − 1), two bits as in Q2_K
struct TQ2_0 {
    LARGE_BLOCK
    NO_HEAD
    SIGNED_BYTES
    enum : uint { BYTES = 66, OFFSETS = 0 };
    static inline uint position(uint piece, uint t, uint run) { return two_bit_position(piece, t, run); }
    static inline uint4 shared(device const uchar* b, uint piece) { return bytes16_by2(b + 16 * piece); }
    static inline Pair pair(device const uchar* b, uint, uint t, uint4, uint4 q) {
        const float d = half_at(b + 64);
        return grid_pair(less_one((q >> (4 * t)) & 0x03030303u), less_one((q >> (4 * t + 2)) & 0x03030303u), d, d);
    }
};

// d or −d
struct Q1_0 {
    NO_HEAD
    NO_SHARED
    SIGNED_BYTES
    enum : uint { LEN = 128, PIECES = 4, PAIRS = 1, BYTES = 18, OFFSETS = 0 };
    static inline uint position(uint piece, uint, uint run) { return 32 * piece + 16 * run; }
    static inline uint4 signs(uint bits) {
        const uint4 four = uint4(bits_to_bytes(bits), bits_to_bytes(bits >> 4), bits_to_bytes(bits >> 8),
                                 bits_to_bytes(bits >> 12));
        return less_one(2u * four);
    }
    static inline Pair pair(device const uchar* b, uint piece, uint, uint4, uint4) {
        const float d = half_at(b);
        return grid_pair(signs(short_at(b + 2 + 4 * piece)), signs(short_at(b + 4 + 4 * piece)), d, d);
    }
};

// e4m3 · e2m1, groups of 16 with 8 bytes each: the first half in low nibbles
struct NVFP4 {
    NO_HEAD
    NO_SHARED
    enum : uint { LEN = 64, PIECES = 2, PAIRS = 1, BYTES = 36, OFFSETS = 0 };
    static inline uint position(uint piece, uint, uint run) { return 32 * piece + 16 * run; }
    static inline float4 codes(uint packed) { return MXFP4::codes(packed); }
    static inline float4 factor() { return float4(1.0f); }
    static inline float small_float(uint bits) {
        const uint exponent = (bits >> 3) & 15u, mantissa = bits & 7u;
        const float normal = as_type<float>((exponent + 120) << 23 | mantissa << 20);
        return bits == 0x7f ? 0.0f : exponent == 0 ? float(mantissa) / 512.0f : normal;
    }
    static inline uint4 group(uint2 q) {
        return uint4(q & 0x0f0f0f0fu, (q >> 4) & 0x0f0f0f0fu);
    }
    static inline Pair pair(device const uchar* b, uint piece, uint, uint4, uint4) {
        const uint4 q = bytes16_by4(b + 4 + 16 * piece);
        return grid_pair(group(q.xy), group(q.zw), small_float(b[2 * piece]), small_float(b[2 * piece + 1]));
    }
};

typedef FORMAT Format;

// Four values of a run.
inline float4 block_values(uint packed, float scale, float offset) {
    return fma(Format::codes(packed) * Format::factor(), float4(scale), float4(offset));
}

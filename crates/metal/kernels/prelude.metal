// What every kernel of Wootz starts with: storage types, and the scalar functions of the engine's IR.
//
// Values are stored in narrow types (half, bf16, uchar, …) and computed with in seven wide ones (bool, int, uint, long, ulong,
// float; no double). `widen` goes from storage to computing, `narrow<T>` back. Integers wrap, so additions pass through unsigned
// types; floats become integers by truncation that saturates; minimum and maximum give NaN if either operand is NaN. Nothing
// here may be compiled with fast maths: comparisons with NaN have to mean what they say.
#include <metal_stdlib>
using namespace metal;

// Before a loop whose counter indexes an array of this thread: accumulators must stay in registers. Apple's front end unrolls nothing by
// itself (in the code that it made of MLX's kernels every such loop and array is still there); the hint is what reaches the GPU's compiler.
#define UNROLL _Pragma("clang loop unroll(full)")

// ---- storage ----------------------------------------------------------------------------------------------------------

// The upper half of a float. The type `bfloat` is not there on all GPUs, and its bits are all that storage needs.
struct bf16 {
    ushort bits;
};

// A truth value in one byte, 0 or 1.
struct truth {
    uchar bits;
};

// A position that a kernel computes from strides counts from an operand's first element, which may not be the lowest: as index_t it
// wraps, as a signed number it is right.
inline int from_first(uint position) { return int(position); }
inline long from_first(ulong position) { return long(position); }

inline float widen(float x) { return x; }
inline float widen(half x) { return float(x); }
inline float widen(bf16 x) { return as_type<float>(uint(x.bits) << 16); }
inline bool widen(truth x) { return x.bits != 0; }
inline uint widen(uchar x) { return uint(x); }
inline uint widen(ushort x) { return uint(x); }
inline uint widen(uint x) { return x; }
inline ulong widen(ulong x) { return x; }
inline int widen(char x) { return int(x); }
inline int widen(short x) { return int(x); }
inline int widen(int x) { return x; }
inline long widen(long x) { return x; }

// To the nearest bf16, ties to even; NaN stays NaN.
inline bf16 round_bf16(float x) {
    uint bits = as_type<uint>(x);
    uint rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    bf16 result;
    result.bits = ushort((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
    return result;
}

template <typename T>
struct Narrow {
    template <typename V>
    static inline T of(V x) {
        return T(x);
    }
};
template <>
struct Narrow<bf16> {
    static inline bf16 of(float x) { return round_bf16(x); }
};
template <>
struct Narrow<truth> {
    static inline truth of(bool x) {
        truth result;
        result.bits = uchar(x);
        return result;
    }
};

template <typename T, typename V>
inline T narrow(V x) {
    return Narrow<T>::of(x);
}

// Four neighbours in one access; `bits` types have vectors of their bits.
template <typename T>
struct Four {
    typedef vec<T, 4> Type;
    static inline T at(Type v, uint i) { return v[i]; }
    static inline void put(thread Type& v, uint i, T x) { v[i] = x; }
};
template <>
struct Four<bf16> {
    typedef ushort4 Type;
    static inline bf16 at(Type v, uint i) {
        bf16 result;
        result.bits = v[i];
        return result;
    }
    static inline void put(thread Type& v, uint i, bf16 x) { v[i] = x.bits; }
};
template <>
struct Four<truth> {
    typedef uchar4 Type;
    static inline truth at(Type v, uint i) {
        truth result;
        result.bits = v[i];
        return result;
    }
    static inline void put(thread Type& v, uint i, truth x) { v[i] = x.bits; }
};

// ---- faults -----------------------------------------------------------------------------------------------------------

// Codes of the engine's faults. The lowest step that faults is the one reported.
constant uint DIVISION_BY_ZERO = 1;
constant uint NEGATIVE_EXPONENT = 2;
constant uint INDEX_OUT_OF_RANGE = 3;

// Where faults are noted, and by which step.
struct Faults {
    device atomic_uint* word;
    uint step;
};

inline void raise(Faults faults, uint code) {
    atomic_fetch_min_explicit(faults.word, faults.step << 4 | code, memory_order_relaxed);
}

// ---- conversions ------------------------------------------------------------------------------------------------------

inline int to_int(float x) {
    return x != x ? 0 : x >= 2147483648.0f ? 0x7fffffff : x <= -2147483648.0f ? int(0x80000000u) : int(x);
}
inline uint to_uint(float x) { return !(x > 0.0f) ? 0u : x >= 4294967296.0f ? 0xffffffffu : uint(x); }
inline long to_long(float x) {
    return x != x                        ? 0
           : x >= 9223372036854775808.0f ? long(0x7fffffffffffffffUL)
           : x <= -9223372036854775808.0f ? long(0x8000000000000000UL)
                                          : long(x);
}
inline ulong to_ulong(float x) {
    return !(x > 0.0f) ? 0UL : x >= 18446744073709551616.0f ? 0xffffffffffffffffUL : ulong(x);
}

// ---- integers ---------------------------------------------------------------------------------------------------------

// Arithmetic that wraps is done in the unsigned type of the same width.
template <typename T>
struct Unsigned {
    typedef T Type;
};
template <>
struct Unsigned<int> {
    typedef uint Type;
};
template <>
struct Unsigned<long> {
    typedef ulong Type;
};

template <typename T>
inline T floor_div(T a, T b, Faults faults) {
    if (b == T(0)) {
        raise(faults, DIVISION_BY_ZERO);
        return T(0);
    }
    if (T(-1) < T(0) && b == T(-1)) {
        // The most negative number has no opposite: it wraps to itself.
        typedef typename Unsigned<T>::Type U;
        return T(U(0) - U(a));
    }
    T quotient = a / b;
    return quotient - T(a % b != T(0) && (a < T(0)) != (b < T(0)));
}

template <typename T>
inline T floor_rem(T a, T b, Faults faults) {
    if (b == T(0)) {
        raise(faults, DIVISION_BY_ZERO);
        return T(0);
    }
    if (T(-1) < T(0) && b == T(-1)) {
        return T(0);
    }
    T rest = a % b;
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest;
}

template <typename U>
inline U unsigned_pow(U base, U exponent) {
    U result = U(1);
    while (exponent != U(0)) {
        result = (exponent & U(1)) != U(0) ? U(result * base) : result;
        base = U(base * base);
        exponent = exponent >> 1;
    }
    return result;
}

template <typename T>
inline T integer_pow(T base, T exponent, Faults faults) {
    typedef typename Unsigned<T>::Type U;
    if (exponent < T(0)) {
        raise(faults, NEGATIVE_EXPONENT);
        return T(0);
    }
    return T(unsigned_pow(U(base), U(exponent)));
}

template <typename T>
inline T shift_left(T a, T count) {
    typedef typename Unsigned<T>::Type U;
    return U(count) < U(8 * sizeof(T)) ? T(U(a) << U(count)) : T(0);
}

// Counts beyond the width leave the sign.
template <typename T>
inline T shift_right(T a, T count) {
    typedef typename Unsigned<T>::Type U;
    U last = U(8 * sizeof(T) - 1);
    if (U(count) <= last) {
        return a >> U(count);
    }
    return T(-1) < T(0) ? a >> last : T(0);
}

// ---- floats -----------------------------------------------------------------------------------------------------------

inline float nan_min(float a, float b) { return a != a ? a : b != b ? b : fmin(a, b); }
inline float nan_max(float a, float b) { return a != a ? a : b != b ? b : fmax(a, b); }

// exp(x) − 1 = (u − 1)·x/ln(u) with u = exp(x): what rounding did to u cancels.
inline float exp_minus_one(float x) {
    float u = exp(x);
    if (fabs(x) > 1.0f) {
        return u - 1.0f;
    }
    return u == 1.0f ? x : (u - 1.0f) * x / log(u);
}

// ln(1 + x) = ln(u)·x/(u − 1) with u = 1 + x, likewise.
inline float log_one_plus(float x) {
    float u = 1.0f + x;
    if (u == 1.0f || x == INFINITY) {
        return x;
    }
    return log(u) * (x / (u - 1.0f));
}

// A polynomial in x² near zero; further out 1 − exp(p(|x|)) with a polynomial for ln(erfc). Fitted for this engine.
inline float error_function(float x) {
    float a = fabs(x);
    float s = x * x;
    float p = 8.377591439e-05f;
    p = fma(p, s, -8.145080646e-04f);
    p = fma(p, s, 5.201305263e-03f);
    p = fma(p, s, -2.685953863e-02f);
    p = fma(p, s, 1.128369868e-01f);
    p = fma(p, s, -3.761263490e-01f);
    p = fma(p, s, 1.283791661e-01f);
    float near = fma(x, p, x);
    float c = fmin(a, 3.95f);
    float q = -2.116242831e-05f;
    q = fma(q, c, 4.352246760e-04f);
    q = fma(q, c, -4.174669739e-03f);
    q = fma(q, c, 2.512869239e-02f);
    q = fma(q, c, -1.082940474e-01f);
    q = fma(q, c, -6.333345771e-01f);
    q = fma(q, c, -1.129520893e+00f);
    q = fma(q, c, 1.758835715e-04f);
    float far = copysign(1.0f - exp(q), x);
    return a > 0.921875f ? far : near;
}

inline float hypotenuse(float a, float b) {
    a = fabs(a);
    b = fabs(b);
    if (a == INFINITY || b == INFINITY) {
        return INFINITY;
    }
    float large = nan_max(a, b), small = nan_min(a, b);
    float ratio = small / large;
    return large == 0.0f ? 0.0f : large * sqrt(fma(ratio, ratio, 1.0f));
}

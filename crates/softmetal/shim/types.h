// Scalar types: sized names, half, and bfloat as a class (clang has no conversion between __bf16 and _Float16).
#pragma once

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;
typedef _Float16 half;

namespace softmetal {
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <class T> struct is_builtin_arithmetic { static constexpr bool value = false; };
#define SOFTMETAL_ARITHMETIC(T) \
  template <> struct is_builtin_arithmetic<T> { static constexpr bool value = true; };
SOFTMETAL_ARITHMETIC(bool) SOFTMETAL_ARITHMETIC(char) SOFTMETAL_ARITHMETIC(signed char) SOFTMETAL_ARITHMETIC(uchar)
SOFTMETAL_ARITHMETIC(short) SOFTMETAL_ARITHMETIC(ushort) SOFTMETAL_ARITHMETIC(int) SOFTMETAL_ARITHMETIC(uint)
SOFTMETAL_ARITHMETIC(long) SOFTMETAL_ARITHMETIC(ulong) SOFTMETAL_ARITHMETIC(long long) SOFTMETAL_ARITHMETIC(unsigned long long)
SOFTMETAL_ARITHMETIC(half) SOFTMETAL_ARITHMETIC(float) SOFTMETAL_ARITHMETIC(double)
#undef SOFTMETAL_ARITHMETIC
} // namespace softmetal

struct bfloat {
  ushort bits;
  bfloat() = default;
  constexpr bfloat(float value) : bits(round(__builtin_bit_cast(uint, value))) {}
  template <class T, class = typename softmetal::enable_if<softmetal::is_builtin_arithmetic<T>::value>::type>
  constexpr bfloat(T value) : bfloat(static_cast<float>(value)) {}
  constexpr operator float() const { return __builtin_bit_cast(float, uint(bits) << 16); }

  // Round to nearest even; a NaN stays a quiet NaN.
  static constexpr ushort round(uint u) {
    return (u & 0x7fffffffu) > 0x7f800000u ? ushort((u >> 16) | 0x40u) : ushort((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  constexpr bfloat operator-() const { return from_bits(bits ^ 0x8000); }
  static constexpr bfloat from_bits(ushort b) {
    bfloat r(0.0f);
    r.bits = b;
    return r;
  }
  bfloat &operator++() { return *this = bfloat(float(*this) + 1.0f); }
  bfloat &operator--() { return *this = bfloat(float(*this) - 1.0f); }
};

// bfloat with bfloat or an integer gives bfloat; with float or half it gives the wider type through operator float.
namespace softmetal {
template <class T> struct bfloat_partner {
  static constexpr bool value = is_builtin_arithmetic<T>::value && !__is_same(T, float) && !__is_same(T, double) && !__is_same(T, half);
};
} // namespace softmetal
#define SOFTMETAL_BF_OP(op)                                                                                              \
  constexpr bfloat operator op(bfloat a, bfloat b) { return bfloat(float(a) op float(b)); }                             \
  template <class T> constexpr typename softmetal::enable_if<softmetal::bfloat_partner<T>::value, bfloat>::type         \
  operator op(bfloat a, T b) { return bfloat(float(a) op float(b)); }                                                   \
  template <class T> constexpr typename softmetal::enable_if<softmetal::bfloat_partner<T>::value, bfloat>::type         \
  operator op(T a, bfloat b) { return bfloat(float(a) op float(b)); }                                                   \
  template <class T> inline bfloat &operator op##=(bfloat &a, T b) { return a = bfloat(float(a) op float(b)); }
SOFTMETAL_BF_OP(+) SOFTMETAL_BF_OP(-) SOFTMETAL_BF_OP(*) SOFTMETAL_BF_OP(/)
#undef SOFTMETAL_BF_OP
#define SOFTMETAL_BF_COMPARE(op) \
  constexpr bool operator op(bfloat a, bfloat b) { return float(a) op float(b); }
SOFTMETAL_BF_COMPARE(==) SOFTMETAL_BF_COMPARE(!=) SOFTMETAL_BF_COMPARE(<) SOFTMETAL_BF_COMPARE(>)
SOFTMETAL_BF_COMPARE(<=) SOFTMETAL_BF_COMPARE(>=)
#undef SOFTMETAL_BF_COMPARE

constexpr half operator""h(long double v) { return half(v); }
constexpr half operator""h(unsigned long long v) { return half(v); }
constexpr half operator""H(long double v) { return half(v); }
constexpr bfloat operator""bf(long double v) { return bfloat(float(v)); }
constexpr bfloat operator""BF(long double v) { return bfloat(float(v)); }

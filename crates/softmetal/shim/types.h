// Scalar types: sized names, half and bfloat.
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
SOFTMETAL_ARITHMETIC(half) SOFTMETAL_ARITHMETIC(__bf16) SOFTMETAL_ARITHMETIC(float) SOFTMETAL_ARITHMETIC(double)
#undef SOFTMETAL_ARITHMETIC
} // namespace softmetal

typedef __bf16 bfloat;

namespace softmetal {
// static_cast, except that clang has no conversion between half and bfloat: that one goes through float.
template <class A, class B> struct is_half_bfloat {
  static constexpr bool value = (__is_same(A, half) && __is_same(B, bfloat)) || (__is_same(A, bfloat) && __is_same(B, half));
};
template <class To, class From> constexpr __attribute__((always_inline)) inline To cast(From &&v) {
  if constexpr (is_half_bfloat<__remove_cvref(To), __remove_cvref(From)>::value) return static_cast<To>(static_cast<float>(v));
  else return static_cast<To>(static_cast<From &&>(v));
}
} // namespace softmetal

#ifdef __x86_64__
// What clang calls to round a float to bfloat; old runtime libraries lack it. To nearest even; a NaN stays quiet.
extern "C" __attribute__((visibility("hidden"), used, no_sanitize("thread"))) bfloat __truncsfbf2(float value) {
  uint u = __builtin_bit_cast(uint, value);
  ushort r = (u & 0x7fffffffu) > 0x7f800000u ? ushort((u >> 16) | 0x40u) : ushort((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  return __builtin_bit_cast(bfloat, r);
}
#endif

constexpr half operator""h(long double v) { return half(v); }
constexpr half operator""h(unsigned long long v) { return half(v); }
constexpr half operator""H(long double v) { return half(v); }
constexpr bfloat operator""bf(long double v) { return bfloat(float(v)); }
constexpr bfloat operator""BF(long double v) { return bfloat(float(v)); }

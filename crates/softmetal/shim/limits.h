// metal_limits.
#pragma once

namespace metal {
template <class T> struct _numeric_limits_impl {
  static constexpr bool is_specialized = false;
};
template <class T> struct numeric_limits : _numeric_limits_impl<__remove_cv(T)> {};

#define SOFTMETAL_INTEGER(T, low, high)                                                                             \
  template <> struct _numeric_limits_impl<T> {                                                                      \
    static constexpr bool is_specialized = true, is_signed = static_cast<T>(-1) < static_cast<T>(0), is_integer = true, is_exact = true;      \
    static constexpr bool has_infinity = false, has_quiet_NaN = false, has_denorm = false;                          \
    static constexpr int radix = 2, digits = sizeof(T) * 8 - is_signed, digits10 = digits * 3 / 10;                 \
    static constexpr T min() { return low; }                                                                        \
    static constexpr T lowest() { return low; }                                                                     \
    static constexpr T max() { return high; }                                                                       \
    static constexpr T epsilon() { return static_cast<T>(0); }                                                                   \
    static constexpr T infinity() { return static_cast<T>(0); }                                                                  \
    static constexpr T quiet_NaN() { return static_cast<T>(0); }                                                                 \
    static constexpr T denorm_min() { return static_cast<T>(0); }                                                                \
  };
SOFTMETAL_INTEGER(bool, false, true)
SOFTMETAL_INTEGER(char, -128, 127)
SOFTMETAL_INTEGER(signed char, -128, 127)
SOFTMETAL_INTEGER(uchar, 0, 255)
SOFTMETAL_INTEGER(short, -32768, 32767)
SOFTMETAL_INTEGER(ushort, 0, 65535)
SOFTMETAL_INTEGER(int, -2147483647 - 1, 2147483647)
SOFTMETAL_INTEGER(uint, 0, 4294967295u)
SOFTMETAL_INTEGER(long, -9223372036854775807l - 1, 9223372036854775807l)
SOFTMETAL_INTEGER(ulong, 0, 18446744073709551615ul)
SOFTMETAL_INTEGER(long long, -9223372036854775807ll - 1, 9223372036854775807ll)
SOFTMETAL_INTEGER(unsigned long long, 0, 18446744073709551615ull)
#undef SOFTMETAL_INTEGER

#define SOFTMETAL_FLOAT(T, B, bits_min, bits_max, bits_epsilon, bits_infinity, bits_nan, mantissa, e10, e2)         \
  template <> struct _numeric_limits_impl<T> {                                                                      \
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;            \
    static constexpr bool has_infinity = true, has_quiet_NaN = true, has_denorm = true, is_iec559 = true;           \
    static constexpr int radix = 2, digits = mantissa, digits10 = (mantissa - 1) * 3 / 10;                          \
    static constexpr int max_exponent = e2, max_exponent10 = e10;                                                   \
    static constexpr T min() { return __builtin_bit_cast(T, B(bits_min)); }                                         \
    static constexpr T max() { return __builtin_bit_cast(T, B(bits_max)); }                                         \
    static constexpr T lowest() { return -max(); }                                                                  \
    static constexpr T epsilon() { return __builtin_bit_cast(T, B(bits_epsilon)); }                                 \
    static constexpr T infinity() { return __builtin_bit_cast(T, B(bits_infinity)); }                               \
    static constexpr T quiet_NaN() { return __builtin_bit_cast(T, B(bits_nan)); }                                   \
    static constexpr T signaling_NaN() { return __builtin_bit_cast(T, B(bits_nan)); }                               \
    static constexpr T denorm_min() { return __builtin_bit_cast(T, B(1)); }                                         \
    static constexpr T round_error() { return T(0.5f); }                                                            \
  };
SOFTMETAL_FLOAT(float, uint, 0x00800000, 0x7f7fffff, 0x34000000, 0x7f800000, 0x7fc00000, 24, 38, 128)
SOFTMETAL_FLOAT(half, ushort, 0x0400, 0x7bff, 0x1400, 0x7c00, 0x7e00, 11, 4, 16)
SOFTMETAL_FLOAT(bfloat, ushort, 0x0080, 0x7f7f, 0x3c00, 0x7f80, 0x7fc0, 8, 38, 128)
#undef SOFTMETAL_FLOAT
} // namespace metal

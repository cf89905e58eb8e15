// metal_math, metal_common, metal_relational: libm results; those of fast maths are as far off as approximate.h says.
#pragma once

namespace metal {

#define SOFTMETAL_INLINE inline __attribute__((always_inline))

// Apple has no maths of bfloat: an argument becomes a float. The functions that do so here are templates, so that a program's own wins.
template <class T> using _if_bfloat = enable_if_t<_is_bfloat<T>::value>;
// One float function gives the half one, and all vectors.
#define SOFTMETAL_MATH1(name, expression)                                                                              \
  SOFTMETAL_INLINE float name(float x) { return expression; }                                                          \
  SOFTMETAL_INLINE half name(half x) { return half(name(float(x))); }                                                  \
  template <class B, class = _if_bfloat<B>> SOFTMETAL_INLINE float name(B x) { return name(float(x)); }                 \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(vec<T, N> x) {                                        \
    return _map([](T a) { return T(name(a)); }, x);                                                                     \
  }
#define SOFTMETAL_MATH2(name, expression)                                                                              \
  SOFTMETAL_INLINE float name(float x, float y) { return expression; }                                                 \
  SOFTMETAL_INLINE half name(half x, half y) { return half(name(float(x), float(y))); }                                \
  template <class B, class = _if_bfloat<B>> SOFTMETAL_INLINE float name(B x, B y) { return name(float(x), float(y)); }  \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(vec<T, N> x, vec<T, N> y) {                           \
    return _map([](T a, T b) { return T(name(a, b)); }, x, y);                                                          \
  }                                                                                                                    \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(vec<T, N> x, make_scalar_t<vec<T, N>> y) { return name(x, vec<T, N>(y)); } \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(make_scalar_t<vec<T, N>> x, vec<T, N> y) { return name(vec<T, N>(x), y); } \
  template <class I, class = enable_if_t<is_integral<I>::value>> SOFTMETAL_INLINE float name(I x, float y) { return name(float(x), y); } \
  template <class I, class = enable_if_t<is_integral<I>::value>> SOFTMETAL_INLINE float name(float x, I y) { return name(x, float(y)); } \
  template <class I, class = enable_if_t<is_integral<I>::value>> SOFTMETAL_INLINE half name(I x, half y) { return name(half(x), y); } \
  template <class I, class = enable_if_t<is_integral<I>::value>> SOFTMETAL_INLINE half name(half x, I y) { return name(x, half(y)); }
#define SOFTMETAL_MATH3(name, expression)                                                                              \
  SOFTMETAL_INLINE float name(float x, float y, float z) { return expression; }                                        \
  SOFTMETAL_INLINE half name(half x, half y, half z) { return half(name(float(x), float(y), float(z))); }              \
  template <class B, class = _if_bfloat<B>> SOFTMETAL_INLINE float name(B x, B y, B z) { return name(float(x), float(y), float(z)); } \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(vec<T, N> x, vec<T, N> y, vec<T, N> z) {              \
    return _map([](T a, T b, T c) { return T(name(a, b, c)); }, x, y, z);                                               \
  }

SOFTMETAL_INLINE float _sinpi(float x) {
  float r = __builtin_fmodf(x, 2.0f);
  return r == 0.0f || r == 1.0f || r == -1.0f ? 0.0f * x : __builtin_sinf(3.14159265358979323846f * r);
}
SOFTMETAL_INLINE float _cospi(float x) {
  float r = __builtin_fabsf(__builtin_fmodf(x, 2.0f));
  return r == 0.5f || r == 1.5f ? 0.0f : __builtin_cosf(3.14159265358979323846f * r);
}

#define SOFTMETAL_MATH_TABLE(F)                                                                                        \
  SOFTMETAL_MATH1(acos, F##OFF(__builtin_acosf(x), 5.0f)) SOFTMETAL_MATH1(acosh, F##OFF(__builtin_acoshf(x), 5.0f))    \
  SOFTMETAL_MATH1(asin, F##OFF(__builtin_asinf(x), 5.0f)) SOFTMETAL_MATH1(asinh, F##OFF(__builtin_asinhf(x), 5.0f))    \
  SOFTMETAL_MATH1(atan, F##OFF(__builtin_atanf(x), 5.0f)) SOFTMETAL_MATH1(atanh, F##OFF(__builtin_atanhf(x), 5.0f))    \
  SOFTMETAL_MATH1(ceil, __builtin_ceilf(x)) SOFTMETAL_MATH1(cos, F##NEAR(__builtin_cosf(x), 0x1p-13f)) \
  SOFTMETAL_MATH1(cosh, F##OFF(__builtin_coshf(x), 5.0f)) SOFTMETAL_MATH1(cospi, F##NEAR(_cospi(x), 0x1p-13f)) \
  SOFTMETAL_MATH1(exp, F##EXP(__builtin_expf(x))) SOFTMETAL_MATH1(exp2, F##EXP(__builtin_exp2f(x)))                    \
  SOFTMETAL_MATH1(exp10, F##EXP(__builtin_powf(10.0f, x))) SOFTMETAL_MATH1(fabs, __builtin_fabsf(x))                   \
  SOFTMETAL_MATH1(floor, __builtin_floorf(x)) SOFTMETAL_MATH1(fract, __builtin_fminf(x - __builtin_floorf(x), 0x1.fffffep-1f))\
  SOFTMETAL_MATH1(log, F##LOG(__builtin_logf(x), 0x1p-21f, 3.0f)) SOFTMETAL_MATH1(log2, F##LOG(__builtin_log2f(x), 0x1p-22f, 2.0f))\
  SOFTMETAL_MATH1(log10, F##LOG(__builtin_log10f(x), 0x1p-23f, 3.0f)) SOFTMETAL_MATH1(rint, __builtin_rintf(x))        \
  SOFTMETAL_MATH1(round, __builtin_roundf(x)) SOFTMETAL_MATH1(rsqrt, F##OFF(1.0f / __builtin_sqrtf(x), 2.0f))          \
  SOFTMETAL_MATH1(sin, F##NEAR(__builtin_sinf(x), 0x1p-13f)) SOFTMETAL_MATH1(sinh, F##OFF(__builtin_sinhf(x), 5.0f))\
  SOFTMETAL_MATH1(sinpi, F##NEAR(_sinpi(x), 0x1p-13f)) SOFTMETAL_MATH1(sqrt, F##OFF(__builtin_sqrtf(x), 2.0f)) \
  SOFTMETAL_MATH1(tan, F##OFF(__builtin_tanf(x), 8.0f)) SOFTMETAL_MATH1(tanh, F##OFF(__builtin_tanhf(x), 5.0f))        \
  SOFTMETAL_MATH1(tanpi, F##OFF(_sinpi(x) / _cospi(x), 8.0f)) SOFTMETAL_MATH1(trunc, __builtin_truncf(x))                            \
  SOFTMETAL_MATH1(saturate, __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f))                                           \
  SOFTMETAL_MATH2(atan2, F##OFF(__builtin_atan2f(x, y), 6.0f)) SOFTMETAL_MATH2(copysign, __builtin_copysignf(x, y))    \
  SOFTMETAL_MATH2(fdim, __builtin_fdimf(x, y)) SOFTMETAL_MATH2(fmax, __builtin_fmaxf(x, y))                            \
  SOFTMETAL_MATH2(fmin, __builtin_fminf(x, y)) SOFTMETAL_MATH2(fmod, __builtin_fmodf(x, y))                            \
  SOFTMETAL_MATH2(pow, F##POW(__builtin_powf(x, y))) SOFTMETAL_MATH2(powr, F##POW(__builtin_powf(x, y)))               \
  SOFTMETAL_MATH2(divide, F##OFF(x / y, 2.0f))                                                                         \
  SOFTMETAL_MATH3(fma, __builtin_fmaf(x, y, z))                                                                        \
  SOFTMETAL_MATH3(fmax3, __builtin_fmaxf(x, __builtin_fmaxf(y, z)))                                                    \
  SOFTMETAL_MATH3(fmin3, __builtin_fminf(x, __builtin_fminf(y, z)))                                                    \
  SOFTMETAL_MATH3(fmedian3, __builtin_fmaxf(__builtin_fminf(x, y), __builtin_fminf(__builtin_fmaxf(x, y), z)))

#ifdef SOFTMETAL_FAST_MATH
SOFTMETAL_MATH_TABLE(SOFTMETAL_FAST_)
#else
SOFTMETAL_MATH_TABLE(SOFTMETAL_EXACT_)
#endif

// nextafter steps through the numbers of its own type, so half and bfloat cannot go through float.
SOFTMETAL_INLINE float nextafter(float x, float y) { return __builtin_nextafterf(x, y); }
#define SOFTMETAL_IF_BFLOAT(T) template <class T, class = _if_bfloat<T>>
#define SOFTMETAL_NEXT(T, head)                                                                                        \
  head SOFTMETAL_INLINE T nextafter(T x, T y) {                                                                             \
    if (x != x || y != y) return x + y;                                                                                \
    if (x == y) return y;                                                                                              \
    ushort b = __builtin_bit_cast(ushort, x);                                                                          \
    if ((b & 0x7fff) == 0) return __builtin_bit_cast(T, ushort(y < x ? 0x8001 : 1));                                   \
    return __builtin_bit_cast(T, ushort((x < y) == !(b & 0x8000) ? b + 1 : b - 1));                                    \
  }
SOFTMETAL_NEXT(half, ) SOFTMETAL_NEXT(B, SOFTMETAL_IF_BFLOAT(B))
#undef SOFTMETAL_NEXT
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> nextafter(vec<T, N> x, vec<T, N> y) {
  return _map([](T a, T b) { return nextafter(a, b); }, x, y);
}

#define SOFTMETAL_ONE(T)                                                                                               \
  SOFTMETAL_INLINE T min(T x, T y) { return y < x ? y : x; }                                                           \
  SOFTMETAL_INLINE T max(T x, T y) { return x < y ? y : x; }                                                           \
  SOFTMETAL_INLINE T clamp(T x, T lo, T hi) { return min(max(x, lo), hi); }                                            \
  SOFTMETAL_INLINE T min3(T x, T y, T z) { return min(x, min(y, z)); }                                                 \
  SOFTMETAL_INLINE T max3(T x, T y, T z) { return max(x, max(y, z)); }                                                 \
  SOFTMETAL_INLINE T median3(T x, T y, T z) { return max(min(x, y), min(max(x, y), z)); }
SOFTMETAL_ONE(char) SOFTMETAL_ONE(int8_t) SOFTMETAL_ONE(uchar) SOFTMETAL_ONE(short) SOFTMETAL_ONE(ushort) SOFTMETAL_ONE(int) SOFTMETAL_ONE(uint)
SOFTMETAL_ONE(long) SOFTMETAL_ONE(ulong)
#undef SOFTMETAL_ONE
template <class T, class = _if_bfloat<T>> SOFTMETAL_INLINE float min(T x, T y) { return __builtin_fminf(x, y); }
template <class T, class = _if_bfloat<T>> SOFTMETAL_INLINE float max(T x, T y) { return __builtin_fmaxf(x, y); }
template <class T, class = _if_bfloat<T>> SOFTMETAL_INLINE float clamp(T x, T lo, T hi) { return __builtin_fminf(__builtin_fmaxf(x, lo), hi); }
template <class T, class = _if_bfloat<T>> SOFTMETAL_INLINE float min3(T x, T y, T z) { return __builtin_fminf(x, __builtin_fminf(y, z)); }
template <class T, class = _if_bfloat<T>> SOFTMETAL_INLINE float max3(T x, T y, T z) { return __builtin_fmaxf(x, __builtin_fmaxf(y, z)); }
template <class T, class = _if_bfloat<T>> SOFTMETAL_INLINE float median3(T x, T y, T z) { return fmedian3(float(x), float(y), float(z)); }
// For floats, min and max ignore a NaN, as fmin and fmax do.
#define SOFTMETAL_ONE(T)                                                                                               \
  SOFTMETAL_INLINE T min(T x, T y) { return fmin(x, y); }                                                              \
  SOFTMETAL_INLINE T max(T x, T y) { return fmax(x, y); }                                                              \
  SOFTMETAL_INLINE T clamp(T x, T lo, T hi) { return fmin(fmax(x, lo), hi); }                                          \
  SOFTMETAL_INLINE T min3(T x, T y, T z) { return fmin(x, fmin(y, z)); }                                               \
  SOFTMETAL_INLINE T max3(T x, T y, T z) { return fmax(x, fmax(y, z)); }                                               \
  SOFTMETAL_INLINE T median3(T x, T y, T z) { return fmax(fmin(x, y), fmin(fmax(x, y), z)); }
SOFTMETAL_ONE(float) SOFTMETAL_ONE(half)
#undef SOFTMETAL_ONE

#define SOFTMETAL_VEC2(name)                                                                                           \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(vec<T, N> x, vec<T, N> y) {                           \
    return _map([](T a, T b) { return T(name(a, b)); }, x, y);                                                          \
  }                                                                                                                    \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(vec<T, N> x, make_scalar_t<vec<T, N>> y) {            \
    return name(x, vec<T, N>(y));                                                                                      \
  }                                                                                                                    \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(make_scalar_t<vec<T, N>> x, vec<T, N> y) {            \
    return name(vec<T, N>(x), y);                                                                                      \
  }
#define SOFTMETAL_VEC3(name)                                                                                           \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(vec<T, N> x, vec<T, N> y, vec<T, N> z) {              \
    return _map([](T a, T b, T c) { return T(name(a, b, c)); }, x, y, z);                                               \
  }
// Apple's are overloads for each vector, so a scalar beside a vector becomes one.
#define SOFTMETAL_MIXED(name, X, Y, Z)                                                                                 \
  template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> name(X x, Y y, Z z) { return name(vec<T, N>(x), vec<T, N>(y), vec<T, N>(z)); }
#define SOFTMETAL_V vec<T, N>
#define SOFTMETAL_S make_scalar_t<vec<T, N>>
#define SOFTMETAL_MIXED3(name)                                                                                         \
  SOFTMETAL_MIXED(name, SOFTMETAL_S, SOFTMETAL_V, SOFTMETAL_V) SOFTMETAL_MIXED(name, SOFTMETAL_V, SOFTMETAL_S, SOFTMETAL_V) \
  SOFTMETAL_MIXED(name, SOFTMETAL_V, SOFTMETAL_V, SOFTMETAL_S) SOFTMETAL_MIXED(name, SOFTMETAL_S, SOFTMETAL_S, SOFTMETAL_V) \
  SOFTMETAL_MIXED(name, SOFTMETAL_S, SOFTMETAL_V, SOFTMETAL_S) SOFTMETAL_MIXED(name, SOFTMETAL_V, SOFTMETAL_S, SOFTMETAL_S)
SOFTMETAL_VEC2(min) SOFTMETAL_VEC2(max) SOFTMETAL_VEC3(clamp) SOFTMETAL_VEC3(min3) SOFTMETAL_VEC3(max3) SOFTMETAL_VEC3(median3)
SOFTMETAL_MIXED3(clamp) SOFTMETAL_MIXED3(min3) SOFTMETAL_MIXED3(max3) SOFTMETAL_MIXED3(median3) SOFTMETAL_MIXED3(fma)
SOFTMETAL_MIXED3(fmin3) SOFTMETAL_MIXED3(fmax3) SOFTMETAL_MIXED3(fmedian3)

SOFTMETAL_INLINE float abs(float x) { return __builtin_fabsf(x); }
SOFTMETAL_INLINE half abs(half x) { return half(__builtin_fabsf(float(x))); }
template <class T, class = _if_bfloat<T>> SOFTMETAL_INLINE float abs(T x) { return __builtin_fabsf(float(x)); }
#define SOFTMETAL_ONE(T, U) \
  SOFTMETAL_INLINE T abs(T x) { return x < 0 ? T(U(0) - U(x)) : x; }
SOFTMETAL_ONE(char, uchar) SOFTMETAL_ONE(int8_t, uchar) SOFTMETAL_ONE(short, ushort) SOFTMETAL_ONE(int, uint) SOFTMETAL_ONE(long, ulong)
SOFTMETAL_INLINE uchar abs(uchar x) { return x; }
SOFTMETAL_INLINE ushort abs(ushort x) { return x; }
SOFTMETAL_INLINE uint abs(uint x) { return x; }
SOFTMETAL_INLINE ulong abs(ulong x) { return x; }
#undef SOFTMETAL_ONE
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> abs(vec<T, N> x) { return _map([](T a) { return T(abs(a)); }, x); }

#define SOFTMETAL_ONE(T, head)                                                                                               \
  head SOFTMETAL_INLINE T mix(T x, T y, T a) { return x + (y - x) * a; }                                                    \
  head SOFTMETAL_INLINE T step(T edge, T x) { return x < edge ? T(0) : T(1); }                                              \
  head SOFTMETAL_INLINE T sign(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? x : T(0); }                   \
  head SOFTMETAL_INLINE T smoothstep(T e0, T e1, T x) {                                                                     \
    T t = clamp((x - e0) / (e1 - e0), T(0), T(1));                                                                     \
    return t * t * (T(3) - T(2) * t);                                                                                  \
  }                                                                                                                    \
  head SOFTMETAL_INLINE T degrees(T r) { return T(float(r) * 57.295779513082320877f); }                                     \
  head SOFTMETAL_INLINE T radians(T d) { return T(float(d) * 0.017453292519943295769f); }                                   \
  head SOFTMETAL_INLINE bool isnan(T x) { return x != x; }                                                                  \
  head SOFTMETAL_INLINE bool isinf(T x) { return abs(x) == T(__builtin_inff()); }                                           \
  head SOFTMETAL_INLINE bool isfinite(T x) { return abs(x) < T(__builtin_inff()); }                                         \
  head SOFTMETAL_INLINE bool isnormal(T x) { return isfinite(x) && abs(x) >= numeric_limits<T>::min(); }                    \
  head SOFTMETAL_INLINE bool isordered(T x, T y) { return x == x && y == y; }                                               \
  head SOFTMETAL_INLINE bool isunordered(T x, T y) { return x != x || y != y; }                                             \
  head SOFTMETAL_INLINE T ldexp(T x, int k) { return T(__builtin_ldexpf(float(x), k)); }                                    \
  head SOFTMETAL_INLINE int ilogb(T x) { return __builtin_ilogbf(float(x)); }                                               \
  head SOFTMETAL_INLINE T frexp(T x, int &e) { return T(__builtin_frexpf(float(x), &e)); }                                  \
  head SOFTMETAL_INLINE T modf(T x, T &whole) { whole = trunc(x); return isinf(x) ? copysign(T(0), x) : copysign(x - whole, x); } \
  head SOFTMETAL_INLINE T sincos(T x, T &c) { c = cos(x); return sin(x); }
SOFTMETAL_ONE(float, ) SOFTMETAL_ONE(half, ) SOFTMETAL_ONE(B, SOFTMETAL_IF_BFLOAT(B))
#undef SOFTMETAL_ONE
SOFTMETAL_INLINE bool signbit(float x) { return __builtin_bit_cast(uint, x) >> 31; }
SOFTMETAL_INLINE bool signbit(half x) { return __builtin_bit_cast(ushort, x) >> 15; }
template <class B, class = _if_bfloat<B>> SOFTMETAL_INLINE bool signbit(B x) { return __builtin_bit_cast(ushort, x) >> 15; }

SOFTMETAL_VEC3(mix) SOFTMETAL_VEC3(smoothstep) SOFTMETAL_VEC2(step)
SOFTMETAL_MIXED3(mix) SOFTMETAL_MIXED3(smoothstep)
#define SOFTMETAL_VEC1(name) \
  template <class T, unsigned N> SOFTMETAL_INLINE auto name(vec<T, N> x) { return _map([](T a) { return name(a); }, x); }
SOFTMETAL_VEC1(sign) SOFTMETAL_VEC1(degrees) SOFTMETAL_VEC1(radians) SOFTMETAL_VEC1(isnan) SOFTMETAL_VEC1(isinf) SOFTMETAL_VEC1(isfinite)
SOFTMETAL_VEC1(isnormal) SOFTMETAL_VEC1(signbit) SOFTMETAL_VEC1(ilogb)
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> ldexp(vec<T, N> x, vec<int, N> k) {
  return _map([](T a, int b) { return ldexp(a, b); }, x, k);
}
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> sincos(vec<T, N> x, vec<T, N> &c) {
  c = cos(x);
  return sin(x);
}
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> modf(vec<T, N> x, vec<T, N> &whole) {
  vec<T, N> r;
  for (unsigned i = 0; i < N; i++) r[i] = modf(x[i], whole[i]);
  return r;
}
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> frexp(vec<T, N> x, vec<int, N> &e) {
  vec<T, N> r;
  for (unsigned i = 0; i < N; i++) r[i] = frexp(x[i], e[i]);
  return r;
}
template <class T, unsigned N> SOFTMETAL_INLINE vec<bool, N> isordered(vec<T, N> x, vec<T, N> y) { return x == x && y == y; }
template <class T, unsigned N> SOFTMETAL_INLINE vec<bool, N> isunordered(vec<T, N> x, vec<T, N> y) { return x != x || y != y; }

template <class T, class = enable_if_t<is_arithmetic<T>::value>> SOFTMETAL_INLINE T select(T a, T b, bool c) { return c ? b : a; }
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
  return _map([](T x, T y, bool k) { return k ? y : x; }, a, b, c);
}
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> select(vec<T, N> a, vec<T, N> b, bool c) { return c ? b : a; }
SOFTMETAL_INLINE bool all(bool a) { return a; }
SOFTMETAL_INLINE bool any(bool a) { return a; }
SOFTMETAL_INLINE bool all(bool2 a) { return a.x && a.y; }
SOFTMETAL_INLINE bool all(bool3 a) { return a.x && a.y && a.z; }
SOFTMETAL_INLINE bool all(bool4 a) { return a.x && a.y && a.z && a.w; }
SOFTMETAL_INLINE bool any(bool2 a) { return a.x || a.y; }
SOFTMETAL_INLINE bool any(bool3 a) { return a.x || a.y || a.z; }
SOFTMETAL_INLINE bool any(bool4 a) { return a.x || a.y || a.z || a.w; }

// precise:: and fast:: are for float; anything else becomes one.
#undef SOFTMETAL_MATH1
#undef SOFTMETAL_MATH2
#undef SOFTMETAL_MATH3
#define SOFTMETAL_MATH1(name, expression)                                                                              \
  SOFTMETAL_INLINE float name(float x) { return expression; }                                                          \
  template <unsigned N> SOFTMETAL_INLINE vec<float, N> name(vec<float, N> x) { return _map([](float a) { return name(a); }, x); }
#define SOFTMETAL_MATH2(name, expression)                                                                              \
  SOFTMETAL_INLINE float name(float x, float y) { return expression; }                                                 \
  template <unsigned N> SOFTMETAL_INLINE vec<float, N> name(vec<float, N> x, vec<float, N> y) { return _map([](float a, float b) { return name(a, b); }, x, y); } \
  template <unsigned N> SOFTMETAL_INLINE vec<float, N> name(vec<float, N> x, float y) { return name(x, vec<float, N>(y)); } \
  template <unsigned N> SOFTMETAL_INLINE vec<float, N> name(float x, vec<float, N> y) { return name(vec<float, N>(x), y); }
#define SOFTMETAL_MATH3(name, expression)                                                                              \
  SOFTMETAL_INLINE float name(float x, float y, float z) { return expression; }                                        \
  template <unsigned N> SOFTMETAL_INLINE vec<float, N> name(vec<float, N> x, vec<float, N> y, vec<float, N> z) { return _map([](float a, float b, float c) { return name(a, b, c); }, x, y, z); }
namespace precise { SOFTMETAL_MATH_TABLE(SOFTMETAL_EXACT_) }
namespace fast { SOFTMETAL_MATH_TABLE(SOFTMETAL_FAST_) }
#define SOFTMETAL_BOTH(name) namespace precise { using metal::name; } namespace fast { using metal::name; }
SOFTMETAL_BOTH(abs) SOFTMETAL_BOTH(min) SOFTMETAL_BOTH(max) SOFTMETAL_BOTH(clamp) SOFTMETAL_BOTH(mix) SOFTMETAL_BOTH(step)
SOFTMETAL_BOTH(sign) SOFTMETAL_BOTH(smoothstep) SOFTMETAL_BOTH(ldexp) SOFTMETAL_BOTH(frexp) SOFTMETAL_BOTH(modf)
SOFTMETAL_BOTH(sincos) SOFTMETAL_BOTH(ilogb) SOFTMETAL_BOTH(nextafter) SOFTMETAL_BOTH(min3) SOFTMETAL_BOTH(max3) SOFTMETAL_BOTH(median3)
#undef SOFTMETAL_BOTH
} // namespace metal

// Mathematical functions, by the type of their result.
#pragma once
namespace metal {
// There is no maths of bfloat: an argument becomes a float, and so is the result.
template <class T> struct _result { typedef T type; };
template <> struct _result<bfloat> { typedef float type; };
template <class T, class U> struct _wider { typedef T type; };
template <class T, int N> struct _wider<T, T __attribute__((ext_vector_type(N)))> { typedef T type __attribute__((ext_vector_type(N))); };
#define SOFTMETAL_1(name) template <class T> typename _result<T>::type name(T);
#define SOFTMETAL_2(name) template <class T, class U> typename _wider<typename _result<T>::type, U>::type name(T, U);
#define SOFTMETAL_3(name) template <class T, class U, class V> typename _wider<typename _result<T>::type, U>::type name(T, U, V);
#define SOFTMETAL_SAME2(name) template <class T, class U> typename _wider<T, U>::type name(T, U);
#define SOFTMETAL_SAME3(name) template <class T, class U, class V> typename _wider<T, U>::type name(T, U, V);
#define SOFTMETAL_FLOATS                                                                                                 \
  SOFTMETAL_1(acos) SOFTMETAL_1(acosh) SOFTMETAL_1(asin) SOFTMETAL_1(asinh) SOFTMETAL_1(atan) SOFTMETAL_1(atanh)         \
  SOFTMETAL_1(ceil) SOFTMETAL_1(cos) SOFTMETAL_1(cosh) SOFTMETAL_1(cospi) SOFTMETAL_1(exp) SOFTMETAL_1(exp2)             \
  SOFTMETAL_1(exp10) SOFTMETAL_1(fabs) SOFTMETAL_1(floor) SOFTMETAL_1(fract) SOFTMETAL_1(log) SOFTMETAL_1(log2)          \
  SOFTMETAL_1(log10) SOFTMETAL_1(rint) SOFTMETAL_1(round) SOFTMETAL_1(rsqrt) SOFTMETAL_1(sin) SOFTMETAL_1(sinh)          \
  SOFTMETAL_1(sinpi) SOFTMETAL_1(sqrt) SOFTMETAL_1(tan) SOFTMETAL_1(tanh) SOFTMETAL_1(tanpi) SOFTMETAL_1(trunc)          \
  SOFTMETAL_1(saturate) SOFTMETAL_1(degrees) SOFTMETAL_1(radians) SOFTMETAL_1(sign) SOFTMETAL_1(normalize)               \
  SOFTMETAL_2(atan2) SOFTMETAL_2(copysign) SOFTMETAL_2(fdim) SOFTMETAL_2(fmax) SOFTMETAL_2(fmin) SOFTMETAL_2(fmod)       \
  SOFTMETAL_2(pow) SOFTMETAL_2(powr) SOFTMETAL_2(divide) SOFTMETAL_2(nextafter) SOFTMETAL_2(step) SOFTMETAL_2(ldexp)     \
  SOFTMETAL_2(reflect) SOFTMETAL_3(fma) SOFTMETAL_3(fmax3) SOFTMETAL_3(fmin3) SOFTMETAL_3(fmedian3) SOFTMETAL_3(mix)     \
  SOFTMETAL_3(smoothstep) SOFTMETAL_3(faceforward) SOFTMETAL_3(refract)                                                  \
  template <class T, class U> typename _result<T>::type sincos(T, __private U &);                                        \
  template <class T, class U> typename _result<T>::type modf(T, __private U &);                                          \
  template <class T, class U> typename _result<T>::type frexp(T, __private U &);
SOFTMETAL_FLOATS
#define SOFTMETAL_ANY                                                                                                    \
  SOFTMETAL_1(abs) SOFTMETAL_2(min) SOFTMETAL_2(max) SOFTMETAL_3(clamp)                                                 \
  SOFTMETAL_3(min3) SOFTMETAL_3(max3) SOFTMETAL_3(median3)
SOFTMETAL_ANY
namespace precise { SOFTMETAL_FLOATS SOFTMETAL_ANY }
namespace fast { SOFTMETAL_FLOATS SOFTMETAL_ANY }

#define SOFTMETAL_INTEGER1(name) template <class T> T name(T);
SOFTMETAL_INTEGER1(clz) SOFTMETAL_INTEGER1(ctz) SOFTMETAL_INTEGER1(popcount) SOFTMETAL_INTEGER1(reverse_bits) SOFTMETAL_INTEGER1(cross)
SOFTMETAL_SAME2(rotate) SOFTMETAL_SAME2(mulhi) SOFTMETAL_SAME2(addsat) SOFTMETAL_SAME2(subsat) SOFTMETAL_SAME2(hadd) SOFTMETAL_SAME2(rhadd)
SOFTMETAL_SAME2(absdiff) SOFTMETAL_SAME2(mul24) SOFTMETAL_SAME2(cross) SOFTMETAL_SAME3(madsat) SOFTMETAL_SAME3(madhi) SOFTMETAL_SAME3(mad24)
SOFTMETAL_SAME3(extract_bits)
template <class T> T insert_bits(T, T, uint, uint);

template <class T> struct _truth { typedef bool type; };
template <class T, int N> struct _truth<T __attribute__((ext_vector_type(N)))> { typedef int type __attribute__((ext_vector_type(N))); };
#define SOFTMETAL_TRUTH(name) template <class T, class... U> typename _truth<T>::type name(T, U...);
SOFTMETAL_TRUTH(isnan) SOFTMETAL_TRUTH(isinf) SOFTMETAL_TRUTH(isfinite) SOFTMETAL_TRUTH(isnormal) SOFTMETAL_TRUTH(isordered)
SOFTMETAL_TRUTH(isunordered) SOFTMETAL_TRUTH(signbit)
template <class T> int ilogb(T);
template <class T> bool all(T);
template <class T> bool any(T);
template <class T, class C> T select(T, T, C);
template <class T> make_scalar_t<T> dot(T, T);
template <class T> make_scalar_t<T> length(T);
template <class T> make_scalar_t<T> length_squared(T);
template <class T> make_scalar_t<T> distance(T, T);
template <class T> make_scalar_t<T> distance_squared(T, T);

#define SOFTMETAL_PACK(name) template <class V> uint pack_float_to_##name(V); template <class V> uint pack_half_to_##name(V);
#define SOFTMETAL_UNPACK(name, type) type unpack_##name##_to_float(uint); type unpack_##name##_to_half(uint);
SOFTMETAL_PACK(unorm4x8) SOFTMETAL_PACK(snorm4x8) SOFTMETAL_PACK(srgb_unorm4x8) SOFTMETAL_PACK(unorm2x16) SOFTMETAL_PACK(snorm2x16)
SOFTMETAL_PACK(unorm10a2) SOFTMETAL_PACK(unorm565)
SOFTMETAL_UNPACK(unorm4x8, float4) SOFTMETAL_UNPACK(snorm4x8, float4) SOFTMETAL_UNPACK(srgb_unorm4x8, float4) SOFTMETAL_UNPACK(unorm2x16, float2)
SOFTMETAL_UNPACK(snorm2x16, float2) SOFTMETAL_UNPACK(unorm10a2, float4) SOFTMETAL_UNPACK(unorm565, float3)
} // namespace metal

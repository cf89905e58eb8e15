// Names of Apple's own implementation that shipping code uses. A last argument of mathematical functions says how fast they may be.
#pragma once

#define SOFTMETAL_1(name) template <class T> SOFTMETAL_INLINE T __metal_##name(T x, int = 0) { return metal::name(x); }
#define SOFTMETAL_2(name) template <class T> SOFTMETAL_INLINE T __metal_##name(T x, T y, int = 0) { return metal::name(x, y); }
#define SOFTMETAL_3(name) template <class T> SOFTMETAL_INLINE T __metal_##name(T x, T y, T z, int = 0) { return metal::name(x, y, z); }
SOFTMETAL_1(abs) SOFTMETAL_1(acos) SOFTMETAL_1(acosh) SOFTMETAL_1(asin) SOFTMETAL_1(asinh) SOFTMETAL_1(atan) SOFTMETAL_1(atanh) SOFTMETAL_1(ceil)
SOFTMETAL_1(cos) SOFTMETAL_1(cosh) SOFTMETAL_1(cospi) SOFTMETAL_1(exp) SOFTMETAL_1(exp10) SOFTMETAL_1(exp2) SOFTMETAL_1(fabs) SOFTMETAL_1(floor)
SOFTMETAL_1(fract) SOFTMETAL_1(log) SOFTMETAL_1(log10) SOFTMETAL_1(log2) SOFTMETAL_1(rint) SOFTMETAL_1(round) SOFTMETAL_1(rsqrt) SOFTMETAL_1(saturate)
SOFTMETAL_1(sign) SOFTMETAL_1(sin) SOFTMETAL_1(sinh) SOFTMETAL_1(sinpi) SOFTMETAL_1(sqrt) SOFTMETAL_1(tan) SOFTMETAL_1(tanh) SOFTMETAL_1(tanpi)
SOFTMETAL_1(trunc) SOFTMETAL_1(clz) SOFTMETAL_1(ctz) SOFTMETAL_1(popcount) SOFTMETAL_1(reverse_bits)
SOFTMETAL_2(atan2) SOFTMETAL_2(copysign) SOFTMETAL_2(divide) SOFTMETAL_2(fdim) SOFTMETAL_2(fmax) SOFTMETAL_2(fmin) SOFTMETAL_2(fmod) SOFTMETAL_2(max)
SOFTMETAL_2(min) SOFTMETAL_2(nextafter) SOFTMETAL_2(pow) SOFTMETAL_2(powr) SOFTMETAL_2(mulhi) SOFTMETAL_2(rotate) SOFTMETAL_2(absdiff)
SOFTMETAL_3(clamp) SOFTMETAL_3(fma) SOFTMETAL_3(fmax3) SOFTMETAL_3(fmedian3) SOFTMETAL_3(fmin3) SOFTMETAL_3(mix) SOFTMETAL_3(max3) SOFTMETAL_3(min3)
SOFTMETAL_3(median3) SOFTMETAL_3(madhi) SOFTMETAL_3(smoothstep)
#undef SOFTMETAL_1
#undef SOFTMETAL_2
#undef SOFTMETAL_3
template <class T> SOFTMETAL_INLINE T __metal_ldexp(T x, int k, int = 0) { return metal::ldexp(x, k); }
template <class T> SOFTMETAL_INLINE T __metal_frexp(T x, int *e) { return metal::frexp(x, *e); }
template <class T> SOFTMETAL_INLINE T __metal_modf(T x, T *whole) { return metal::modf(x, *whole); }
template <class T> SOFTMETAL_INLINE T __metal_sincos(T x, T *c, int = 0) { return metal::sincos(x, *c); }
#define SOFTMETAL_TRUTH(name) template <class T> SOFTMETAL_INLINE bool __metal_##name(T x, int = 0) { return metal::name(x); }
SOFTMETAL_TRUTH(isnan) SOFTMETAL_TRUTH(isinf) SOFTMETAL_TRUTH(isfinite) SOFTMETAL_TRUTH(isnormal) SOFTMETAL_TRUTH(signbit)
#undef SOFTMETAL_TRUTH

#define SOFTMETAL_REDUCE(name) template <class T> inline T __metal_simd_##name(T x, SOFTMETAL_SITE) { return metal::simd_##name(x, SOFTMETAL_HERE); }
SOFTMETAL_REDUCE(sum) SOFTMETAL_REDUCE(product) SOFTMETAL_REDUCE(min) SOFTMETAL_REDUCE(max) SOFTMETAL_REDUCE(and) SOFTMETAL_REDUCE(or)
SOFTMETAL_REDUCE(prefix_exclusive_sum) SOFTMETAL_REDUCE(prefix_inclusive_sum) SOFTMETAL_REDUCE(prefix_exclusive_product)
SOFTMETAL_REDUCE(prefix_inclusive_product) SOFTMETAL_REDUCE(broadcast_first)
#undef SOFTMETAL_REDUCE
template <class T> inline T __metal_simd_xor(T x, SOFTMETAL_SITE) {
  if constexpr (metal::is_integral<metal::make_scalar_t<T>>::value) return metal::simd_xor(x, SOFTMETAL_HERE);
  else return as_type<T>(metal::simd_xor(as_type<uint>(x), SOFTMETAL_HERE));
}
#define SOFTMETAL_SHUFFLE(name) \
  template <class T> inline T __metal_simd_##name(T x, ushort k, SOFTMETAL_SITE) { return metal::simd_##name(x, k, SOFTMETAL_HERE); }
SOFTMETAL_SHUFFLE(broadcast) SOFTMETAL_SHUFFLE(shuffle) SOFTMETAL_SHUFFLE(shuffle_up) SOFTMETAL_SHUFFLE(shuffle_down) SOFTMETAL_SHUFFLE(shuffle_xor)
SOFTMETAL_SHUFFLE(shuffle_rotate_up) SOFTMETAL_SHUFFLE(shuffle_rotate_down)
#undef SOFTMETAL_SHUFFLE
#define SOFTMETAL_FILL(name)                                                                                            \
  template <class T> inline T __metal_simd_##name(T data, T filling, ushort delta, ushort modulo, SOFTMETAL_SITE) {     \
    return metal::simd_##name(data, filling, delta, modulo, SOFTMETAL_HERE);                                            \
  }
SOFTMETAL_FILL(shuffle_and_fill_up) SOFTMETAL_FILL(shuffle_and_fill_down)
#undef SOFTMETAL_FILL
inline ushort __metal_get_simdgroup_size(ushort) { return ushort(metal::_impl::width()); }
inline uint __metal_get_simdgroup_size(uint) { return metal::_impl::width(); }
inline ushort __metal_get_thread_index_in_simdgroup(ushort) { return ushort(softmetal::current_lane()->lane); }
inline uint __metal_get_thread_index_in_simdgroup(uint) { return softmetal::current_lane()->lane; }

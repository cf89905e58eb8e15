// metal_pack: normalised integers to floats and back.
#pragma once

namespace metal {
namespace _impl {
SOFTMETAL_INLINE uint unorm(float v, float top) { return uint(__builtin_rintf(__builtin_fminf(__builtin_fmaxf(v, 0.0f), 1.0f) * top)); }
SOFTMETAL_INLINE uint snorm(float v, float top, uint mask) {
  return uint(int(__builtin_rintf(__builtin_fminf(__builtin_fmaxf(v, -1.0f), 1.0f) * top))) & mask;
}
SOFTMETAL_INLINE float from_snorm(int v, float top) { return __builtin_fmaxf(float(v) / top, -1.0f); }
SOFTMETAL_INLINE float to_srgb(float c) {
  if (!(c > 0.0f)) return 0.0f;
  if (c > 1.0f) return 1.0f;
  return c < 0.0031308f ? 12.92f * c : 1.055f * __builtin_powf(c, 1.0f / 2.4f) - 0.055f;
}
SOFTMETAL_INLINE float from_srgb(float c) { return c <= 0.04045f ? c / 12.92f : __builtin_powf((c + 0.055f) / 1.055f, 2.4f); }
} // namespace _impl

inline uint pack_float_to_unorm4x8(float4 v) {
  return _impl::unorm(v.x, 255) | _impl::unorm(v.y, 255) << 8 | _impl::unorm(v.z, 255) << 16 | _impl::unorm(v.w, 255) << 24;
}
inline uint pack_float_to_snorm4x8(float4 v) {
  return _impl::snorm(v.x, 127, 255) | _impl::snorm(v.y, 127, 255) << 8 | _impl::snorm(v.z, 127, 255) << 16 | _impl::snorm(v.w, 127, 255) << 24;
}
inline uint pack_float_to_srgb_unorm4x8(float4 v) {
  return pack_float_to_unorm4x8(float4(_impl::to_srgb(v.x), _impl::to_srgb(v.y), _impl::to_srgb(v.z), v.w));
}
inline uint pack_float_to_unorm2x16(float2 v) { return _impl::unorm(v.x, 65535) | _impl::unorm(v.y, 65535) << 16; }
inline uint pack_float_to_snorm2x16(float2 v) { return _impl::snorm(v.x, 32767, 65535) | _impl::snorm(v.y, 32767, 65535) << 16; }
inline uint pack_float_to_unorm10a2(float4 v) {
  return _impl::unorm(v.x, 1023) | _impl::unorm(v.y, 1023) << 10 | _impl::unorm(v.z, 1023) << 20 | _impl::unorm(v.w, 3) << 30;
}
inline ushort pack_float_to_unorm565(float3 v) {
  return ushort(_impl::unorm(v.x, 31) | _impl::unorm(v.y, 63) << 5 | _impl::unorm(v.z, 31) << 11);
}
inline float4 unpack_unorm4x8_to_float(uint p) {
  return float4(p & 255, p >> 8 & 255, p >> 16 & 255, p >> 24) / 255.0f;
}
inline float4 unpack_snorm4x8_to_float(uint p) {
  return float4(_impl::from_snorm(int8_t(p), 127), _impl::from_snorm(int8_t(p >> 8), 127), _impl::from_snorm(int8_t(p >> 16), 127),
                _impl::from_snorm(int8_t(p >> 24), 127));
}
inline float4 unpack_unorm4x8_srgb_to_float(uint p) {
  float4 v = unpack_unorm4x8_to_float(p);
  return float4(_impl::from_srgb(v.x), _impl::from_srgb(v.y), _impl::from_srgb(v.z), v.w);
}
inline float2 unpack_unorm2x16_to_float(uint p) { return float2(p & 65535, p >> 16) / 65535.0f; }
inline float2 unpack_snorm2x16_to_float(uint p) { return float2(_impl::from_snorm(short(p), 32767), _impl::from_snorm(short(p >> 16), 32767)); }
inline float4 unpack_unorm10a2_to_float(uint p) {
  return float4(float(p & 1023) / 1023.0f, float(p >> 10 & 1023) / 1023.0f, float(p >> 20 & 1023) / 1023.0f, float(p >> 30) / 3.0f);
}
inline float3 unpack_unorm565_to_float(ushort p) { return float3(float(p & 31) / 31.0f, float(p >> 5 & 63) / 63.0f, float(p >> 11) / 31.0f); }

#define SOFTMETAL_HALF(format, F, H)                                                          \
  inline auto pack_half_to_##format(H v) { return pack_float_to_##format(F(v)); }             \
  template <class P> inline H unpack_##format##_to_half(P p) { return H(unpack_##format##_to_float(p)); }
SOFTMETAL_HALF(unorm4x8, float4, half4) SOFTMETAL_HALF(snorm4x8, float4, half4) SOFTMETAL_HALF(unorm2x16, float2, half2)
SOFTMETAL_HALF(snorm2x16, float2, half2) SOFTMETAL_HALF(unorm10a2, float4, half4) SOFTMETAL_HALF(unorm565, float3, half3)
#undef SOFTMETAL_HALF
} // namespace metal

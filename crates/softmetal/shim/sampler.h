// metal_texture's samplers: a state in 64 bits, so that one fits an argument buffer. device/sampler.rs packs the same bits.
#pragma once

namespace metal {
enum class access { sample, read, write, read_write };
enum memory_coherence { memory_coherence_threadgroup, memory_coherence_device };
enum class coord { normalized, pixel };
enum class address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class s_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class t_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class r_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class filter { nearest, linear };
enum class mag_filter { nearest, linear };
enum class min_filter { nearest, linear };
enum class mip_filter { none, nearest, linear };
enum class compare_func { never, less, less_equal, greater, greater_equal, equal, not_equal, always, none };
enum class border_color { transparent_black, opaque_black, opaque_white };
enum class component { x, y, z, w };
enum class reduction { weighted_average, minimum, maximum };
struct max_anisotropy { int value; constexpr explicit max_anisotropy(int v) : value(v) {} };
struct lod_clamp { float least, most; constexpr lod_clamp(float a, float b) : least(a), most(b) {} };

// How a level of detail is given.
struct level { float lod; constexpr explicit level(float l) : lod(l) {} };
struct bias { float value; constexpr explicit bias(float v) : value(v) {} };
struct min_lod_clamp { float lod; constexpr explicit min_lod_clamp(float l) : lod(l) {} };
struct gradient2d { vec<float, 2> dx, dy; gradient2d(vec<float, 2> x, vec<float, 2> y) : dx(x), dy(y) {} };
struct gradient3d { vec<float, 3> dx, dy; gradient3d(vec<float, 3> x, vec<float, 3> y) : dx(x), dy(y) {} };
struct gradientcube { vec<float, 3> dx, dy; gradientcube(vec<float, 3> x, vec<float, 3> y) : dx(x), dy(y) {} };

struct sampler {
  // s, t, r address (3 bits each), mag and min filter (2 each), mip filter (2), pixel coordinates (1), comparison (4), border (2),
  // anisotropy - 1 (5); least and greatest level of detail as halves from bit 32.
  ulong bits = (ulong(0x7bff) << 48) | (ulong(8) << 16) | 0111;
  template <class... A> constexpr sampler(A... a) { (set(a), ...); }
  constexpr uint get(uint at, uint width) const { return uint(bits >> at) & ((1u << width) - 1); }

private:
  constexpr void put(uint at, uint width, ulong value) { bits = (bits & ~(((1ul << width) - 1) << at)) | (value << at); }
  constexpr void set(coord v) { put(15, 1, ulong(v)); }
  constexpr void set(address v) { put(0, 3, ulong(v)); put(3, 3, ulong(v)); put(6, 3, ulong(v)); }
  constexpr void set(s_address v) { put(0, 3, ulong(v)); }
  constexpr void set(t_address v) { put(3, 3, ulong(v)); }
  constexpr void set(r_address v) { put(6, 3, ulong(v)); }
  constexpr void set(filter v) { put(9, 2, ulong(v)); put(11, 2, ulong(v)); }
  constexpr void set(mag_filter v) { put(9, 2, ulong(v)); }
  constexpr void set(min_filter v) { put(11, 2, ulong(v)); }
  constexpr void set(mip_filter v) { put(13, 2, ulong(v)); }
  constexpr void set(compare_func v) { put(16, 4, ulong(v)); }
  constexpr void set(border_color v) { put(20, 2, ulong(v)); }
  constexpr void set(max_anisotropy v) { put(22, 5, ulong(v.value - 1) & 31); }
  constexpr void set(reduction) {}
  constexpr void set(sampler v) { bits = v.bits; }
  constexpr void set(lod_clamp v) {
    put(32, 16, __builtin_bit_cast(ushort, half(v.least)));
    put(48, 16, __builtin_bit_cast(ushort, half(v.most > 65504.0f ? 65504.0f : v.most)));
  }
};
static_assert(sizeof(sampler) == 8, "a sampler is a handle");
} // namespace metal

// Sampling: coordinates to texels, by a sampler's address modes and filters. A compute kernel has no derivatives, so the level of detail
// is zero unless it is given.
#pragma once

namespace softmetal {
// What a call of sample() asks for.
struct SampleAt {
  float c[3] = {0, 0, 0};
  int offset[3] = {0, 0, 0};
  unsigned axes = 2, slice = 0;
  float lod = 0, least = 0;
};

// The texel index that a coordinate means, or -1 for the border.
SOFTMETAL_TEXEL int addressed(int i, unsigned extent, unsigned mode) {
  int n = int(extent);
  switch (metal::address(mode)) {
  case metal::address::repeat: return ((i % n) + n) % n;
  case metal::address::mirrored_repeat: {
    int r = ((i % (2 * n)) + 2 * n) % (2 * n);
    return r < n ? r : 2 * n - 1 - r;
  }
  case metal::address::clamp_to_edge: return i < 0 ? 0 : i >= n ? n - 1 : i;
  default: return i < 0 || i >= n ? -1 : i;
  }
}

template <class T> SOFTMETAL_TEXEL void border(metal::sampler s, T *out) {
  unsigned colour = metal::address(s.get(0, 3)) == metal::address::clamp_to_border ? s.get(20, 2) : 0;
  for (unsigned i = 0; i < 4; i++) out[i] = T(colour == 2 || (colour == 1 && i == 3) ? 1 : 0);
}

SOFTMETAL_TEXEL float in_texels(metal::sampler s, float c, unsigned extent) { return s.get(15, 1) ? c : c * float(extent); }

// One texel of a level by wrapped index.
template <class T> SOFTMETAL_TEXEL void wrapped(const TextureInfo *t, metal::sampler s, const int *i, const SampleAt &a, unsigned level, T *out, const void *pc) {
  unsigned extent[3] = {level_extent(t->width, level), level_extent(t->height, level), level_extent(t->depth, level)};
  int at[3] = {0, 0, 0};
  for (unsigned k = 0; k < a.axes; k++) {
    at[k] = addressed(i[k] + a.offset[k], extent[k], s.get(3 * k, 3));
    if (at[k] < 0) return border(s, out);
  }
  read_texel(t, Place{unsigned(at[0]), unsigned(at[1]), t->kind == k3d ? unsigned(at[2]) : a.slice, level}, out, pc);
}

template <class T> SOFTMETAL_TEXEL void sample_level(const TextureInfo *t, metal::sampler s, const SampleAt &a, unsigned level, bool linear, T *out, const void *pc) {
  unsigned extent[3] = {level_extent(t->width, level), level_extent(t->height, level), level_extent(t->depth, level)};
  int base[3] = {0, 0, 0};
  float part[3] = {0, 0, 0};
  for (unsigned k = 0; k < a.axes; k++) {
    float c = in_texels(s, a.c[k], extent[k]) - (linear ? 0.5f : 0.0f);
    float whole = __builtin_floorf(c);
    base[k] = int(clamped(whole, -1e9f, 1e9f)), part[k] = c - whole;
  }
  if (!linear) return wrapped(t, s, base, a, level, out, pc);
  float sum[4] = {0, 0, 0, 0};
  for (unsigned corner = 0; corner < 1u << a.axes; corner++) {
    int i[3];
    float weight = 1;
    for (unsigned k = 0; k < 3; k++) {
      unsigned high = k < a.axes ? corner >> k & 1 : 0;
      i[k] = base[k] + int(high);
      if (k < a.axes) weight *= high ? part[k] : 1 - part[k];
    }
    if (weight == 0) continue;
    T v[4];
    wrapped(t, s, i, a, level, v, pc);
    for (unsigned c = 0; c < 4; c++) sum[c] += weight * float(v[c]);
  }
  for (unsigned c = 0; c < 4; c++) out[c] = T(sum[c]);
}

template <class T> SOFTMETAL_TEXEL void sample_texture(const TextureInfo *t, metal::sampler s, const SampleAt &a, T *out, const void *pc) {
  if (!t) {
    read_texel(t, Place{0, 0, 0, 0}, out, pc);
    return;
  }
  half low = __builtin_bit_cast(half, (unsigned short)(s.bits >> 32)), high = __builtin_bit_cast(half, (unsigned short)(s.bits >> 48));
  float lod = clamped(clamped(a.lod, float(low), float(high)), a.least, 1000.0f);
  bool linear = is_texel_float<T> && metal::filter(lod > 0 ? s.get(11, 2) : s.get(9, 2)) != metal::filter::nearest;
  auto mip = metal::mip_filter(s.get(13, 2));
  if (mip == metal::mip_filter::none) return sample_level(t, s, a, 0, linear, out, pc);
  lod = clamped(lod, 0, float(t->levels - 1));
  if (mip == metal::mip_filter::nearest) return sample_level(t, s, a, unsigned(__builtin_rintf(lod)), linear, out, pc);
  unsigned lower = unsigned(lod);
  float part = lod - float(lower);
  sample_level(t, s, a, lower, linear, out, pc);
  if (part > 0) {
    T next[4];
    sample_level(t, s, a, lower + 1, linear, next, pc);
    for (unsigned c = 0; c < 4; c++) out[c] = T(float(out[c]) * (1 - part) + float(next[c]) * part);
  }
}

// A direction becomes a face and a place on it.
SOFTMETAL_TEXEL void on_cube(SampleAt &a, unsigned layer) {
  float x = a.c[0], y = a.c[1], z = a.c[2];
  float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  float major, u, v;
  unsigned face;
  if (ax >= ay && ax >= az) face = x < 0, major = ax, u = x < 0 ? z : -z, v = -y;
  else if (ay >= az) face = 2 + (y < 0), major = ay, u = x, v = y < 0 ? -z : z;
  else face = 4 + (z < 0), major = az, u = z < 0 ? -x : x, v = -y;
  a.c[0] = (u / major + 1) / 2, a.c[1] = (v / major + 1) / 2, a.c[2] = 0;
  a.axes = 2, a.slice = layer * 6 + face;
}

SOFTMETAL_TEXEL bool compared(metal::sampler s, float reference, float v) {
  switch (metal::compare_func(s.get(16, 4))) {
  case metal::compare_func::less: return reference < v;
  case metal::compare_func::less_equal: return reference <= v;
  case metal::compare_func::greater: return reference > v;
  case metal::compare_func::greater_equal: return reference >= v;
  case metal::compare_func::equal: return reference == v;
  case metal::compare_func::not_equal: return reference != v;
  case metal::compare_func::always: return true;
  default: return false;
  }
}

// The four texels that linear filtering would mix: component c of each, or its comparison, counter-clockwise from the lower left.
template <class T> SOFTMETAL_TEXEL void gather_texture(const TextureInfo *t, metal::sampler s, const SampleAt &a, unsigned c, const float *reference, T *out, const void *pc) {
  int base[3] = {0, 0, 0};
  for (unsigned k = 0; k < 2 && t; k++) base[k] = int(__builtin_floorf(in_texels(s, a.c[k], k ? t->height : t->width) - 0.5f));
  const int dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
  for (unsigned n = 0; n < 4; n++) {
    int i[3] = {base[0] + dx[n], base[1] + dy[n], 0};
    T v[4];
    if (t) wrapped(t, s, i, a, 0, v, pc);
    else read_texel(t, Place{0, 0, 0, 0}, v, pc);
    out[n] = reference ? T(compared(s, *reference, float(v[0]))) : v[c];
  }
}

// The share of the texels under a filter that pass the comparison.
SOFTMETAL_TEXEL float compare_texture(const TextureInfo *t, metal::sampler s, const SampleAt &a, float reference, const void *pc) {
  if (!t) return 0;
  unsigned extent[2] = {t->width, t->height};
  bool linear = metal::filter(s.get(9, 2)) != metal::filter::nearest;
  int base[3] = {0, 0, 0};
  float part[2] = {0, 0}, sum = 0;
  for (unsigned k = 0; k < 2; k++) {
    float c = in_texels(s, a.c[k], extent[k]) - (linear ? 0.5f : 0.0f);
    base[k] = int(__builtin_floorf(c)), part[k] = linear ? c - __builtin_floorf(c) : 0;
  }
  for (unsigned corner = 0; corner < (linear ? 4u : 1u); corner++) {
    int i[3] = {base[0] + int(corner & 1), base[1] + int(corner >> 1), 0};
    float weight = (corner & 1 ? part[0] : 1 - part[0]) * (corner >> 1 ? part[1] : 1 - part[1]), v[4];
    if (weight == 0) continue;
    wrapped(t, s, i, a, 0, v, pc);
    sum += weight * (compared(s, reference, v[0]) ? 1.0f : 0.0f);
  }
  return sum;
}
} // namespace softmetal

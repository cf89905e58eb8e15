// Texels: where they lie, what their bits mean, and how a sampler mixes them.
#pragma once

namespace softmetal {
enum TextureKind { k1d, k1d_array, k2d, k2d_array, k3d, kcube, kcube_array, k2d_ms, k2d_ms_array, kbuffer };
enum TexelClass { unorm = 1, snorm = 2, unsigned_integer = 3, signed_integer = 4, floating = 5, packed_1010102 = 6, packed_11f10f = 7 };

#ifdef SOFTMETAL_CHECK
// The checker sees one access per texel, and none of our own bookkeeping.
#define SOFTMETAL_TEXEL __attribute__((noinline, no_sanitize("thread")))
#else
#define SOFTMETAL_TEXEL inline
#endif

SOFTMETAL_TEXEL unsigned level_extent(unsigned extent, unsigned level) {
  unsigned e = level < 32 ? extent >> level : 0;
  return e ? e : 1;
}

struct Place {
  unsigned x, y, z, level;
};

// The texel at a place, where z is a slice, a layer, a face or a sample; null outside of the texture, which the checker hears of.
SOFTMETAL_TEXEL char *texel_at(const TextureInfo *t, Place p, unsigned kind, const void *pc) {
  bool inside = t && p.level < t->levels && p.x < level_extent(t->width, p.level) && p.y < level_extent(t->height, p.level) &&
                p.z < (t->kind == k3d ? level_extent(t->depth, p.level) : t->slices);
  (void)kind, (void)pc;
#ifdef SOFTMETAL_CHECK
  if (!inside) {
    softmetal_runtime->texture(current_lane(), t, p.x, p.y, p.z, p.level, kind, pc);
    return nullptr;
  }
#endif
  if (!inside) return nullptr;
  char *at = t->data + t->level_offset[p.level] + (unsigned long)p.z * t->image_bytes[p.level] + (unsigned long)p.y * t->row_bytes[p.level] +
             (unsigned long)p.x * t->texel_bytes;
#ifdef SOFTMETAL_CHECK
  softmetal_runtime->access(current_lane(), at, t->texel_bytes, kind, pc);
#endif
  return at;
}

SOFTMETAL_TEXEL unsigned component_bits(const TextureInfo *t, const char *at, unsigned c) {
  switch (t->component_bits) {
  case 8: return (unsigned char)at[c];
  case 16: { unsigned short v; __builtin_memcpy(&v, at + 2 * c, 2); return v; }
  default: { unsigned v; __builtin_memcpy(&v, at + 4 * c, 4); return v; }
  }
}
SOFTMETAL_TEXEL void set_component(const TextureInfo *t, char *at, unsigned c, unsigned bits) {
  switch (t->component_bits) {
  case 8: at[c] = char(bits); break;
  case 16: { unsigned short v = (unsigned short)bits; __builtin_memcpy(at + 2 * c, &v, 2); break; }
  default: __builtin_memcpy(at + 4 * c, &bits, 4);
  }
}
// Component c of a texel in memory order is component order(c) of the value.
SOFTMETAL_TEXEL unsigned order(const TextureInfo *t, unsigned c) { return t->bgra && c != 3 ? 2 - c : c; }

SOFTMETAL_TEXEL float from_srgb(float v) { return v <= 0.04045f ? v / 12.92f : __builtin_powf((v + 0.055f) / 1.055f, 2.4f); }
SOFTMETAL_TEXEL float to_srgb(float v) { return v <= 0.0031308f ? v * 12.92f : 1.055f * __builtin_powf(v, 1 / 2.4f) - 0.055f; }
SOFTMETAL_TEXEL float small_float(unsigned bits, unsigned mantissa) {
  unsigned short h = (unsigned short)(bits << (10 - mantissa));
  return float(__builtin_bit_cast(half, h));
}

// What a texel holds, as float; components that the format lacks are 0, 0, 0, 1.
SOFTMETAL_TEXEL void load_float(const TextureInfo *t, const char *at, float *v) {
  v[0] = v[1] = v[2] = 0, v[3] = 1;
  unsigned word = 0;
  if (t->texel_class >= packed_1010102) __builtin_memcpy(&word, at, 4);
  if (t->texel_class == packed_1010102) {
    for (unsigned c = 0; c < 3; c++) v[order(t, c)] = float(word >> (10 * c) & 1023) / 1023.0f;
    v[3] = float(word >> 30) / 3.0f;
    return;
  }
  if (t->texel_class == packed_11f10f) {
    v[0] = small_float(word & 2047, 6), v[1] = small_float(word >> 11 & 2047, 6), v[2] = small_float(word >> 22, 5);
    return;
  }
  for (unsigned c = 0; c < t->components; c++) {
    unsigned bits = component_bits(t, at, c), n = t->component_bits;
    float f = 0;
    switch (t->texel_class) {
    case unorm: f = float(bits) / float(n == 8 ? 255u : 65535u); break;
    case snorm: {
      float s = n == 8 ? float((signed char)bits) / 127.0f : float(short(bits)) / 32767.0f;
      f = s < -1 ? -1 : s;
      break;
    }
    default: f = n == 16 ? float(__builtin_bit_cast(half, (unsigned short)bits)) : __builtin_bit_cast(float, bits);
    }
    if (t->srgb && order(t, c) < 3) f = from_srgb(f);
    v[order(t, c)] = f;
  }
}
SOFTMETAL_TEXEL float clamped(float v, float low, float high) { return v >= high ? high : v > low ? v : low; }
SOFTMETAL_TEXEL void store_float(const TextureInfo *t, char *at, const float *v) {
  if (t->texel_class == packed_1010102) {
    unsigned word = unsigned(__builtin_rintf(clamped(v[3], 0, 1) * 3.0f)) << 30;
    for (unsigned c = 0; c < 3; c++) word |= unsigned(__builtin_rintf(clamped(v[order(t, c)], 0, 1) * 1023.0f)) << (10 * c);
    __builtin_memcpy(at, &word, 4);
    return;
  }
  for (unsigned c = 0; c < t->components; c++) {
    float f = v[order(t, c)];
    unsigned n = t->component_bits, bits = 0;
    if (t->srgb && order(t, c) < 3) f = to_srgb(clamped(f, 0, 1));
    switch (t->texel_class) {
    case unorm: bits = unsigned(__builtin_rintf(clamped(f, 0, 1) * float(n == 8 ? 255u : 65535u))); break;
    case snorm: bits = unsigned(int(__builtin_rintf(clamped(f, -1, 1) * float(n == 8 ? 127u : 32767u)))); break;
    default: bits = n == 16 ? __builtin_bit_cast(unsigned short, half(f)) : __builtin_bit_cast(unsigned, f);
    }
    set_component(t, at, c, bits);
  }
}
SOFTMETAL_TEXEL void load_bits(const TextureInfo *t, const char *at, unsigned *v) {
  v[0] = v[1] = v[2] = 0, v[3] = 1;
  for (unsigned c = 0; c < t->components; c++) {
    unsigned bits = component_bits(t, at, c);
    if (t->texel_class == signed_integer) bits = t->component_bits == 8 ? unsigned(int((signed char)bits)) : t->component_bits == 16 ? unsigned(int(short(bits))) : bits;
    v[order(t, c)] = bits;
  }
}
SOFTMETAL_TEXEL void store_bits(const TextureInfo *t, char *at, const unsigned *v) {
  for (unsigned c = 0; c < t->components; c++) set_component(t, at, c, v[order(t, c)]);
}

template <class T> constexpr bool is_texel_float = __is_same(T, float) || __is_same(T, half);
// One texel as four components of T; zero outside of the texture.
template <class T> SOFTMETAL_TEXEL void read_texel(const TextureInfo *t, Place p, T *out, const void *pc) {
  const char *at = texel_at(t, p, reads, pc);
  for (unsigned i = 0; i < 4; i++) out[i] = T(0);
  if (!at) return;
  if constexpr (is_texel_float<T>) {
    float v[4];
    load_float(t, at, v);
    for (unsigned i = 0; i < 4; i++) out[i] = T(v[i]);
  } else {
    unsigned v[4];
    load_bits(t, at, v);
    for (unsigned i = 0; i < 4; i++) out[i] = T(v[i]);
  }
}
template <class T> SOFTMETAL_TEXEL void write_texel(const TextureInfo *t, Place p, const T *in, const void *pc) {
  char *at = texel_at(t, p, writes, pc);
  if (!at) return;
  if constexpr (is_texel_float<T>) {
    float v[4];
    for (unsigned i = 0; i < 4; i++) v[i] = float(in[i]);
    store_float(t, at, v);
  } else {
    unsigned v[4];
    for (unsigned i = 0; i < 4; i++) v[i] = unsigned(in[i]);
    store_bits(t, at, v);
  }
}
} // namespace softmetal

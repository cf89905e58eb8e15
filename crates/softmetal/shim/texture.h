// metal_texture: the types that kernels take, by what each can do.
#pragma once

namespace softmetal {
#ifdef SOFTMETAL_CHECK
#define SOFTMETAL_PC __builtin_return_address(0)
#else
#define SOFTMETAL_PC nullptr
#endif
template <class T> SOFTMETAL_TEXEL void texture_read(const TextureInfo *t, Place p, T *out) { read_texel(t, p, out, SOFTMETAL_PC); }
template <class T> SOFTMETAL_TEXEL void texture_write(const TextureInfo *t, Place p, const T *in) { write_texel(t, p, in, SOFTMETAL_PC); }
template <class T> SOFTMETAL_TEXEL void texture_sample(const TextureInfo *t, metal::sampler s, const SampleAt &a, T *out) { sample_texture(t, s, a, out, SOFTMETAL_PC); }
template <class T> SOFTMETAL_TEXEL void texture_gather(const TextureInfo *t, metal::sampler s, const SampleAt &a, unsigned c, const float *r, T *out) { gather_texture(t, s, a, c, r, out, SOFTMETAL_PC); }
SOFTMETAL_TEXEL void *texture_atomic(const TextureInfo *t, Place p) { return texel_at(t, p, writes | is_atomic, SOFTMETAL_PC); }
SOFTMETAL_TEXEL float texture_compare(const TextureInfo *t, metal::sampler s, const SampleAt &a, float r) { return compare_texture(t, s, a, r, SOFTMETAL_PC); }
SOFTMETAL_TEXEL unsigned texture_extent(const TextureInfo *t, unsigned axis, unsigned level) {
  if (!t) return 0;
  return axis < 3 ? level_extent(axis == 0 ? t->width : axis == 1 ? t->height : t->depth, level)
                  : axis == 3 ? t->layers : axis == 4 ? t->levels : t->samples;
}

// What may follow the coordinates of sample().
SOFTMETAL_TEXEL void gradient_lod(SampleAt &a, const TextureInfo *t, const float *dx, const float *dy, unsigned n) {
  float most = 0;
  for (const float *d : {dx, dy}) {
    float square = 0;
    for (unsigned k = 0; k < n; k++) {
      float e = d[k] * float(texture_extent(t, k, 0));
      square += e * e;
    }
    most = most < square ? square : most;
  }
  a.lod = most > 0 ? __builtin_log2f(most) / 2 : 0;
}
inline void option(SampleAt &a, const TextureInfo *, metal::level l) { a.lod = l.lod; }
inline void option(SampleAt &a, const TextureInfo *, metal::bias b) { a.lod = b.value; }
inline void option(SampleAt &a, const TextureInfo *, metal::min_lod_clamp l) { a.least = l.lod; }
inline void option(SampleAt &a, const TextureInfo *t, metal::gradient2d g) { gradient_lod(a, t, &g.dx.x, &g.dy.x, 2); }
inline void option(SampleAt &a, const TextureInfo *t, metal::gradient3d g) { gradient_lod(a, t, &g.dx.x, &g.dy.x, 3); }
inline void option(SampleAt &a, const TextureInfo *t, metal::gradientcube g) { gradient_lod(a, t, &g.dx.x, &g.dy.x, 3); }
inline void option(SampleAt &a, const TextureInfo *, int offset) { a.offset[0] = offset; }
inline void option(SampleAt &a, const TextureInfo *, metal::vec<int, 2> o) { a.offset[0] = o.x, a.offset[1] = o.y; }
inline void option(SampleAt &a, const TextureInfo *, metal::vec<int, 3> o) { a.offset[0] = o.x, a.offset[1] = o.y, a.offset[2] = o.z; }
inline void option(SampleAt &, const TextureInfo *, metal::component) {}
inline unsigned chosen() { return 0; }
template <class F, class... O> inline unsigned chosen(F f, O... o) {
  if constexpr (__is_same(F, metal::component)) return unsigned(f);
  else return chosen(o...);
}
} // namespace softmetal

namespace metal {
template <class T> struct _is_texel : bool_constant<is_same<T, float>::value || is_same<T, half>::value || is_same<T, int>::value ||
                                                    is_same<T, uint>::value || is_same<T, short>::value || is_same<T, ushort>::value> {};

template <class T, access A> struct _texture {
  static_assert(_is_texel<T>::value, "a texture is of float, half, int, uint, short or ushort");
  const softmetal::TextureInfo *_info;
  void fence() const { static_assert(A == access::read_write, "fence() is for textures of access::read_write"); }

protected:
  typedef vec<T, 4> four;
  SOFTMETAL_INLINE four _read(uint x, uint y, uint z, uint level) const {
    static_assert(A != access::write, "a texture of access::write cannot be read");
    four v(T(0));
    softmetal::texture_read(_info, softmetal::Place{x, y, z, level}, &v.x);
    return v;
  }
  SOFTMETAL_INLINE void _write(four v, uint x, uint y, uint z, uint level) const {
    static_assert(A == access::write || A == access::read_write, "a texture is written with access::write or access::read_write");
    softmetal::texture_write(_info, softmetal::Place{x, y, z, level}, &v.x);
  }
  template <class... O> SOFTMETAL_INLINE softmetal::SampleAt _at(const float *c, uint axes, uint slice, O... options) const {
    softmetal::SampleAt a;
    for (uint k = 0; k < axes; k++) a.c[k] = c[k];
    a.axes = axes, a.slice = slice;
    (softmetal::option(a, _info, options), ...);
    return a;
  }
  SOFTMETAL_INLINE four _sample(sampler s, const softmetal::SampleAt &a) const {
    static_assert(A == access::sample, "a texture is sampled with access::sample");
    four v(T(0));
    softmetal::texture_sample(_info, s, a, &v.x);
    return v;
  }
  SOFTMETAL_INLINE four _gather(sampler s, const softmetal::SampleAt &a, uint component) const {
    static_assert(A == access::sample, "a texture is sampled with access::sample");
    four v(T(0));
    softmetal::texture_gather(_info, s, a, component, nullptr, &v.x);
    return v;
  }
  static SOFTMETAL_INLINE softmetal::SampleAt _cube(softmetal::SampleAt a, uint layer) {
    softmetal::on_cube(a, layer);
    return a;
  }
  template <class F> SOFTMETAL_INLINE four _update(uint x, uint y, uint z, F change) const {
    static_assert(A == access::read_write && sizeof(T) == 4 && !is_same<T, float>::value, "texture atomics are for int and uint with access::read_write");
    four old(T(0));
    T *p = static_cast<T *>(softmetal::texture_atomic(_info, softmetal::Place{x, y, z, 0}));
    if (!p) return old;
    T next;
    __atomic_load(p, &old.x, 0);
    do next = change(old.x);
    while (!__atomic_compare_exchange(p, &old.x, &next, true, 5, 0));
    return old;
  }
  SOFTMETAL_INLINE uint _extent(uint axis, uint level = 0) const { return softmetal::texture_extent(_info, axis, level); }
};

// Atomics of one texel: coordinates, then a value, of which the first component counts.
#define SOFTMETAL_TEXEL_ATOMIC(name, expression, parameters, x, y, z) \
  four name(parameters, four v) const { return _base::_update(x, y, z, [v](T old) { return T(expression); }); }
#define SOFTMETAL_TEXEL_ATOMICS(parameters, X, Y, Z)                                                                                 \
  SOFTMETAL_TEXEL_ATOMIC(atomic_fetch_add, old + v.x, SOFTMETAL_LIST parameters, X, Y, Z)                                            \
  SOFTMETAL_TEXEL_ATOMIC(atomic_fetch_sub, old - v.x, SOFTMETAL_LIST parameters, X, Y, Z)                                            \
  SOFTMETAL_TEXEL_ATOMIC(atomic_fetch_and, old & v.x, SOFTMETAL_LIST parameters, X, Y, Z)                                            \
  SOFTMETAL_TEXEL_ATOMIC(atomic_fetch_or, old | v.x, SOFTMETAL_LIST parameters, X, Y, Z)                                             \
  SOFTMETAL_TEXEL_ATOMIC(atomic_fetch_xor, old ^ v.x, SOFTMETAL_LIST parameters, X, Y, Z)                                            \
  SOFTMETAL_TEXEL_ATOMIC(atomic_fetch_min, v.x < old ? v.x : old, SOFTMETAL_LIST parameters, X, Y, Z)                                \
  SOFTMETAL_TEXEL_ATOMIC(atomic_fetch_max, old < v.x ? v.x : old, SOFTMETAL_LIST parameters, X, Y, Z)                                \
  SOFTMETAL_TEXEL_ATOMIC(atomic_exchange, v.x, SOFTMETAL_LIST parameters, X, Y, Z)                                                   \
  void atomic_store(four v, SOFTMETAL_LIST parameters) const { _base::_update(X, Y, Z, [v](T) { return v.x; }); }                    \
  four atomic_load(SOFTMETAL_LIST parameters) const { return _base::_update(X, Y, Z, [](T old) { return old; }); }                   \
  bool atomic_compare_exchange_weak(SOFTMETAL_LIST parameters, four *expected, four desired) const {                                 \
    T wanted = expected->x;                                                                                                          \
    expected->x = _base::_update(X, Y, Z, [=](T old) { return old == wanted ? desired.x : old; }).x;                                 \
    return expected->x == wanted;                                                                                                    \
  }
#define SOFTMETAL_LIST(...) __VA_ARGS__
// Coordinates are uint or ushort.
#define SOFTMETAL_BASE(name)                                    \
  typedef _texture<T, A> _base;                                 \
  typedef vec<T, 4> four;                                       \
  uint get_width(uint lod = 0) const { return _base::_extent(0, lod); } \
  uint get_num_mip_levels() const { return _base::_extent(4); }
#define SOFTMETAL_HEIGHT uint get_height(uint lod = 0) const { return _base::_extent(1, lod); }
#define SOFTMETAL_LAYERS uint get_array_size() const { return _base::_extent(3); }

template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture1d : _texture<T, A> {
  SOFTMETAL_BASE(texture1d)
  four read(uint c, uint lod = 0) const { return _base::_read(c, 0, 0, lod); }
  void write(four v, uint c, uint lod = 0) const { _base::_write(v, c, 0, 0, lod); }
  template <class... O> four sample(sampler s, float c, O... o) const { return _base::_sample(s, _base::_at(&c, 1, 0, o...)); }
  SOFTMETAL_TEXEL_ATOMICS((uint c), c, 0, 0)
};
template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture1d_array : _texture<T, A> {
  SOFTMETAL_BASE(texture1d_array) SOFTMETAL_LAYERS
  four read(uint c, uint layer, uint lod = 0) const { return _base::_read(c, 0, layer, lod); }
  void write(four v, uint c, uint layer, uint lod = 0) const { _base::_write(v, c, 0, layer, lod); }
  template <class... O> four sample(sampler s, float c, uint layer, O... o) const { return _base::_sample(s, _base::_at(&c, 1, layer, o...)); }
  SOFTMETAL_TEXEL_ATOMICS((uint c, uint layer), c, 0, layer)
};
template <class T, access A = access::read, memory_coherence C = memory_coherence_threadgroup> struct texture_buffer : _texture<T, A> {
  typedef _texture<T, A> _base;
  typedef vec<T, 4> four;
  static_assert(A != access::sample, "a texture_buffer is read or written, not sampled");
  uint get_width() const { return _base::_extent(0); }
  four read(uint c) const { return _base::_read(c, 0, 0, 0); }
  void write(four v, uint c) const { _base::_write(v, c, 0, 0, 0); }
  SOFTMETAL_TEXEL_ATOMICS((uint c), c, 0, 0)
};

#define SOFTMETAL_READ2(type, value, give, U)                                                                                  \
  type read(vec<U, 2> c, uint lod = 0) const { return _base::_read(c.x, c.y, 0, lod) give; }                                   \
  void write(value v, vec<U, 2> c, uint lod = 0) const { _base::_write(four(v), c.x, c.y, 0, lod); }
#define SOFTMETAL_READ2_ARRAY(type, value, give, U)                                                                            \
  type read(vec<U, 2> c, uint layer, uint lod = 0) const { return _base::_read(c.x, c.y, layer, lod) give; }                   \
  void write(value v, vec<U, 2> c, uint layer, uint lod = 0) const { _base::_write(four(v), c.x, c.y, layer, lod); }
#define SOFTMETAL_READ_CUBE_ARRAY(type, value, give, U)                                                                        \
  type read(vec<U, 2> c, uint face, uint layer, uint lod = 0) const { return _base::_read(c.x, c.y, layer * 6 + face, lod) give; } \
  void write(value v, vec<U, 2> c, uint face, uint layer, uint lod = 0) const { _base::_write(four(v), c.x, c.y, layer * 6 + face, lod); }
#define SOFTMETAL_READ_SAMPLES(type, value, give, U) \
  type read(vec<U, 2> c, uint sample) const { return _base::_read(c.x, c.y, sample, 0) give; }
#define SOFTMETAL_READ_SAMPLES_ARRAY(type, value, give, U) \
  type read(vec<U, 2> c, uint layer, uint sample) const { return _base::_read(c.x, c.y, layer * _base::_extent(5) + sample, 0) give; }

template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture2d : _texture<T, A> {
  SOFTMETAL_BASE(texture2d) SOFTMETAL_HEIGHT
  SOFTMETAL_READ2(four, four, , uint) SOFTMETAL_READ2(four, four, , ushort)
  template <class... O> four sample(sampler s, vec<float, 2> c, O... o) const { return _base::_sample(s, _base::_at(&c.x, 2, 0, o...)); }
  template <class... O> four gather(sampler s, vec<float, 2> c, O... o) const { return _base::_gather(s, _base::_at(&c.x, 2, 0, o...), softmetal::chosen(o...)); }
  SOFTMETAL_TEXEL_ATOMICS((vec<uint, 2> c), c.x, c.y, 0)
};
template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture2d_array : _texture<T, A> {
  SOFTMETAL_BASE(texture2d_array) SOFTMETAL_HEIGHT SOFTMETAL_LAYERS
  SOFTMETAL_READ2_ARRAY(four, four, , uint) SOFTMETAL_READ2_ARRAY(four, four, , ushort)
  template <class... O> four sample(sampler s, vec<float, 2> c, uint layer, O... o) const { return _base::_sample(s, _base::_at(&c.x, 2, layer, o...)); }
  template <class... O> four gather(sampler s, vec<float, 2> c, uint layer, O... o) const { return _base::_gather(s, _base::_at(&c.x, 2, layer, o...), softmetal::chosen(o...)); }
  SOFTMETAL_TEXEL_ATOMICS((vec<uint, 2> c, uint layer), c.x, c.y, layer)
};
template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texture3d : _texture<T, A> {
  SOFTMETAL_BASE(texture3d) SOFTMETAL_HEIGHT
  uint get_depth(uint lod = 0) const { return _base::_extent(2, lod); }
#define SOFTMETAL_READ3(U)                                                                                     \
  four read(vec<U, 3> c, uint lod = 0) const { return _base::_read(c.x, c.y, c.z, lod); }                      \
  void write(four v, vec<U, 3> c, uint lod = 0) const { _base::_write(v, c.x, c.y, c.z, lod); }
  SOFTMETAL_READ3(uint) SOFTMETAL_READ3(ushort)
#undef SOFTMETAL_READ3
  template <class... O> four sample(sampler s, vec<float, 3> c, O... o) const { return _base::_sample(s, _base::_at(&c.x, 3, 0, o...)); }
  SOFTMETAL_TEXEL_ATOMICS((vec<uint, 3> c), c.x, c.y, c.z)
};
template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texturecube : _texture<T, A> {
  SOFTMETAL_BASE(texturecube) SOFTMETAL_HEIGHT
  SOFTMETAL_READ2_ARRAY(four, four, , uint) SOFTMETAL_READ2_ARRAY(four, four, , ushort)
  template <class... O> four sample(sampler s, vec<float, 3> c, O... o) const { return _base::_sample(s, _base::_cube(_base::_at(&c.x, 3, 0, o...), 0)); }
  template <class... O> four gather(sampler s, vec<float, 3> c, O... o) const { return _base::_gather(s, _base::_cube(_base::_at(&c.x, 3, 0, o...), 0), softmetal::chosen(o...)); }
  SOFTMETAL_TEXEL_ATOMICS((vec<uint, 2> c, uint face), c.x, c.y, face)
};
template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct texturecube_array : _texture<T, A> {
  SOFTMETAL_BASE(texturecube_array) SOFTMETAL_HEIGHT SOFTMETAL_LAYERS
  SOFTMETAL_READ_CUBE_ARRAY(four, four, , uint) SOFTMETAL_READ_CUBE_ARRAY(four, four, , ushort)
  template <class... O> four sample(sampler s, vec<float, 3> c, uint layer, O... o) const { return _base::_sample(s, _base::_cube(_base::_at(&c.x, 3, 0, o...), layer)); }
  template <class... O> four gather(sampler s, vec<float, 3> c, uint layer, O... o) const { return _base::_gather(s, _base::_cube(_base::_at(&c.x, 3, 0, o...), layer), softmetal::chosen(o...)); }
  SOFTMETAL_TEXEL_ATOMICS((vec<uint, 2> c, uint face, uint layer), c.x, c.y, layer * 6 + face)
};
template <class T, access A = access::read, memory_coherence C = memory_coherence_threadgroup> struct texture2d_ms : _texture<T, A> {
  static_assert(A == access::read, "a multisampled texture is only read");
  SOFTMETAL_BASE(texture2d_ms) SOFTMETAL_HEIGHT
  uint get_num_samples() const { return _base::_extent(5); }
  SOFTMETAL_READ_SAMPLES(four, four, , uint) SOFTMETAL_READ_SAMPLES(four, four, , ushort)
};
template <class T, access A = access::read, memory_coherence C = memory_coherence_threadgroup> struct texture2d_ms_array : _texture<T, A> {
  static_assert(A == access::read, "a multisampled texture is only read");
  SOFTMETAL_BASE(texture2d_ms_array) SOFTMETAL_HEIGHT SOFTMETAL_LAYERS
  uint get_num_samples() const { return _base::_extent(5); }
  SOFTMETAL_READ_SAMPLES_ARRAY(four, four, , uint) SOFTMETAL_READ_SAMPLES_ARRAY(four, four, , ushort)
};

// Depth textures give their one component.
#define SOFTMETAL_DEPTH                                                        \
  static_assert(is_same<T, float>::value, "a depth texture is of float");      \
  static_assert(A == access::sample || A == access::read, "a depth texture is sampled or read, not written");
#define SOFTMETAL_COMPARE(coord, axes, layer_parameter, layer, around)                                                                      \
  template <class... O> T sample(sampler s, coord c layer_parameter, O... o) const { return _base::_sample(s, around(_base::_at(&c.x, axes, layer, o...))).x; } \
  template <class... O> T sample_compare(sampler s, coord c layer_parameter, float reference, O... o) const {                               \
    return softmetal::texture_compare(_base::_info, s, around(_base::_at(&c.x, axes, layer, o...)), reference);                             \
  }                                                                                                                                         \
  template <class... O> four gather(sampler s, coord c layer_parameter, O... o) const { return _base::_gather(s, around(_base::_at(&c.x, axes, layer, o...)), 0); } \
  template <class... O> four gather_compare(sampler s, coord c layer_parameter, float reference, O... o) const {                            \
    four v(T(0));                                                                                                                           \
    softmetal::texture_gather(_base::_info, s, around(_base::_at(&c.x, axes, layer, o...)), 0, &reference, &v.x);                           \
    return v;                                                                                                                               \
  }
#define SOFTMETAL_COMMA ,
#define SOFTMETAL_FLAT(a) a
#define SOFTMETAL_ON_CUBE(a) _base::_cube(a, 0)
#define SOFTMETAL_ON_CUBES(a) _base::_cube(a, layer)
template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct depth2d : _texture<T, A> {
  SOFTMETAL_BASE(depth2d) SOFTMETAL_HEIGHT SOFTMETAL_DEPTH
  T read(vec<uint, 2> c, uint lod = 0) const { return _base::_read(c.x, c.y, 0, lod).x; }
  T read(vec<ushort, 2> c, uint lod = 0) const { return _base::_read(c.x, c.y, 0, lod).x; }
  SOFTMETAL_COMPARE(vec<float SOFTMETAL_COMMA 2>, 2, , 0, SOFTMETAL_FLAT)
};
template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct depth2d_array : _texture<T, A> {
  SOFTMETAL_BASE(depth2d_array) SOFTMETAL_HEIGHT SOFTMETAL_LAYERS SOFTMETAL_DEPTH
  T read(vec<uint, 2> c, uint layer, uint lod = 0) const { return _base::_read(c.x, c.y, layer, lod).x; }
  T read(vec<ushort, 2> c, uint layer, uint lod = 0) const { return _base::_read(c.x, c.y, layer, lod).x; }
  SOFTMETAL_COMPARE(vec<float SOFTMETAL_COMMA 2>, 2, SOFTMETAL_COMMA uint layer, layer, SOFTMETAL_FLAT)
};
template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct depthcube : _texture<T, A> {
  SOFTMETAL_BASE(depthcube) SOFTMETAL_HEIGHT SOFTMETAL_DEPTH
  T read(vec<uint, 2> c, uint face, uint lod = 0) const { return _base::_read(c.x, c.y, face, lod).x; }
  T read(vec<ushort, 2> c, uint face, uint lod = 0) const { return _base::_read(c.x, c.y, face, lod).x; }
  SOFTMETAL_COMPARE(vec<float SOFTMETAL_COMMA 3>, 3, , 0, SOFTMETAL_ON_CUBE)
};
template <class T, access A = access::sample, memory_coherence C = memory_coherence_threadgroup> struct depthcube_array : _texture<T, A> {
  SOFTMETAL_BASE(depthcube_array) SOFTMETAL_HEIGHT SOFTMETAL_LAYERS SOFTMETAL_DEPTH
  T read(vec<uint, 2> c, uint face, uint layer, uint lod = 0) const { return _base::_read(c.x, c.y, layer * 6 + face, lod).x; }
  T read(vec<ushort, 2> c, uint face, uint layer, uint lod = 0) const { return _base::_read(c.x, c.y, layer * 6 + face, lod).x; }
  SOFTMETAL_COMPARE(vec<float SOFTMETAL_COMMA 3>, 3, SOFTMETAL_COMMA uint layer, 0, SOFTMETAL_ON_CUBES)
};
template <class T, access A = access::read, memory_coherence C = memory_coherence_threadgroup> struct depth2d_ms : _texture<T, A> {
  static_assert(A == access::read, "a multisampled texture is only read");
  SOFTMETAL_BASE(depth2d_ms) SOFTMETAL_HEIGHT SOFTMETAL_DEPTH
  uint get_num_samples() const { return _base::_extent(5); }
  T read(vec<uint, 2> c, uint sample) const { return _base::_read(c.x, c.y, sample, 0).x; }
  T read(vec<ushort, 2> c, uint sample) const { return _base::_read(c.x, c.y, sample, 0).x; }
};
#undef SOFTMETAL_BASE
#undef SOFTMETAL_TEXEL_ATOMIC
#undef SOFTMETAL_TEXEL_ATOMICS
#undef SOFTMETAL_LIST
#undef SOFTMETAL_HEIGHT
#undef SOFTMETAL_LAYERS
#undef SOFTMETAL_READ2
#undef SOFTMETAL_READ2_ARRAY
#undef SOFTMETAL_READ_CUBE_ARRAY
#undef SOFTMETAL_READ_SAMPLES
#undef SOFTMETAL_READ_SAMPLES_ARRAY
#undef SOFTMETAL_DEPTH
#undef SOFTMETAL_COMPARE
#undef SOFTMETAL_COMMA
#undef SOFTMETAL_FLAT
#undef SOFTMETAL_ON_CUBE
#undef SOFTMETAL_ON_CUBES
template <class T, access A> bool is_null_texture(const _texture<T, A> &t) { return t._info == nullptr; }

// Tables of functions: addresses that the host takes from a pipeline.
template <class F> struct visible_function_table {
  F *const *_table;
  visible_function_table() = default;
  explicit visible_function_table(void *table) : _table(static_cast<F *const *>(table)) {}
  F *operator[](size_t i) const { return _table[i]; }
  bool empty() const { return !_table; }
};
template <class F> bool is_null_visible_function_table(visible_function_table<F> t) { return t.empty(); }
// Real sources name these before they use what SoftMetal does not have.
namespace raytracing {}
} // namespace metal

// Textures, samplers and tables of functions, by what their functions give.
#pragma once
namespace metal {
enum class access { sample, read, write, sm_read_write };
enum memory_coherence { memory_coherence_threadgroup, memory_coherence_device };
template <class T, access A> struct _texture {};
#define SOFTMETAL_TEXTURE(name, result, standard)                                                      \
  template <class T, access A = access::standard, memory_coherence C = memory_coherence_threadgroup> struct name : _texture<T, A> {                       \
    typedef T four __attribute__((ext_vector_type(4)));                                                \
    typedef result given;                                                                              \
    SOFTMETAL_METHODS(__private) SOFTMETAL_METHODS(__constant) SOFTMETAL_METHODS(__global)             \
  };
#define SOFTMETAL_METHODS(space)                                                                       \
  template <class... X> given read(X...) const space;                                                  \
  template <class... X> given sample(X...) const space;                                                \
  template <class... X> given sample_compare(X...) const space;                                        \
  template <class... X> four gather(X...) const space;                                                 \
  template <class... X> four gather_compare(X...) const space;                                         \
  template <class... X> void write(X...) const space;                                                  \
  template <class... X> uint get_width(X...) const space;                                              \
  template <class... X> uint get_height(X...) const space;                                             \
  template <class... X> uint get_depth(X...) const space;                                              \
  uint get_array_size() const space;                                                                   \
  uint get_num_mip_levels() const space;                                                               \
  uint get_num_samples() const space;                                                                  \
  template <class... X> four atomic_fetch_add(X...) const space;                                       \
  template <class... X> four atomic_fetch_sub(X...) const space;                                       \
  template <class... X> four atomic_fetch_and(X...) const space;                                       \
  template <class... X> four atomic_fetch_or(X...) const space;                                        \
  template <class... X> four atomic_fetch_xor(X...) const space;                                       \
  template <class... X> four atomic_fetch_min(X...) const space;                                       \
  template <class... X> four atomic_fetch_max(X...) const space;                                       \
  template <class... X> four atomic_exchange(X...) const space;                                        \
  template <class... X> four atomic_load(X...) const space;                                            \
  template <class... X> void atomic_store(X...) const space;                                           \
  template <class... X> bool atomic_compare_exchange_weak(X...) const space;                           \
  void fence() const space;
SOFTMETAL_TEXTURE(texture1d, four, sample) SOFTMETAL_TEXTURE(texture1d_array, four, sample) SOFTMETAL_TEXTURE(texture2d, four, sample)
SOFTMETAL_TEXTURE(texture2d_array, four, sample) SOFTMETAL_TEXTURE(texture3d, four, sample) SOFTMETAL_TEXTURE(texturecube, four, sample)
SOFTMETAL_TEXTURE(texturecube_array, four, sample) SOFTMETAL_TEXTURE(texture2d_ms, four, read) SOFTMETAL_TEXTURE(texture2d_ms_array, four, read)
SOFTMETAL_TEXTURE(texture_buffer, four, read) SOFTMETAL_TEXTURE(depth2d, T, sample) SOFTMETAL_TEXTURE(depth2d_array, T, sample)
SOFTMETAL_TEXTURE(depthcube, T, sample) SOFTMETAL_TEXTURE(depthcube_array, T, sample) SOFTMETAL_TEXTURE(depth2d_ms, T, read)
#undef SOFTMETAL_TEXTURE
#undef SOFTMETAL_METHODS
template <class X> bool is_null_texture(X);
enum class coord { normalized, pixel };
#define SOFTMETAL_ADDRESS(name) enum class name { repeat, mirrored_repeat, clamp_to_edge, clamp_to_zero, clamp_to_border };
SOFTMETAL_ADDRESS(address) SOFTMETAL_ADDRESS(s_address) SOFTMETAL_ADDRESS(t_address) SOFTMETAL_ADDRESS(r_address)
#undef SOFTMETAL_ADDRESS
enum class filter { nearest, linear, bicubic };
enum class mag_filter { nearest, linear, bicubic };
enum class min_filter { nearest, linear, bicubic };
enum class mip_filter { none, nearest, linear };
enum class compare_func { never, less, less_equal, greater, greater_equal, equal, not_equal, always, none };
enum class border_color { transparent_black, opaque_black, opaque_white };
enum class component { x, y, z, w };
enum class reduction { weighted_average, minimum, maximum };
struct max_anisotropy { constexpr max_anisotropy(int) {} };
struct lod_clamp { constexpr lod_clamp(float, float) {} };
struct sampler {
  template <class... A> constexpr sampler(A...) {}
};
struct level { constexpr level(float) {} };
struct bias { constexpr bias(float) {} };
struct min_lod_clamp { constexpr min_lod_clamp(float) {} };
struct gradient2d { gradient2d(float2, float2) {} };
struct gradient3d { gradient3d(float3, float3) {} };
struct gradientcube { gradientcube(float3, float3) {} };

template <class F> struct visible_function_table {
  F &operator[](size_t) const;
  bool empty() const;
};
template <class F> bool is_null_visible_function_table(visible_function_table<F>);
namespace raytracing {}
} // namespace metal

namespace softmetal {
template <class T> struct is_texture { static constexpr bool value = false; };
#define SOFTMETAL_TEXTURE(name) template <class T, metal::access A, metal::memory_coherence C> struct is_texture<metal::name<T, A, C>> { static constexpr bool value = true; };
SOFTMETAL_TEXTURE(texture1d) SOFTMETAL_TEXTURE(texture1d_array) SOFTMETAL_TEXTURE(texture2d) SOFTMETAL_TEXTURE(texture2d_array)
SOFTMETAL_TEXTURE(texture3d) SOFTMETAL_TEXTURE(texturecube) SOFTMETAL_TEXTURE(texturecube_array) SOFTMETAL_TEXTURE(texture2d_ms)
SOFTMETAL_TEXTURE(texture2d_ms_array) SOFTMETAL_TEXTURE(texture_buffer) SOFTMETAL_TEXTURE(depth2d) SOFTMETAL_TEXTURE(depth2d_array)
SOFTMETAL_TEXTURE(depthcube) SOFTMETAL_TEXTURE(depthcube_array) SOFTMETAL_TEXTURE(depth2d_ms)
#undef SOFTMETAL_TEXTURE
template <class T, size_t N> struct is_texture<metal::array<T, N>> : is_texture<T> {};
template <class T> struct is_sampler { static constexpr bool value = false; };
template <> struct is_sampler<metal::sampler> { static constexpr bool value = true; };
template <class T, size_t N> struct is_sampler<metal::array<T, N>> : is_sampler<T> {};
template <class T> struct is_table { static constexpr bool value = false; };
template <class F> struct is_table<metal::visible_function_table<F>> { static constexpr bool value = true; };
} // namespace softmetal

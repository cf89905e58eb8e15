// Textures and samplers, by what their functions give.
#pragma once
namespace metal {
enum class access { sample, read, write, sm_read_write };
#define SOFTMETAL_TEXTURE(name)                                                                        \
  template <class T, access A = access::sample> struct name {                                          \
    typedef T four __attribute__((ext_vector_type(4)));                                                \
    SOFTMETAL_METHODS(__private) SOFTMETAL_METHODS(__constant) SOFTMETAL_METHODS(__global)             \
  };
#define SOFTMETAL_METHODS(space)                                                                       \
  template <class... X> four read(X...) const space;                                                   \
  template <class... X> four sample(X...) const space;                                                 \
  template <class... X> four gather(X...) const space;                                                 \
  template <class... X> void write(X...) const space;                                                  \
  template <class... X> uint get_width(X...) const space;                                              \
  template <class... X> uint get_height(X...) const space;                                             \
  template <class... X> uint get_depth(X...) const space;                                              \
  uint get_array_size() const space;                                                                   \
  uint get_num_mip_levels() const space;                                                               \
  uint get_num_samples() const space;                                                                  \
  void fence() const space;
SOFTMETAL_TEXTURE(texture1d) SOFTMETAL_TEXTURE(texture1d_array) SOFTMETAL_TEXTURE(texture2d) SOFTMETAL_TEXTURE(texture2d_array)
SOFTMETAL_TEXTURE(texture3d) SOFTMETAL_TEXTURE(texturecube) SOFTMETAL_TEXTURE(texturecube_array) SOFTMETAL_TEXTURE(texture2d_ms)
SOFTMETAL_TEXTURE(texture2d_ms_array) SOFTMETAL_TEXTURE(texture_buffer)
#undef SOFTMETAL_TEXTURE
#undef SOFTMETAL_METHODS
enum class coord { normalized, pixel };
enum class address { repeat, mirrored_repeat, clamp_to_edge, clamp_to_zero, clamp_to_border };
enum class filter { nearest, linear, bicubic };
enum class mip_filter { none, nearest, linear };
enum class compare_func { never, less, less_equal, greater, greater_equal, equal, not_equal, always };
struct sampler {
  template <class... A> constexpr sampler(A...) {}
};
struct level { level(float) {} };
struct bias { bias(float) {} };
} // namespace metal

// metal_tensor, by what its functions give.
#pragma once
namespace softmetal_tensor {
template <class I, size_t... E> struct extents { typedef I index_type; };
constexpr __constant size_t dynamic_extent = ~size_t(0);
template <class I, size_t R> struct dextents { typedef I index_type; };
struct tensor_handle {};
struct tensor_inline {};
struct tensor_offset {};
template <class T, class E, class... Tags> struct tensor {
  typedef typename E::index_type index_type;
  static constexpr size_t get_rank() { return 0; }
  index_type get_extent(size_t) const;
  index_type get_stride(size_t) const;
  template <class... I> T &operator()(I...) const;
  template <class I> T &operator[](I) const;
};
} // namespace softmetal_tensor
namespace softmetal {
template <class T, class E, class... A> struct is_table<softmetal_tensor::tensor<T, E, A...>> { static constexpr bool value = true; };
} // namespace softmetal

// metal_tensor of Metal 4, as a view of memory. A kernel's parameter is a buffer that describes it: the address of the first element, then
// as many extents as it has axes and as many strides, all in 64 bits. <metal_tensor> brings the names into namespace metal.
#pragma once

namespace softmetal_tensor {
template <class I, size_t... E> struct extents {
  typedef I index_type;
  static constexpr size_t rank() { return sizeof...(E); }
};
constexpr size_t dynamic_extent = ~size_t(0);
template <class I, size_t R> struct dextents {
  typedef I index_type;
  static constexpr size_t rank() { return R; }
};
struct tensor_handle {};
struct tensor_inline {};
struct tensor_offset {};
template <class T, class E, class... Tags> struct tensor {
  typedef T value_type;
  typedef typename E::index_type index_type;
  static constexpr size_t rank() { return E::rank(); }
  static constexpr size_t get_rank() { return E::rank(); }
  explicit tensor(void *description) {
    const long *words = static_cast<const long *>(description);
    _data = reinterpret_cast<T *>(words[0]);
    for (size_t i = 0; i < rank(); i++) _extents[i] = words[1 + i], _strides[i] = words[1 + rank() + i];
  }
  index_type get_extent(size_t axis) const { return index_type(_extents[axis]); }
  index_type get_stride(size_t axis) const { return index_type(_strides[axis]); }
  template <class... I> T &operator()(I... i) const { return at(i...); }
  template <class I> T &operator[](metal::array<I, E::rank()> i) const {
    long offset = 0;
    for (size_t k = 0; k < rank(); k++) offset += long(i[k]) * _strides[k];
    return _data[offset];
  }

private:
  T *_data;
  long _extents[E::rank()], _strides[E::rank()];
  template <class... I> T &at(I... i) const {
    static_assert(sizeof...(I) == E::rank(), "a tensor has one index per axis");
    const long all[] = {long(i)...};
    long offset = 0;
    for (size_t k = 0; k < rank(); k++) offset += all[k] * _strides[k];
    return _data[offset];
  }
};
} // namespace softmetal_tensor

// Vectors of 8 and 16 elements (metal_extended_vector), which have no named components.
#pragma once

namespace metal {
template <class A> struct _vec;
template <class T, unsigned N> using vec = _vec<T[N]>;
template <class T, size_t N> struct alignas(N * sizeof(T)) _vec<T[N]> {
  static_assert(N == 8 || N == 16, "a vector has 2, 3, 4, 8 or 16 elements");
  typedef T value_type;
  T elements[N];

  _vec() = default;
  constexpr _vec(T s) : elements{} { for (unsigned i = 0; i < N; i++) elements[i] = s; }
  template <class... A, class = enable_if_t<sizeof...(A) == N>> constexpr _vec(A... a) : elements{T(a)...} {}
  template <class U> constexpr explicit _vec(const vec<U, N> &v) : elements{} {
    for (unsigned i = 0; i < N; i++) elements[i] = softmetal::cast<T>(v[i]);
  }
  constexpr T &operator[](size_t i) { return elements[i]; }
  constexpr const T &operator[](size_t i) const { return elements[i]; }
#define SOFTMETAL_2(op)                                                                                                \
  friend constexpr _vec operator op(_vec a, _vec b) {                                                                  \
    for (unsigned i = 0; i < N; i++) a[i] = T(a[i] op b[i]);                                                           \
    return a;                                                                                                          \
  }                                                                                                                    \
  friend constexpr _vec &operator op##=(_vec &a, _vec b) { return a = a op b; }
  SOFTMETAL_2(+) SOFTMETAL_2(-) SOFTMETAL_2(*) SOFTMETAL_2(/) SOFTMETAL_2(%) SOFTMETAL_2(&) SOFTMETAL_2(|) SOFTMETAL_2(^)
  SOFTMETAL_2(<<) SOFTMETAL_2(>>)
#undef SOFTMETAL_2
  friend constexpr _vec operator-(_vec a) { return _vec(T(0)) - a; }
};
} // namespace metal

// Vectors of 8 and 16 elements (metal_extended_vector), which have no named components.
#pragma once

namespace metal {
template <class T, unsigned N> struct alignas(N * sizeof(T)) vec {
  static_assert(N == 8 || N == 16, "a vector has 2, 3, 4, 8 or 16 elements");
  typedef T value_type;
  T elements[N];

  vec() = default;
  constexpr vec(T s) : elements{} { for (unsigned i = 0; i < N; i++) elements[i] = s; }
  template <class... A, class = enable_if_t<sizeof...(A) == N>> constexpr vec(A... a) : elements{T(a)...} {}
  template <class U> constexpr explicit vec(const vec<U, N> &v) : elements{} {
    for (unsigned i = 0; i < N; i++) elements[i] = softmetal::cast<T>(v[i]);
  }
  constexpr T &operator[](size_t i) { return elements[i]; }
  constexpr const T &operator[](size_t i) const { return elements[i]; }
#define SOFTMETAL_2(op)                                                                                                \
  friend constexpr vec operator op(vec a, vec b) {                                                                     \
    for (unsigned i = 0; i < N; i++) a[i] = T(a[i] op b[i]);                                                           \
    return a;                                                                                                          \
  }                                                                                                                    \
  friend constexpr vec &operator op##=(vec &a, vec b) { return a = a op b; }
  SOFTMETAL_2(+) SOFTMETAL_2(-) SOFTMETAL_2(*) SOFTMETAL_2(/) SOFTMETAL_2(%) SOFTMETAL_2(&) SOFTMETAL_2(|) SOFTMETAL_2(^)
  SOFTMETAL_2(<<) SOFTMETAL_2(>>)
#undef SOFTMETAL_2
  friend constexpr vec operator-(vec a) { return vec(T(0)) - a; }
};
} // namespace metal

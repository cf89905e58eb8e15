// matrix<T, C, R>. A column is an object in the matrix's own address space.
#pragma once
namespace metal {
template <class T, int C, int R> struct matrix {
  typedef T column __attribute__((ext_vector_type(R)));
  typedef T row __attribute__((ext_vector_type(C)));
  column columns[C];
  matrix() = default;
  template <class... A> explicit constexpr matrix(A...) {}
#define SOFTMETAL_COLUMNS(space)                                        \
  space column &operator[](size_t c) space { return columns[c]; }       \
  const space column &operator[](size_t c) const space { return columns[c]; } \
  void operator=(matrix) space;
  SOFTMETAL_COLUMNS(__private) SOFTMETAL_COLUMNS(__global) SOFTMETAL_COLUMNS(__local)
#undef SOFTMETAL_COLUMNS
  const __constant column &operator[](size_t c) const __constant { return columns[c]; }
  matrix(const __private matrix &) {}
  matrix(const __global matrix &) {}
  matrix(const __local matrix &) {}
  matrix(const __constant matrix &) {}
};
template <class T, int C, int R> matrix<T, C, R> operator+(matrix<T, C, R>, matrix<T, C, R>);
template <class T, int C, int R> matrix<T, C, R> operator-(matrix<T, C, R>, matrix<T, C, R>);
template <class T, int C, int R> matrix<T, C, R> operator-(matrix<T, C, R>);
template <class T, int C, int R, int K> matrix<T, K, R> operator*(matrix<T, C, R>, matrix<T, K, C>);
template <class T, int C, int R> matrix<T, C, R> operator*(matrix<T, C, R>, T);
template <class T, int C, int R> matrix<T, C, R> operator*(T, matrix<T, C, R>);
#define SOFTMETAL_OTHER class U, class = enable_if_t<is_arithmetic<U>::value && __is_scalar(U) && !__is_same(U, T)>
template <class T, int C, int R, SOFTMETAL_OTHER> matrix<T, C, R> operator*(matrix<T, C, R>, U) = delete("a matrix is multiplied by scalars of its element type");
template <class T, int C, int R, SOFTMETAL_OTHER> matrix<T, C, R> operator*(U, matrix<T, C, R>) = delete("a matrix is multiplied by scalars of its element type");
#undef SOFTMETAL_OTHER
template <class T, int C, int R> typename matrix<T, C, R>::column operator*(matrix<T, C, R>, typename matrix<T, C, R>::row);
template <class T, int C, int R> typename matrix<T, C, R>::row operator*(typename matrix<T, C, R>::column, matrix<T, C, R>);
// A swizzle is no object that a reference could bind to.
#define SOFTMETAL_TIMES(space) template <class T, int N> void operator*=(space vec<T, N> &, matrix<T, N, N>);
SOFTMETAL_TIMES(__private) SOFTMETAL_TIMES(__global) SOFTMETAL_TIMES(__local)
#undef SOFTMETAL_TIMES
template <class T, int C, int R> matrix<T, R, C> transpose(matrix<T, C, R>);
template <class T, int C> T determinant(matrix<T, C, C>);
} // namespace metal
#define SOFTMETAL_MATRICES(T, n)                                                                     \
  typedef metal::matrix<T, n, 2> T##n##x2; typedef metal::matrix<T, n, 3> T##n##x3;                  \
  typedef metal::matrix<T, n, 4> T##n##x4;                                                           \
  namespace metal { using ::T##n##x2; using ::T##n##x3; using ::T##n##x4; }
SOFTMETAL_MATRICES(float, 2) SOFTMETAL_MATRICES(float, 3) SOFTMETAL_MATRICES(float, 4)
SOFTMETAL_MATRICES(half, 2) SOFTMETAL_MATRICES(half, 3) SOFTMETAL_MATRICES(half, 4)
#undef SOFTMETAL_MATRICES

// matrix<T, C, R>: C columns of R rows.
#pragma once

namespace metal {
template <class T, unsigned C, unsigned R> struct matrix {
  vec<T, R> columns[C];
  matrix() = default;
  explicit matrix(T diagonal) {
    for (unsigned c = 0; c < C; c++)
      for (unsigned r = 0; r < R; r++) columns[c][r] = c == r ? diagonal : T(0);
  }
  template <class... V, class = enable_if_t<sizeof...(V) + 1 == C>>
  constexpr matrix(vec<T, R> first, V... rest) : columns{first, vec<T, R>(rest)...} {}
  template <class... S, class = enable_if_t<sizeof...(S) + 2 == C * R>> matrix(T a, T b, S... rest) {
    const T all[] = {a, b, T(rest)...};
    for (unsigned i = 0; i < C * R; i++) columns[i / R][i % R] = all[i];
  }
  template <class U> explicit matrix(const matrix<U, C, R> &m) {
    for (unsigned c = 0; c < C; c++) columns[c] = vec<T, R>(m.columns[c]);
  }
  vec<T, R> &operator[](size_t c) { return columns[c]; }
  const vec<T, R> &operator[](size_t c) const { return columns[c]; }
  friend matrix operator+(matrix a, const matrix &b) {
    for (unsigned c = 0; c < C; c++) a.columns[c] += b.columns[c];
    return a;
  }
  friend matrix operator-(matrix a, const matrix &b) {
    for (unsigned c = 0; c < C; c++) a.columns[c] -= b.columns[c];
    return a;
  }
  friend matrix operator-(matrix a) {
    for (unsigned c = 0; c < C; c++) a.columns[c] = -a.columns[c];
    return a;
  }
  friend matrix operator*(matrix a, T s) {
    for (unsigned c = 0; c < C; c++) a.columns[c] *= vec<T, R>(s);
    return a;
  }
  friend matrix operator*(T s, const matrix &a) { return a * s; }
  template <class U, class = enable_if_t<is_arithmetic<U>::value && !is_same<U, T>::value>> friend matrix operator*(matrix, U) = delete("a matrix is multiplied by scalars of its element type");
  template <class U, class = enable_if_t<is_arithmetic<U>::value && !is_same<U, T>::value>> friend matrix operator*(U, matrix) = delete("a matrix is multiplied by scalars of its element type");
  friend vec<T, R> operator*(const matrix &a, vec<T, C> v) {
    vec<T, R> r = a.columns[0] * vec<T, R>(v[0]);
    for (unsigned c = 1; c < C; c++) r += a.columns[c] * vec<T, R>(v[c]);
    return r;
  }
  friend vec<T, C> operator*(vec<T, R> v, const matrix &a) {
    vec<T, C> r;
    for (unsigned c = 0; c < C; c++) {
      T s = T(0);
      for (unsigned i = 0; i < R; i++) s += v[i] * a.columns[c][i];
      r[c] = s;
    }
    return r;
  }
  matrix &operator+=(const matrix &b) { return *this = *this + b; }
  matrix &operator-=(const matrix &b) { return *this = *this - b; }
  matrix &operator*=(T s) { return *this = *this * s; }
  template <class U, class = enable_if_t<is_arithmetic<U>::value && !is_same<U, T>::value>> matrix &operator*=(U) = delete("a matrix is multiplied by scalars of its element type");
  matrix &operator*=(const matrix<T, C, C> &b) { return *this = *this * b; }
  friend bool operator==(const matrix &a, const matrix &b) {
    for (unsigned i = 0; i < C * R; i++)
      if (!(a.columns[i / R][i % R] == b.columns[i / R][i % R])) return false;
    return true;
  }
  friend bool operator!=(const matrix &a, const matrix &b) { return !(a == b); }
};

template <class T, unsigned K, unsigned R, unsigned C>
matrix<T, C, R> operator*(const matrix<T, K, R> &a, const matrix<T, C, K> &b) {
  matrix<T, C, R> m;
  for (unsigned c = 0; c < C; c++) m.columns[c] = a * b.columns[c];
  return m;
}
template <class T, unsigned N> vec<T, N> &operator*=(vec<T, N> &v, const matrix<T, N, N> &m) { return v = v * m; }
template <class T, unsigned C, unsigned R> matrix<T, R, C> transpose(const matrix<T, C, R> &a) {
  matrix<T, R, C> m;
  for (unsigned c = 0; c < C; c++)
    for (unsigned r = 0; r < R; r++) m.columns[r][c] = a.columns[c][r];
  return m;
}
template <class T> T determinant(const matrix<T, 2, 2> &m) { return m[0][0] * m[1][1] - m[1][0] * m[0][1]; }
template <class T> T determinant(const matrix<T, 3, 3> &m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[2][1] * m[1][2]) - m[1][0] * (m[0][1] * m[2][2] - m[2][1] * m[0][2]) +
         m[2][0] * (m[0][1] * m[1][2] - m[1][1] * m[0][2]);
}
template <class T> T determinant(const matrix<T, 4, 4> &m) {
  T sum = T(0);
  for (unsigned c = 0; c < 4; c++) {
    matrix<T, 3, 3> minor;
    for (unsigned k = 0, at = 0; k < 4; k++)
      if (k != c) {
        minor.columns[at++] = vec<T, 3>(m[k][1], m[k][2], m[k][3]);
      }
    sum += (c % 2 ? -m[c][0] : m[c][0]) * determinant(minor);
  }
  return sum;
}
} // namespace metal

#define SOFTMETAL_MATRICES(T)                                                                                    \
  typedef metal::matrix<T, 2, 2> T##2x2; typedef metal::matrix<T, 2, 3> T##2x3; typedef metal::matrix<T, 2, 4> T##2x4; \
  typedef metal::matrix<T, 3, 2> T##3x2; typedef metal::matrix<T, 3, 3> T##3x3; typedef metal::matrix<T, 3, 4> T##3x4; \
  typedef metal::matrix<T, 4, 2> T##4x2; typedef metal::matrix<T, 4, 3> T##4x3; typedef metal::matrix<T, 4, 4> T##4x4; \
  namespace metal {                                                                                              \
  using ::T##2x2; using ::T##2x3; using ::T##2x4; using ::T##3x2; using ::T##3x3; using ::T##3x4;                \
  using ::T##4x2; using ::T##4x3; using ::T##4x4;                                                                \
  }
SOFTMETAL_MATRICES(float) SOFTMETAL_MATRICES(half)
#undef SOFTMETAL_MATRICES

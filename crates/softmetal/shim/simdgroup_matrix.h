// metal_simdgroup_matrix. The last lane, which the device runs first, holds the whole 8x8 matrix and does the work for all, so that loads,
// stores and products need no exchange. Sources that ask for thread_elements() have the matrices of lane_matrix.h instead.
#pragma once

namespace metal {
namespace _impl {
typedef float float8 __attribute__((ext_vector_type(8)));
typedef half half8 __attribute__((ext_vector_type(8)));

// Where hardware keeps the two elements of a lane.
SOFTMETAL_INLINE uint matrix_row(uint lane) { return (lane / 4 & 4) + lane / 2 % 4; }
SOFTMETAL_INLINE uint matrix_column(uint lane) { return (lane / 4 & 2) * 2 + lane % 2 * 2; }

SOFTMETAL_INLINE float8 row8(const float *p) {
  float8 r;
  __builtin_memcpy(&r, p, 32);
  return r;
}
SOFTMETAL_INLINE float8 row8(const half *p) {
  half8 r;
  __builtin_memcpy(&r, p, 16);
  return __builtin_convertvector(r, float8);
}
SOFTMETAL_INLINE float8 row8(const bfloat *p) {
  float8 r;
  for (int i = 0; i < 8; i++) r[i] = float(p[i]);
  return r;
}
SOFTMETAL_INLINE void put8(float *p, float8 v) { __builtin_memcpy(p, &v, 32); }
template <class T> SOFTMETAL_INLINE void put8(T *p, float8 v) {
  for (int i = 0; i < 8; i++) p[i] = T(v[i]);
}
enum { counts_matrix_memory = 1, counts_matrix_product = 2 };
// The device runs the last lane of a simdgroup first.
SOFTMETAL_INLINE bool leads() {
  const softmetal::Lane *l = softmetal::current_lane();
  return l->lane + 1 == l->group->simd_width || l->index + 1 == l->group->thread_count;
}
// The leading lane must not touch memory before the others have done what precedes; hardware runs them in step. After a
// simdgroup barrier or another matrix operation they are in step already. With checks on, they always meet.
SOFTMETAL_INLINE void together(uint what, const char *file, unsigned site) {
#ifdef SOFTMETAL_CHECK
  softmetal_runtime->collective(softmetal::current_lane(), nullptr, nullptr, file, site, softmetal::all_lanes);
  if (what && leads()) softmetal_runtime->count(softmetal::current_lane(), what, 1);
#endif
}
SOFTMETAL_INLINE void meet(const char *file, unsigned site) {
#ifdef SOFTMETAL_CHECK
  together(counts_matrix_memory, file, site);
#else
  if (!softmetal::current_lane()->in_step)
    softmetal_runtime->collective(softmetal::current_lane(), nullptr, nullptr, file, site, softmetal::all_lanes);
#endif
}
} // namespace _impl

template <class T, int Cols, int Rows> struct simdgroup_matrix {
  static_assert(Cols == 8 && Rows == 8, "Metal has simdgroup matrices of 8x8 only");
  static_assert(is_floating_point<T>::value, "Metal has simdgroup matrices of half, bfloat and float only");
  typedef vec<T, 2> storage_type;
  T full[64];

  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T diagonal) {
    for (int i = 0; i < 64; i++) full[i] = i % 9 == 0 ? diagonal : T(0);
  }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int C, int R = C> inline simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, C, R> m;
  for (int i = 0; i < 64; i++) m.full[i] = value;
  return m;
}
template <class T, int C, int R = C> inline simdgroup_matrix<T, C, R> make_diagonal_simdgroup_matrix(T value) { return simdgroup_matrix<T, C, R>(value); }

template <class T, int C, int R, class U>
inline void simdgroup_load(simdgroup_matrix<T, C, R> &d, const U *src, ulong stride = C, ulong2 origin = ulong2(0, 0), bool transposed = false, SOFTMETAL_SITE) {
  static_assert(is_same<T, __remove_cv(U)>::value, "a simdgroup matrix is loaded from elements of its own type");
  _impl::meet(SOFTMETAL_HERE);
  if (!_impl::leads()) return;
  const U *p = src + origin.y * stride + origin.x;
  for (ulong r = 0; r < 8; r++)
    for (ulong c = 0; c < 8; c++) d.full[r * 8 + c] = softmetal::cast<T>(transposed ? p[c * stride + r] : p[r * stride + c]);
}
template <class T, int C, int R, class U>
inline void simdgroup_store(const simdgroup_matrix<T, C, R> &s, U *dst, ulong stride = C, ulong2 origin = ulong2(0, 0), bool transposed = false, SOFTMETAL_SITE) {
  static_assert(is_same<T, __remove_cv(U)>::value, "a simdgroup matrix is stored to elements of its own type");
  _impl::meet(SOFTMETAL_HERE);
  if (_impl::leads()) {
    U *p = dst + origin.y * stride + origin.x;
    for (ulong r = 0; r < 8; r++)
      for (ulong c = 0; c < 8; c++) (transposed ? p[c * stride + r] : p[r * stride + c]) = softmetal::cast<U>(s.full[r * 8 + c]);
  }
  _impl::together(0, SOFTMETAL_HERE);
  softmetal::current_lane()->in_step = 0;
}
// The argument is a short vector where the caller has no need for 64 bits.
template <class T, int C, int R, class U, class V>
inline void simdgroup_load(simdgroup_matrix<T, C, R> &d, const U *src, ulong stride, vec<V, 2> origin, bool transposed = false, SOFTMETAL_SITE) {
  simdgroup_load(d, src, stride, ulong2(origin), transposed, SOFTMETAL_HERE);
}
template <class T, int C, int R, class U, class V>
inline void simdgroup_store(const simdgroup_matrix<T, C, R> &s, U *dst, ulong stride, vec<V, 2> origin, bool transposed = false, SOFTMETAL_SITE) {
  simdgroup_store(s, dst, stride, ulong2(origin), transposed, SOFTMETAL_HERE);
}

namespace _impl {
#ifdef SOFTMETAL_CHECK
#define SOFTMETAL_PRODUCT inline __attribute__((noinline))
#else
#define SOFTMETAL_PRODUCT SOFTMETAL_INLINE
#endif
template <bool Accumulate, class D, class A, class B, class C>
SOFTMETAL_PRODUCT void product(D *d, const A *a, const B *b, const C *c) {
  float8 rows[8], result[8];
  for (int k = 0; k < 8; k++) rows[k] = row8(b + k * 8);
  for (int r = 0; r < 8; r++) {
    float8 sum = Accumulate ? row8(c + r * 8) : float8(0.0f);
    for (int k = 0; k < 8; k++) sum += float8(float(a[r * 8 + k])) * rows[k];
    result[r] = sum;
  }
  for (int r = 0; r < 8; r++) put8(d + r * 8, result[r]);
}
} // namespace _impl

template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a, const simdgroup_matrix<B, 8, 8> &b,
                                          const simdgroup_matrix<C, 8, 8> &c, SOFTMETAL_SITE) {
  _impl::together(_impl::counts_matrix_product, SOFTMETAL_HERE);
  if (_impl::leads()) _impl::product<true>(d.full, a.full, b.full, c.full);
}
template <class D, class A, class B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a, const simdgroup_matrix<B, 8, 8> &b, SOFTMETAL_SITE) {
  _impl::together(_impl::counts_matrix_product, SOFTMETAL_HERE);
  if (_impl::leads()) _impl::product<false>(d.full, a.full, b.full, (const D *)nullptr);
}
template <class T> inline simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8> &a, const simdgroup_matrix<T, 8, 8> &b) {
  simdgroup_matrix<T, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}
} // namespace metal

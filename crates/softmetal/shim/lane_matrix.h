// simdgroup_matrix of kernels that ask for thread_elements(): each lane holds its two elements, as on hardware, also where its neighbours have
// returned. Products exchange elements between lanes, so kernels that never ask have the faster matrices of simdgroup_matrix.h; the rewriter
// chooses, by the macros of the same names.
#pragma once

namespace metal {
template <class T, int Cols, int Rows> struct _lane_matrix {
  static_assert(Cols == 8 && Rows == 8, "Metal has simdgroup matrices of 8x8 only");
  static_assert(is_floating_point<T>::value, "Metal has simdgroup matrices of half, bfloat and float only");
  typedef vec<T, 2> storage_type;
  storage_type own;

  _lane_matrix() = default;
  explicit _lane_matrix(T diagonal) {
    uint lane = softmetal::current_lane()->lane, row = _impl::matrix_row(lane), column = _impl::matrix_column(lane);
    own = storage_type(row == column ? diagonal : T(0), row == column + 1 ? diagonal : T(0));
  }
  storage_type &thread_elements() { return own; }
  const storage_type &thread_elements() const { return own; }
};
typedef _lane_matrix<float, 8, 8> _lane_float8x8;
typedef _lane_matrix<half, 8, 8> _lane_half8x8;
typedef _lane_matrix<bfloat, 8, 8> _lane_bfloat8x8;

template <class T, int C, int R = C> inline _lane_matrix<T, C, R> _make_filled_lane_matrix(T value) {
  _lane_matrix<T, C, R> m;
  m.own = value;
  return m;
}
template <class T, int C, int R = C> inline _lane_matrix<T, C, R> _make_diagonal_lane_matrix(T value) { return _lane_matrix<T, C, R>(value); }

namespace _impl {
// Where the first element of this lane lies in memory, and how far the second is from it.
struct lane_place {
  ulong first, step;
  SOFTMETAL_INLINE lane_place(ulong stride, ulong2 origin, bool transposed) {
    uint lane = softmetal::current_lane()->lane;
    ulong row = matrix_row(lane), column = matrix_column(lane);
    first = origin.y * stride + origin.x + (transposed ? column * stride + row : row * stride + column);
    step = transposed ? stride : 1;
  }
};
} // namespace _impl

template <class T, int C, int R, class U>
inline void simdgroup_load(_lane_matrix<T, C, R> &d, const U *src, ulong stride = C, ulong2 origin = ulong2(0, 0), bool transposed = false, SOFTMETAL_SITE) {
  static_assert(is_same<T, __remove_cv(U)>::value, "a simdgroup matrix is loaded from elements of its own type");
  _impl::meet(SOFTMETAL_HERE);
  _impl::lane_place at(stride, origin, transposed);
  d.own.x = src[at.first];
  d.own.y = src[at.first + at.step];
}
template <class T, int C, int R, class U>
inline void simdgroup_store(const _lane_matrix<T, C, R> &s, U *dst, ulong stride = C, ulong2 origin = ulong2(0, 0), bool transposed = false, SOFTMETAL_SITE) {
  static_assert(is_same<T, __remove_cv(U)>::value, "a simdgroup matrix is stored to elements of its own type");
  _impl::meet(SOFTMETAL_HERE);
  _impl::lane_place at(stride, origin, transposed);
  dst[at.first] = s.own.x;
  dst[at.first + at.step] = s.own.y;
  _impl::together(0, SOFTMETAL_HERE);
  softmetal::current_lane()->in_step = 0;
}
template <class T, int C, int R, class U, class V>
inline void simdgroup_load(_lane_matrix<T, C, R> &d, const U *src, ulong stride, vec<V, 2> origin, bool transposed = false, SOFTMETAL_SITE) {
  simdgroup_load(d, src, stride, ulong2(origin), transposed, SOFTMETAL_HERE);
}
template <class T, int C, int R, class U, class V>
inline void simdgroup_store(const _lane_matrix<T, C, R> &s, U *dst, ulong stride, vec<V, 2> origin, bool transposed = false, SOFTMETAL_SITE) {
  simdgroup_store(s, dst, stride, ulong2(origin), transposed, SOFTMETAL_HERE);
}

namespace _impl {
// What a lane gives and gets: two elements of each factor, of the addend, and of the result.
struct lane_elements {
  float2 a, b, c, d;
};
template <bool Accumulate> ulong lane_product(void **slots, ulong active) {
  float a[64] = {}, b[64] = {}, c[64] = {}, d[64];
  each(active, [&](int l) {
    const lane_elements &e = *static_cast<const lane_elements *>(slots[l]);
    unsigned at = matrix_row(l) * 8 + matrix_column(l);
    for (unsigned i = 0; i < 2; i++) a[at + i] = e.a[i], b[at + i] = e.b[i], c[at + i] = e.c[i];
  });
  product<Accumulate>(d, a, b, c);
  each(active, [&](int l) {
    unsigned at = matrix_row(l) * 8 + matrix_column(l);
    static_cast<lane_elements *>(slots[l])->d = float2(d[at], d[at + 1]);
  });
  return 0;
}
template <bool Accumulate> inline float2 lane_multiply(float2 a, float2 b, float2 c, const char *file, unsigned site) {
  lane_elements e = {a, b, c, float2(0)};
  softmetal_runtime->collective(softmetal::current_lane(), &e, &lane_product<Accumulate>, file, site, softmetal::all_lanes);
#ifdef SOFTMETAL_CHECK
  if (leads()) softmetal_runtime->count(softmetal::current_lane(), counts_matrix_product, 1);
#endif
  return e.d;
}
} // namespace _impl

template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(_lane_matrix<D, 8, 8> &d, const _lane_matrix<A, 8, 8> &a, const _lane_matrix<B, 8, 8> &b,
                                          const _lane_matrix<C, 8, 8> &c, SOFTMETAL_SITE) {
  d.own = vec<D, 2>(_impl::lane_multiply<true>(float2(a.own), float2(b.own), float2(c.own), SOFTMETAL_HERE));
}
template <class D, class A, class B>
inline void simdgroup_multiply(_lane_matrix<D, 8, 8> &d, const _lane_matrix<A, 8, 8> &a, const _lane_matrix<B, 8, 8> &b, SOFTMETAL_SITE) {
  d.own = vec<D, 2>(_impl::lane_multiply<false>(float2(a.own), float2(b.own), float2(0), SOFTMETAL_HERE));
}
template <class T> inline _lane_matrix<T, 8, 8> operator*(const _lane_matrix<T, 8, 8> &a, const _lane_matrix<T, 8, 8> &b) {
  _lane_matrix<T, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}
} // namespace metal

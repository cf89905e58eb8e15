// Simdgroup and quadgroup functions, simdgroup matrices, logging.
#pragma once
namespace metal {
#define SOFTMETAL_BOTH(name) template <class T, class... A> T simd_##name(T, A...); template <class T, class... A> T quad_##name(T, A...);
SOFTMETAL_BOTH(sum) SOFTMETAL_BOTH(product) SOFTMETAL_BOTH(min) SOFTMETAL_BOTH(max) SOFTMETAL_BOTH(and) SOFTMETAL_BOTH(or) SOFTMETAL_BOTH(xor)
SOFTMETAL_BOTH(prefix_exclusive_sum) SOFTMETAL_BOTH(prefix_inclusive_sum) SOFTMETAL_BOTH(prefix_exclusive_product)
SOFTMETAL_BOTH(prefix_inclusive_product) SOFTMETAL_BOTH(shuffle) SOFTMETAL_BOTH(broadcast) SOFTMETAL_BOTH(broadcast_first)
SOFTMETAL_BOTH(shuffle_up) SOFTMETAL_BOTH(shuffle_down) SOFTMETAL_BOTH(shuffle_xor) SOFTMETAL_BOTH(shuffle_rotate_up)
SOFTMETAL_BOTH(shuffle_rotate_down) SOFTMETAL_BOTH(shuffle_and_fill_up) SOFTMETAL_BOTH(shuffle_and_fill_down)
#undef SOFTMETAL_BOTH
#define SOFTMETAL_VOTES(name, bits)                                                       \
  struct name##_vote {                                                                    \
    typedef bits vote_t;                                                                  \
    name##_vote() = default;                                                              \
    explicit constexpr name##_vote(vote_t) {}                                             \
    explicit constexpr operator vote_t() const { return 0; }                              \
    bool all() const;                                                                     \
    bool any() const;                                                                     \
  };                                                                                      \
  name##_vote name##_ballot(bool);                                                        \
  name##_vote name##_active_threads_mask();                                               \
  bool name##_all(bool);                                                                  \
  bool name##_any(bool);                                                                  \
  bool name##_is_first();
SOFTMETAL_VOTES(simd, ulong) SOFTMETAL_VOTES(quad, uint)
#undef SOFTMETAL_VOTES
bool simd_is_helper_thread();

template <class T, int C, int R = C> struct simdgroup_matrix {
  typedef T storage_type __attribute__((ext_vector_type(2)));
  storage_type own;
  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T) {}
  __private storage_type &thread_elements() { return own; }
  const __private storage_type &thread_elements() const { return own; }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
template <class T, int C, int R = C> simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T);
template <class T, int C, int R = C> simdgroup_matrix<T, C, R> make_diagonal_simdgroup_matrix(T);
#define SOFTMETAL_LOADS(space) \
  template <class T, int C, int R, class U, class... A> void simdgroup_load(__private simdgroup_matrix<T, C, R> &, const space U *, A...);
SOFTMETAL_LOADS(__global) SOFTMETAL_LOADS(__local)
#define SOFTMETAL_STORES(space) \
  template <class T, int C, int R, class U, class... A> void simdgroup_store(__private simdgroup_matrix<T, C, R>, space U *, A...);
SOFTMETAL_STORES(__global) SOFTMETAL_STORES(__local)
#undef SOFTMETAL_LOADS
#undef SOFTMETAL_STORES
template <class D, class A, class B, class C>
void simdgroup_multiply_accumulate(__private simdgroup_matrix<D, 8, 8> &, A, B, C);
template <class D, class A, class B> void simdgroup_multiply(__private simdgroup_matrix<D, 8, 8> &, A, B);
template <class T> simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8>, simdgroup_matrix<T, 8, 8>);

enum os_log_type { os_log_type_default, os_log_type_info, os_log_type_debug, os_log_type_error, os_log_type_fault };
struct os_log {
  constexpr os_log() {}
  constexpr os_log(const __constant char *, const __constant char *) {}
  constexpr os_log(const __constant char *, const __constant char *) __constant {}
#define SOFTMETAL_LOG(name) template <class... A> void name(A...) const __private {} template <class... A> void name(A...) const __constant {}
  SOFTMETAL_LOG(log) SOFTMETAL_LOG(log_debug) SOFTMETAL_LOG(log_info) SOFTMETAL_LOG(log_error) SOFTMETAL_LOG(log_fault)
#undef SOFTMETAL_LOG
};
extern __constant os_log os_log_default;
} // namespace metal

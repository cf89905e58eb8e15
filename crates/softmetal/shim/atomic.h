// metal_atomic: real atomic operations; every order is at least as strong as asked.
#pragma once

namespace metal {
template <class T> struct _atomic {
  alignas(sizeof(T) < 4 ? 4 : sizeof(T)) T value;
};
template <class T> struct atomic : _atomic<T> {
  static_assert(is_same<T, int>::value || is_same<T, uint>::value || is_same<T, bool>::value || is_same<T, float>::value || is_same<T, ulong>::value,
                "Metal has atomics of int, uint, bool, float and ulong");
};
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<bool> atomic_bool;
typedef atomic<float> atomic_float;
typedef atomic<ulong> atomic_ulong;

namespace _impl {
// What the checker must know of an atomic access.
template <class T> SOFTMETAL_INLINE T *atomic_at(const volatile _atomic<T> *a, uint kind) {
  T *p = const_cast<T *>(&const_cast<_atomic<T> *>(a)->value);
#ifdef SOFTMETAL_CHECK
  softmetal_note_atomic(p, sizeof(T), kind | softmetal::is_atomic);
#endif
  return p;
}
template <class T, class F> SOFTMETAL_INLINE T update(const volatile _atomic<T> *a, F change) {
  T *p = atomic_at(a, softmetal::writes);
  T old, next;
  __atomic_load(p, &old, 0);
  do next = change(old);
  while (!__atomic_compare_exchange(p, &old, &next, true, 5, 0));
  return old;
}
template <class T> constexpr bool is_integer = is_same<T, int>::value || is_same<T, uint>::value;
template <class T> constexpr bool is_number = is_integer<T> || is_same<T, float>::value;
template <class T> constexpr bool is_wide = is_same<T, ulong>::value;
template <class T> struct identity { typedef T type; };
template <class T> using same = typename identity<T>::type;
} // namespace _impl

// Order is for fences; an atomic operation is relaxed.
#define SOFTMETAL_RELAXED(order) \
  __attribute__((diagnose_if(order != memory_order_relaxed, "atomic functions take memory_order_relaxed only; use atomic_thread_fence to order", "error")))
#define SOFTMETAL_NARROW(T) static_assert(!_impl::is_wide<T>, "atomic_ulong has atomic_min_explicit and atomic_max_explicit only")

template <class T> inline T atomic_load_explicit(const volatile _atomic<T> *a, memory_order o) SOFTMETAL_RELAXED(o) {
  SOFTMETAL_NARROW(T);
  T v;
  __atomic_load(_impl::atomic_at(a, softmetal::reads), &v, 5);
  return v;
}
template <class T> inline void atomic_store_explicit(volatile _atomic<T> *a, _impl::same<T> v, memory_order o) SOFTMETAL_RELAXED(o) {
  SOFTMETAL_NARROW(T);
  __atomic_store(_impl::atomic_at(a, softmetal::writes), &v, 5);
}
template <class T> inline T atomic_exchange_explicit(volatile _atomic<T> *a, _impl::same<T> v, memory_order o) SOFTMETAL_RELAXED(o) {
  SOFTMETAL_NARROW(T);
  T old;
  __atomic_exchange(_impl::atomic_at(a, softmetal::writes), &v, &old, 5);
  return old;
}
template <class T>
inline bool atomic_compare_exchange_weak_explicit(volatile _atomic<T> *a, T *expected, _impl::same<T> v, memory_order o, memory_order p) SOFTMETAL_RELAXED(o) SOFTMETAL_RELAXED(p) {
  SOFTMETAL_NARROW(T);
  return __atomic_compare_exchange(_impl::atomic_at(a, softmetal::writes), expected, &v, false, 5, 5);
}
#define SOFTMETAL_ATOMIC(name, expression, allowed, rule)                                                              \
  template <class T> inline T atomic_fetch_##name##_explicit(volatile _atomic<T> *a, _impl::same<T> v, memory_order o) \
      SOFTMETAL_RELAXED(o) {                                                                                           \
    static_assert(_impl::allowed<T>, "atomic_fetch_" #name "_explicit " rule);                                                   \
    return _impl::update(a, [v](T old) { return T(expression); });                                                     \
  }
SOFTMETAL_ATOMIC(add, old + v, is_number, "takes atomic_int, atomic_uint and atomic_float")
SOFTMETAL_ATOMIC(sub, old - v, is_number, "takes atomic_int, atomic_uint and atomic_float")
SOFTMETAL_ATOMIC(and, old & v, is_integer, "takes atomic_int and atomic_uint")
SOFTMETAL_ATOMIC(or, old | v, is_integer, "takes atomic_int and atomic_uint")
SOFTMETAL_ATOMIC(xor, old ^ v, is_integer, "takes atomic_int and atomic_uint")
SOFTMETAL_ATOMIC(min, v < old ? v : old, is_integer, "takes atomic_int and atomic_uint")
SOFTMETAL_ATOMIC(max, old < v ? v : old, is_integer, "takes atomic_int and atomic_uint")
#undef SOFTMETAL_ATOMIC
#define SOFTMETAL_ATOMIC(name, expression)                                                                             \
  template <class T> inline void atomic_##name##_explicit(volatile _atomic<T> *a, _impl::same<T> v, memory_order o)    \
      SOFTMETAL_RELAXED(o) {                                                                                           \
    static_assert(_impl::is_wide<T>, "atomic_" #name "_explicit takes atomic_ulong");                                  \
    _impl::update(a, [v](T old) { return T(expression); });                                                            \
  }
SOFTMETAL_ATOMIC(min, v < old ? v : old) SOFTMETAL_ATOMIC(max, old < v ? v : old)
#undef SOFTMETAL_ATOMIC
#undef SOFTMETAL_NARROW
} // namespace metal

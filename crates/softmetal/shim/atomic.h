// metal_atomic: real atomic operations; every order is at least as strong as asked.
#pragma once

namespace metal {
template <class T> struct _atomic {
  T value;
  _atomic() = default;
  constexpr _atomic(T v) : value(v) {}
};
template <class T> struct atomic : _atomic<T> {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 1, "atomic needs a 32 or 64 bit type, or bool");
  atomic() = default;
  constexpr atomic(T v) : _atomic<T>(v) {}
};
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<bool> atomic_bool;
typedef atomic<float> atomic_float;
typedef atomic<ulong> atomic_ulong;
typedef atomic<long> atomic_long;

namespace detail {
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
template <class T> struct identity { typedef T type; };
template <class T> using same = typename identity<T>::type;
} // namespace detail

template <class T> inline T atomic_load_explicit(const volatile _atomic<T> *a, memory_order) {
  T v;
  __atomic_load(detail::atomic_at(a, softmetal::reads), &v, 5);
  return v;
}
template <class T> inline void atomic_store_explicit(volatile _atomic<T> *a, detail::same<T> v, memory_order) {
  __atomic_store(detail::atomic_at(a, softmetal::writes), &v, 5);
}
template <class T> inline T atomic_exchange_explicit(volatile _atomic<T> *a, detail::same<T> v, memory_order) {
  T old;
  __atomic_exchange(detail::atomic_at(a, softmetal::writes), &v, &old, 5);
  return old;
}
template <class T>
inline bool atomic_compare_exchange_weak_explicit(volatile _atomic<T> *a, T *expected, detail::same<T> v, memory_order, memory_order) {
  return __atomic_compare_exchange(detail::atomic_at(a, softmetal::writes), expected, &v, false, 5, 5);
}
#define SOFTMETAL_ATOMIC(name, expression)                                                                             \
  template <class T> inline T atomic_fetch_##name##_explicit(volatile _atomic<T> *a, detail::same<T> v, memory_order) { \
    return detail::update(a, [v](T old) { return T(expression); });                                                    \
  }
SOFTMETAL_ATOMIC(add, old + v) SOFTMETAL_ATOMIC(sub, old - v) SOFTMETAL_ATOMIC(and, old & v) SOFTMETAL_ATOMIC(or, old | v)
SOFTMETAL_ATOMIC(xor, old ^ v) SOFTMETAL_ATOMIC(min, v < old ? v : old) SOFTMETAL_ATOMIC(max, old < v ? v : old)
#undef SOFTMETAL_ATOMIC
#define SOFTMETAL_ATOMIC(name, expression)                                                                             \
  template <class T> inline void atomic_##name##_explicit(volatile _atomic<T> *a, detail::same<T> v, memory_order) {   \
    detail::update(a, [v](T old) { return T(expression); });                                                           \
  }
SOFTMETAL_ATOMIC(min, v < old ? v : old) SOFTMETAL_ATOMIC(max, old < v ? v : old)
#undef SOFTMETAL_ATOMIC
} // namespace metal

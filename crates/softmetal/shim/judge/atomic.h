// metal_atomic: which type may be changed how, in which memory. The compiling pass knows the types; the memory is judged here.
#pragma once
namespace metal {
enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4, mem_threadgroup_imageblock = 8, mem_object_data = 16 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }
enum memory_order { memory_order_relaxed = 0, memory_order_acquire = 2, memory_order_release = 3, memory_order_acq_rel = 4, memory_order_seq_cst = 5 };
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };
void threadgroup_barrier(mem_flags);
void threadgroup_barrier(mem_flags, memory_order);
void simdgroup_barrier(mem_flags);
void atomic_thread_fence(mem_flags, memory_order, thread_scope = thread_scope_device);

template <class T> struct _atomic { T value; };
template <class T> struct sm_atomic : _atomic<T> {};
typedef sm_atomic<int> sm_atomic_int;
typedef sm_atomic<uint> sm_atomic_uint;
typedef sm_atomic<bool> sm_atomic_bool;
typedef sm_atomic<float> sm_atomic_float;
typedef sm_atomic<ulong> sm_atomic_ulong;
template <class T> struct _same { typedef T type; };
template <class T> using _given = typename _same<T>::type;

#define SOFTMETAL_ATOMICS(space)                                                                                                      \
  template <class T> T atomic_load_explicit(const volatile space _atomic<T> *, memory_order);                                         \
  template <class T> void atomic_store_explicit(volatile space _atomic<T> *, _given<T>, memory_order);                                \
  template <class T> T atomic_exchange_explicit(volatile space _atomic<T> *, _given<T>, memory_order);                                \
  template <class T> bool atomic_compare_exchange_weak_explicit(volatile space _atomic<T> *, __private T *, _given<T>, memory_order, memory_order); \
  SOFTMETAL_FETCH(space, fetch_add) SOFTMETAL_FETCH(space, fetch_sub) SOFTMETAL_FETCH(space, fetch_and) SOFTMETAL_FETCH(space, fetch_or) \
  SOFTMETAL_FETCH(space, fetch_xor) SOFTMETAL_FETCH(space, fetch_min) SOFTMETAL_FETCH(space, fetch_max)                               \
  SOFTMETAL_FETCH(space, min) SOFTMETAL_FETCH(space, max)
#define SOFTMETAL_FETCH(space, name) template <class T> T atomic_##name##_explicit(volatile space _atomic<T> *, _given<T>, memory_order);
SOFTMETAL_ATOMICS(__global) SOFTMETAL_ATOMICS(__local)
#undef SOFTMETAL_FETCH
#define SOFTMETAL_NO_FLOAT(name) \
  float atomic_fetch_##name##_explicit(volatile __local _atomic<float> *, float, memory_order) \
      = delete("a float in threadgroup memory has no atomic arithmetic: only load, store, exchange and compare_exchange");
SOFTMETAL_NO_FLOAT(add) SOFTMETAL_NO_FLOAT(sub)
#undef SOFTMETAL_NO_FLOAT
#define SOFTMETAL_NO_ULONG(name) \
  void atomic_##name##_explicit(volatile __local _atomic<ulong> *, ulong, memory_order) = delete("atomic_ulong is for device memory");
SOFTMETAL_NO_ULONG(min) SOFTMETAL_NO_ULONG(max)
#undef SOFTMETAL_NO_ULONG
} // namespace metal

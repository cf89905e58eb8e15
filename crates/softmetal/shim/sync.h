// Barriers, memory flags and the collective call that all simd functions are made of.
#pragma once

#define SOFTMETAL_SITE const char *file = __builtin_FILE(), unsigned site = (__builtin_LINE() << 10) | (__builtin_COLUMN() & 1023)
#define SOFTMETAL_HERE file, site

namespace metal {
enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4, mem_threadgroup_imageblock = 8, mem_object_data = 16 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }
enum memory_order { memory_order_relaxed = 0, memory_order_acquire = 2, memory_order_release = 3, memory_order_acq_rel = 4, memory_order_seq_cst = 5 };
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };

inline void threadgroup_barrier(mem_flags flags, SOFTMETAL_SITE) {
  softmetal_runtime->barrier(softmetal::current_lane(), uint(flags), SOFTMETAL_HERE);
}
inline void threadgroup_barrier(mem_flags flags, memory_order, SOFTMETAL_SITE) { threadgroup_barrier(flags, SOFTMETAL_HERE); }
inline void simdgroup_barrier(mem_flags, SOFTMETAL_SITE) {
  softmetal_runtime->collective(softmetal::current_lane(), nullptr, nullptr, SOFTMETAL_HERE, softmetal::simd_fence);
}
inline void atomic_thread_fence(mem_flags, memory_order, thread_scope = thread_scope_device) { __atomic_thread_fence(5); }
} // namespace metal

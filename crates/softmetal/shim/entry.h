// What the generated launch code needs: parameter types by position, arguments, builtin values, threadgroup memory.
#pragma once

namespace softmetal {

template <unsigned I, class F, class... R> struct nth : nth<I - 1, R...> {};
template <class F, class... R> struct nth<0, F, R...> { typedef F type; };
template <class T> struct signature;
template <class... A> struct signature<void (*)(A...)> {
  template <unsigned I> using arg = typename nth<I, A...>::type;
};

// One GPU thread: its group (a local copy, so that loops over threads vectorise) and its position.
struct Thread {
  const GroupInfo &g;
  unsigned x, y, z;
  unsigned index() const { return (z * g.threads_per_group[1] + y) * g.threads_per_group[0] + x; }
  static metal::vec<unsigned, 3> three(const unsigned *v) { return metal::vec<unsigned, 3>(v[0], v[1], v[2]); }
  static unsigned product(const unsigned *v) { return v[0] * v[1] * v[2]; }
};

template <class P> struct argument { static __attribute__((always_inline)) P from(void *p) { return static_cast<P>(p); } };
template <class T> struct argument<T *> { static __attribute__((always_inline)) T *from(void *p) { return static_cast<T *>(p); } };
template <class T> struct argument<T &> { static __attribute__((always_inline)) T &from(void *p) { return *static_cast<T *>(p); } };

template <class P> __attribute__((always_inline)) inline P buffer_arg(const Thread &t, unsigned index) { return argument<P>::from(t.g.buffers[index]); }
template <class P> __attribute__((always_inline)) inline P group_arg(const Thread &t, unsigned index) {
  return argument<P>::from(t.g.group_memory + t.g.group_offset[index]);
}
#ifdef SOFTMETAL_CHECK
#define SOFTMETAL_ARGUMENT __attribute__((noinline, no_sanitize("thread")))
#else
#define SOFTMETAL_ARGUMENT __attribute__((always_inline))
#endif
template <class P> struct texture_of {
  static SOFTMETAL_ARGUMENT P from(const GroupInfo &g, unsigned index) {
    P t;
    t._info = g.textures[index];
    return t;
  }
};
template <class P> struct texture_of<const P> : texture_of<P> {};
template <class P, size_t N> struct texture_of<metal::array<P, N>> {
  static SOFTMETAL_ARGUMENT metal::array<P, N> from(const GroupInfo &g, unsigned index) {
    metal::array<P, N> a;
    for (unsigned i = 0; i < N; i++) a[i]._info = g.textures[index + i];
    return a;
  }
};
template <class P> struct sampler_of {
  static SOFTMETAL_ARGUMENT P from(const GroupInfo &g, unsigned index) {
    P s;
    s.bits = g.samplers[index];
    return s;
  }
};
template <class P> struct sampler_of<const P> : sampler_of<P> {};
template <class P, size_t N> struct sampler_of<metal::array<P, N>> {
  static SOFTMETAL_ARGUMENT metal::array<P, N> from(const GroupInfo &g, unsigned index) {
    metal::array<P, N> a;
    for (unsigned i = 0; i < N; i++) a[i].bits = g.samplers[index + i];
    return a;
  }
};
template <class P> struct value {
  static __attribute__((always_inline)) P from(metal::vec<unsigned, 3> v) { return P(v.x); }
  static __attribute__((always_inline)) P from(unsigned v) { return P(v); }
};
template <class T> struct value<metal::vec<T, 2>> {
  static __attribute__((always_inline)) metal::vec<T, 2> from(metal::vec<unsigned, 3> v) { return metal::vec<T, 2>(T(v.x), T(v.y)); }
};
template <class T> struct value<metal::vec<T, 3>> {
  static __attribute__((always_inline)) metal::vec<T, 3> from(metal::vec<unsigned, 3> v) { return metal::vec<T, 3>(T(v.x), T(v.y), T(v.z)); }
};
template <class P> struct value<const P> : value<P> {};

namespace builtin {
#define SOFTMETAL_BUILTIN(name, type, expression) \
  __attribute__((always_inline)) inline type name(const Thread &t) { return expression; }
typedef metal::vec<unsigned, 3> three;
SOFTMETAL_BUILTIN(thread_position_in_grid, three,
                  three(t.g.group_position[0] * t.g.nominal_threads[0] + t.x, t.g.group_position[1] * t.g.nominal_threads[1] + t.y,
                        t.g.group_position[2] * t.g.nominal_threads[2] + t.z))
SOFTMETAL_BUILTIN(thread_position_in_threadgroup, three, three(t.x, t.y, t.z))
SOFTMETAL_BUILTIN(threadgroup_position_in_grid, three, Thread::three(t.g.group_position))
SOFTMETAL_BUILTIN(threadgroups_per_grid, three, Thread::three(t.g.groups_per_grid))
SOFTMETAL_BUILTIN(threads_per_grid, three, Thread::three(t.g.threads_per_grid))
SOFTMETAL_BUILTIN(threads_per_threadgroup, three, Thread::three(t.g.threads_per_group))
SOFTMETAL_BUILTIN(dispatch_threads_per_threadgroup, three, Thread::three(t.g.nominal_threads))
SOFTMETAL_BUILTIN(grid_size, three, Thread::three(t.g.threads_per_grid))
SOFTMETAL_BUILTIN(grid_origin, three, three(0, 0, 0))
SOFTMETAL_BUILTIN(thread_index_in_threadgroup, unsigned, t.index())
SOFTMETAL_BUILTIN(thread_index_in_simdgroup, unsigned, t.index() % t.g.simd_width)
SOFTMETAL_BUILTIN(simdgroup_index_in_threadgroup, unsigned, t.index() / t.g.simd_width)
SOFTMETAL_BUILTIN(simdgroups_per_threadgroup, unsigned, (t.g.thread_count + t.g.simd_width - 1) / t.g.simd_width)
SOFTMETAL_BUILTIN(dispatch_simdgroups_per_threadgroup, unsigned, (Thread::product(t.g.nominal_threads) + t.g.simd_width - 1) / t.g.simd_width)
SOFTMETAL_BUILTIN(threads_per_simdgroup, unsigned, t.g.simd_width)
SOFTMETAL_BUILTIN(thread_execution_width, unsigned, t.g.simd_width)
SOFTMETAL_BUILTIN(thread_index_in_quadgroup, unsigned, t.index() % 4)
SOFTMETAL_BUILTIN(quadgroup_index_in_threadgroup, unsigned, t.index() / 4)
SOFTMETAL_BUILTIN(quadgroups_per_threadgroup, unsigned, (t.g.thread_count + 3) / 4)
SOFTMETAL_BUILTIN(dispatch_quadgroups_per_threadgroup, unsigned, (Thread::product(t.g.nominal_threads) + 3) / 4)
#undef SOFTMETAL_BUILTIN
} // namespace builtin

template <class T> struct size_of { static constexpr unsigned size = sizeof(T), align = alignof(T); };
template <class T> struct size_of<T *> : size_of<T> {};
template <class T> struct size_of<T &> : size_of<T> {};
template <> struct size_of<void> { static constexpr unsigned size = 1, align = 1; };
template <> struct size_of<const void> : size_of<void> {};

// Threadgroup variables get their places when the library is loaded, one per variable of the one kernel in it.
extern "C" __attribute__((visibility("default"))) unsigned softmetal_static_memory;
inline unsigned place(unsigned size, unsigned align) {
  unsigned at = (softmetal_static_memory + align - 1) / align * align;
  softmetal_static_memory = at + size;
  return at;
}
template <class S> struct Slot { static const unsigned at; };
template <class S> const unsigned Slot<S>::at = place(sizeof(S), alignof(S) < 16 ? 16 : alignof(S));
template <class S> __attribute__((always_inline)) inline S &group_local() {
  return *reinterpret_cast<S *>(current_lane()->group->group_memory + Slot<S>::at);
}

} // namespace softmetal

// Scatter: target[…, index[…, i, …], …] becomes, or grows by, values[…, i, …]. Input 0 is the index, input 1 the values, of one shape; the
// target holds the other elements already.
//
// dims: as in index.metal, over the points of the index.
// Threads: a grid of any size walks the points in strides of itself. Setting takes three passes over a word per element that can be reached in
// `scratch`: clear, let the highest point win, and let winners write; so the last of equal indices wins, as on the CPU. Adding
// takes one, with atomics: words where Metal has them, and a compare-and-swap of the word around narrow types.

#if defined(WRITES) || defined(ADDS)
inline index_t place_of(const thread Env& env, constant Args& args, index_t point) {
    const index_t along = resolve(env, long(in0(env, point)), args.dims[3]);
    return indexed_position(args, args.out_strides, point, along);
}
#endif

#ifdef SETS
// A number for the element of the target that a point goes to: its place in the points' space, with the target's extent along the
// axis.
inline index_t number_of(const thread Env& env, constant Args& args, index_t point) {
    const index_t along = resolve(env, long(in0(env, point)), args.dims[3]);
    index_t number = 0, step = 1, rest = point;
    for (index_t axis = args.dims[1]; axis > 0; --axis) {
        const index_t extent = args.dims[4 + axis - 1];
        const index_t at = rest % extent;
        rest = rest / extent;
        number += (axis - 1 == args.dims[2] ? along : at) * step;
        step *= axis - 1 == args.dims[2] ? args.dims[3] : extent;
    }
    return number;
}
#endif

#ifdef CLEARS
// dims: [0] words.
[[max_total_threads_per_threadgroup(256)]]
kernel void scatter_clear(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    for (index_t i = thread_index; i < args.dims[0]; i += threads) {
        scratch[i] = 0;
    }
}
#endif

#ifdef ELECTS
[[max_total_threads_per_threadgroup(256)]]
kernel void scatter_elect(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    device atomic_uint* winners = (device atomic_uint*)scratch;
    for (index_t point = thread_index; point < args.dims[0]; point += threads) {
        atomic_fetch_max_explicit(winners + number_of(env, args, point), uint(point) + 1, memory_order_relaxed);
    }
}
#endif

#ifdef WRITES
[[max_total_threads_per_threadgroup(256)]]
kernel void scatter_set(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    for (index_t point = thread_index; point < args.dims[0]; point += threads) {
        if (scratch[number_of(env, args, point)] == uint(point) + 1) {
            target(env)[args.out_offsets[0] + place_of(env, args, point)] = narrow<Target>(in1(env, point));
        }
    }
}
#endif

#ifdef ADDS
inline void add_to(device float* target, index_t at, float value) {
    atomic_fetch_add_explicit((device atomic_float*)(target + at), value, memory_order_relaxed);
}
inline void add_to(device int* target, index_t at, int value) {
    atomic_fetch_add_explicit((device atomic_int*)(target + at), value, memory_order_relaxed);
}
inline void add_to(device uint* target, index_t at, uint value) {
    atomic_fetch_add_explicit((device atomic_uint*)(target + at), value, memory_order_relaxed);
}
// Low word, then high word with the carry: nobody reads the sum before the launch has ended.
inline void add_words(device atomic_uint* words, ulong value) {
    const uint low = uint(value);
    const uint before = atomic_fetch_add_explicit(words, low, memory_order_relaxed);
    const uint high = uint(value >> 32) + uint(before + low < before);
    if (high != 0) {
        atomic_fetch_add_explicit(words + 1, high, memory_order_relaxed);
    }
}
inline void add_to(device long* target, index_t at, long value) {
    add_words((device atomic_uint*)(target + at), ulong(value));
}
inline void add_to(device ulong* target, index_t at, ulong value) {
    add_words((device atomic_uint*)(target + at), value);
}

template <typename T>
inline uint bits_of(T x) {
    return uint(x);
}
inline uint bits_of(half x) { return uint(as_type<ushort>(x)); }
inline uint bits_of(bf16 x) { return uint(x.bits); }
inline uint bits_of(char x) { return uint(uchar(x)); }
inline uint bits_of(short x) { return uint(ushort(x)); }

template <typename T>
struct FromBits {
    static inline T of(uint bits) { return T(bits); }
};
template <>
struct FromBits<half> {
    static inline half of(uint bits) { return as_type<half>(ushort(bits)); }
};
template <>
struct FromBits<bf16> {
    static inline bf16 of(uint bits) {
        bf16 result;
        result.bits = ushort(bits);
        return result;
    }
};

// A narrow element is swapped together with its neighbours in the same word.
template <typename T, typename V>
inline void add_to(device T* target, index_t at, V value) {
    const uint per_word = 4 / sizeof(T);
    const uint width = 8 * sizeof(T);
    const uint shift = uint(at % per_word) * width;
    const uint mask = ((1u << width) - 1u) << shift;
    device atomic_uint* word = (device atomic_uint*)target + at / per_word;
    uint old = atomic_load_explicit(word, memory_order_relaxed);
    uint next;
    do {
        const V sum = Sum::of(V(widen(FromBits<T>::of((old & mask) >> shift))), value);
        next = (old & ~mask) | ((bits_of(narrow<T>(sum)) << shift) & mask);
    } while (!atomic_compare_exchange_weak_explicit(word, &old, next, memory_order_relaxed, memory_order_relaxed));
}

[[max_total_threads_per_threadgroup(256)]]
kernel void scatter_add(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    for (index_t point = thread_index; point < args.dims[0]; point += threads) {
        add_to(target(env), args.out_offsets[0] + place_of(env, args, point), in1(env, point));
    }
}
#endif

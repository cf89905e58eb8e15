// Combining values across the lanes of a simdgroup and the threads of a threadgroup, for every compute type.
//
// Metal shuffles 32-bit values; 64-bit ones go as two halves, truth values as numbers. Widths of simdgroups are asked for, never
// assumed: 32 lanes on Apple's GPUs, 32 or 64 elsewhere. All lanes take part, so callers keep threads in the kernel until the end.

inline float from_lane_xor(float x, ushort mask) { return simd_shuffle_xor(x, mask); }
inline int from_lane_xor(int x, ushort mask) { return simd_shuffle_xor(x, mask); }
inline uint from_lane_xor(uint x, ushort mask) { return simd_shuffle_xor(x, mask); }
inline bool from_lane_xor(bool x, ushort mask) { return simd_shuffle_xor(uint(x), mask) != 0; }
inline long from_lane_xor(long x, ushort mask) { return as_type<long>(simd_shuffle_xor(as_type<uint2>(x), mask)); }
inline ulong from_lane_xor(ulong x, ushort mask) { return as_type<ulong>(simd_shuffle_xor(as_type<uint2>(x), mask)); }

inline float from_lane_up(float x, ushort delta) { return simd_shuffle_up(x, delta); }
inline long from_lane_up(long x, ushort delta) { return as_type<long>(simd_shuffle_up(as_type<uint2>(x), delta)); }
inline ulong from_lane_up(ulong x, ushort delta) { return as_type<ulong>(simd_shuffle_up(as_type<uint2>(x), delta)); }

// Where a thread stands in its threadgroup.
//
// Metal wants a kernel's positions to be all scalars or all vectors of one width, so the group's own position is declared here too,
// beside the group's size: kernels that take STANDING_PARAMETERS take no other position.
struct Standing {
    uint thread_index;
    uint threads;
    uint lane;
    uint lanes;
    uint simdgroup;
    uint simdgroups;
};

#define STANDING_PARAMETERS                                                                         \
    uint3 group [[threadgroup_position_in_grid]], uint3 group_size [[threads_per_threadgroup]],     \
        uint thread_index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], \
        uint lanes [[threads_per_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],    \
        uint simdgroups [[simdgroups_per_threadgroup]]
#define STANDING Standing{thread_index, group_size.x * group_size.y * group_size.z, lane, lanes, simdgroup, simdgroups}

// The most simdgroups of a threadgroup: 1024 threads of 32 lanes.
#define MAX_SIMDGROUPS 32

struct Sum {
    static inline float of(float a, float b) { return a + b; }
    static inline int of(int a, int b) { return int(uint(a) + uint(b)); }
    static inline uint of(uint a, uint b) { return a + b; }
    static inline long of(long a, long b) { return long(ulong(a) + ulong(b)); }
    static inline ulong of(ulong a, ulong b) { return a + b; }
};

struct Product {
    static inline float of(float a, float b) { return a * b; }
    static inline int of(int a, int b) { return int(uint(a) * uint(b)); }
    static inline uint of(uint a, uint b) { return a * b; }
    static inline long of(long a, long b) { return long(ulong(a) * ulong(b)); }
    static inline ulong of(ulong a, ulong b) { return a * b; }
};

struct Smallest {
    static inline float of(float a, float b) { return nan_min(a, b); }
    static inline bool of(bool a, bool b) { return a && b; }
    template <typename T>
    static inline T of(T a, T b) {
        return a < b ? a : b;
    }
};

struct Largest {
    static inline float of(float a, float b) { return nan_max(a, b); }
    static inline bool of(bool a, bool b) { return a || b; }
    template <typename T>
    static inline T of(T a, T b) {
        return a > b ? a : b;
    }
};

// The largest number, whatever NaN does to it.
struct LargestNumber {
    static inline float of(float a, float b) { return max(a, b); }
};

// The combination of all lanes' values, in every lane.
template <typename Op, typename T>
inline T combine_lanes(T x, uint lanes) {
    for (uint mask = lanes / 2; mask > 0; mask /= 2) {
        x = Op::of(x, from_lane_xor(x, ushort(mask)));
    }
    return x;
}
template <>
inline float combine_lanes<Sum, float>(float x, uint) { return simd_sum(x); }
template <>
inline float combine_lanes<LargestNumber, float>(float x, uint) { return simd_max(x); }

// The combination of one value per simdgroup, in every thread.
template <typename Op, typename T>
inline T combine_simdgroups(threadgroup const T* shared, Standing at) {
    T all = shared[0];
    for (uint i = 1; i < at.simdgroups; ++i) {
        all = Op::of(all, shared[i]);
    }
    return all;
}
// There are no more simdgroups than lanes.
template <>
inline float combine_simdgroups<Sum, float>(threadgroup const float* shared, Standing at) {
    return simd_sum(at.lane < at.simdgroups ? shared[at.lane] : 0.0f);
}
template <>
inline float combine_simdgroups<LargestNumber, float>(threadgroup const float* shared, Standing at) {
    return simd_max(at.lane < at.simdgroups ? shared[at.lane] : -INFINITY);
}

// The combination of all threads' values, in every thread. `shared` has room for one value per simdgroup; it may be used again
// after the call.
template <typename Op, typename T>
inline T combine_threads(T x, threadgroup T* shared, Standing at) {
    x = combine_lanes<Op, T>(x, at.lanes);
    if (at.simdgroups == 1) {
        return x;
    }
    if (at.lane == 0) {
        shared[at.simdgroup] = x;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const T all = combine_simdgroups<Op, T>(shared, at);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return all;
}

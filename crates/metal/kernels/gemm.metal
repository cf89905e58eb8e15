// GEMM on simdgroup matrices: C[b] = A[b]·B[b], A m×k, B k×n, any strides, sums in float.
//
// dims: [0] batch, [1] m, [2] n, [3] k, [4] k of one split (a multiple of TILE_K), [5] batch axes.
// Inputs: 0 is A (strides: batch axes, m, k), 1 is B (batch axes, k, n); with WEIGHTS, 1 is a matrix of n rows of bytes that hold
// elements of B_TYPE, one for all batches, and dims[6] and [7] are A's strides along m and k, [8] the pitch of PACKED rows.
//
// Threads: one threadgroup of SIMDS_M × SIMDS_N simdgroups computes a tile of TILE_M × TILE_N; x counts tiles along n, y along m,
// z batches (times splits). Each step moves TILE_K columns of A and rows of B through threadgroup memory, once per threadgroup;
// each simdgroup holds its part of C in registers as 8×8 matrices. Every thread copies one run of neighbours per operand: along k
// (A_ALONG_K, B_ALONG_K) or along m and n, whichever the operand's strides make contiguous (A_UNIT, B_UNIT: vector loads).
//
// Edges: rows and columns beyond the end repeat the last one; their results are dropped. What is beyond k is zero in both
// operands, so that no infinity meets a padded zero. Only the last step has to look for the end of k.
//
// SPLIT: k is cut into parts, and each part's sums go to `scratch` [split][batch][m][n]; `split_sum` adds them up.

#ifdef WEIGHTS
typedef B_TYPE RawB;
#else
typedef Raw1 RawB;
#endif

// A panel of OUTER rows (of A) or columns (of B) by TILE_K, and the run of it that one thread copies.
template <typename T, uint OUTER, bool ALONG_K, bool UNIT, bool K_MAJOR>
struct Panel {
    enum : uint { RUN = OUTER * TILE_K / THREADS, PER_K = TILE_K / RUN, PER_OUTER = OUTER / RUN };
    device const T* source;
    offset_t outer_stride, k_stride;
    uint outer, k, limit;

    Panel(device const T* start, offset_t outer_stride_, offset_t k_stride_, uint limit_, uint index)
        : source(start), outer_stride(outer_stride_), k_stride(k_stride_), limit(limit_) {
        outer = ALONG_K ? index / PER_K : index % PER_OUTER * RUN;
        k = ALONG_K ? index % PER_K * RUN : index / PER_OUTER;
        const uint first = ALONG_K ? min(outer, limit - 1) : 0;
        source += offset_t(first) * outer_stride + offset_t(k) * k_stride;
    }

    // Whether all of the panel is inside, so that runs along it may be loaded whole.
    bool whole() const { return ALONG_K || limit >= OUTER; }

    void next() { source += offset_t(TILE_K) * k_stride; }

    void put(threadgroup Tile* tile, uint i, float value) const {
        const uint o = ALONG_K ? outer : outer + i;
        const uint c = ALONG_K ? k + i : k;
        tile[K_MAJOR ? c * (OUTER + 4) + o : o * (TILE_K + 4) + c] = Tile(value);
    }

    template <bool EDGE>
    void load(threadgroup Tile* tile) const {
        for (uint i = 0; i < RUN; i += 4) {
            float4 v;
            if (EDGE && !ALONG_K) {
                for (uint j = 0; j < 4; j++) {
                    v[j] = widen(source[offset_t(min(outer + i + j, limit - 1)) * outer_stride]);
                }
            } else {
                const offset_t step = ALONG_K ? k_stride : outer_stride;
                const offset_t at = ALONG_K ? offset_t(i) : offset_t(outer + i);
                v = UNIT ? load4(source + at) : gather4(source + at * step, step);
            }
            for (uint j = 0; j < 4; j++) {
                put(tile, i + j, v[j]);
            }
        }
    }

    // The last columns of k: what is beyond them is zero.
    void load_rest(threadgroup Tile* tile, uint rest) const {
        for (uint i = 0; i < RUN; i++) {
            const bool inside = (ALONG_K ? k + i : k) < rest;
            const offset_t at = ALONG_K ? offset_t(i) * k_stride
                                        : offset_t(min(outer + i, limit - 1)) * outer_stride;
            float value = 0.0f;
            if (inside) {
                value = widen(source[at]);
            }
            put(tile, i, value);
        }
    }
};
typedef Panel<Raw0, TILE_M, A_ALONG_K, A_UNIT, false> PanelA;
typedef Panel<RawB, TILE_N, B_ALONG_K, B_UNIT, true> PanelB;

// Whole steps of TILE_K.
template <bool EDGE>
inline void whole_steps(
    thread PanelA& a, thread PanelB& b, thread Sums& sums, threadgroup Tile* tile_a, threadgroup Tile* tile_b,
    uint steps, uint2 corner) {
    for (uint step = 0; step < steps; step++) {
        a.load<EDGE>(tile_a);
        b.load<EDGE>(tile_b);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sums.add_products(tile_a + corner.y * A_PITCH, tile_b + corner.x);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        a.next();
        b.next();
    }
}

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void gemm(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    STEP_ENV;
    threadgroup Tile tile_a[TILE_M * A_PITCH];
    threadgroup Tile tile_b[TILE_K * B_PITCH];

    const uint batches = uint(args.dims[0]), m = uint(args.dims[1]), n = uint(args.dims[2]);
    const uint batch = group.z % batches, split = group.z / batches;
    const uint k_first = split * uint(args.dims[4]);
    const uint k = min(uint(args.dims[4]), uint(args.dims[3]) - k_first);
    const uint row = group.y * TILE_M, column = group.x * TILE_N;
    const uint axes = uint(args.dims[5]);

    device const Raw0* a_start = raw0(env) + batch_start(args.in0_shape, args.in0_strides, axes, batch);
#ifdef WEIGHTS
    const offset_t a_m = args.dims[6], a_k = args.dims[7];
    const offset_t b_n = WEIGHT_PITCH(args) / offset_t(sizeof(RawB)), b_k = 1;
    device const RawB* b_start = (device const RawB*)WEIGHT_BYTES(env);
#else
    const offset_t a_m = args.in0_strides[axes], a_k = args.in0_strides[axes + 1];
    const offset_t b_k = args.in1_strides[axes], b_n = args.in1_strides[axes + 1];
    device const RawB* b_start = raw1(env) + batch_start(args.in1_shape, args.in1_strides, axes, batch);
#endif
    PanelA a(a_start + offset_t(row) * a_m + offset_t(k_first) * a_k, a_m, a_k, m - row, index);
    PanelB b(b_start + offset_t(column) * b_n + offset_t(k_first) * b_k, b_n, b_k, n - column, index);

    Sums sums;
    sums.clear();
    const uint2 corner = uint2(simd % SIMDS_N * (TILE_N / SIMDS_N), simd / SIMDS_N * (TILE_M / SIMDS_M));
    if (a.whole() && b.whole()) {
        whole_steps<false>(a, b, sums, tile_a, tile_b, k / TILE_K, corner);
    } else {
        whole_steps<true>(a, b, sums, tile_a, tile_b, k / TILE_K, corner);
    }
    const uint rest = k % TILE_K;
    if (rest > 0) {
        a.load_rest(tile_a, rest);
        b.load_rest(tile_b, rest);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sums.add_products(tile_a + corner.y * A_PITCH, tile_b + corner.x);
    }

    const Place place = {row + corner.y, column + corner.x, m, n, index_t(batch) * m * n};
#ifdef SPLIT
    sums.keep((device float*)scratch + index_t(split) * batches * m * n, place, lane);
#else
    sums.finish_all(env, place, lane);
#endif
}

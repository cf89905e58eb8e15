// GEMM without simdgroup matrices: C[b] = A[b]·B[b] for integers (wrapping) and for GPUs that lack the matrices.
//
// dims: [0] batch, [1] m, [2] n, [3] k, [5] batch axes.
// Inputs: 0 is A (strides: batch axes, m, k), 1 is B (batch axes, k, n); WEIGHTS as in gemm.metal.
//
// Threads: a threadgroup of 64 computes a tile of 32×32, a thread 4×4 of it: rows y, y+8, … and columns x, x+8, … of the
// tile. Each step moves 16 columns of A and rows of B through threadgroup memory. Beyond the edges rows and columns repeat the
// last one, and what is beyond k is zero in both operands. No lane needs another, so the width of a simdgroup does not matter.

#define TILE 32
#define TILE_K 16
#define THREADS 64
#define PITCH (TILE + 1)

#ifdef WEIGHTS
typedef B_TYPE RawB;
#else
typedef Raw1 RawB;
#endif
typedef Unsigned<In0>::Type Sum;

// Element i of a thread's sixteen: neighbours of the contiguous axis go to neighbouring threads.
template <typename T>
inline void load_tile(
    device const T* start, offset_t outer_stride, offset_t k_stride, uint limit, uint rest, bool along_k,
    threadgroup Sum* tile, uint index) {
    for (uint i = 0; i < TILE * TILE_K / THREADS; i++) {
        const uint at = index + i * THREADS;
        const uint outer = along_k ? at / TILE_K : at % TILE;
        const uint k = along_k ? at % TILE_K : at / TILE;
        Sum value = Sum(0);
        if (k < rest) {
            value = Sum(widen(start[offset_t(min(outer, limit - 1)) * outer_stride + offset_t(k) * k_stride]));
        }
        tile[k * PITCH + outer] = value;
    }
}

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void gemm_tiled(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
    STEP_ENV;
    threadgroup Sum tile_a[TILE_K * PITCH];
    threadgroup Sum tile_b[TILE_K * PITCH];

    const uint m = uint(args.dims[1]), n = uint(args.dims[2]), k = uint(args.dims[3]);
    const uint batch = group.z;
    const uint row = group.y * TILE, column = group.x * TILE;
    const uint axes = uint(args.dims[5]);

    device const Raw0* a = raw0(env) + batch_start(args.in0_shape, args.in0_strides, axes, batch);
#ifdef WEIGHTS
    const offset_t a_m = args.dims[6], a_k = args.dims[7];
    const offset_t b_n = WEIGHT_PITCH(args) / offset_t(sizeof(RawB)), b_k = 1;
    device const RawB* b = (device const RawB*)WEIGHT_BYTES(env);
#else
    const offset_t a_m = args.in0_strides[axes], a_k = args.in0_strides[axes + 1];
    const offset_t b_k = args.in1_strides[axes], b_n = args.in1_strides[axes + 1];
    device const RawB* b = raw1(env) + batch_start(args.in1_shape, args.in1_strides, axes, batch);
#endif
    a += offset_t(row) * a_m;
    b += offset_t(column) * b_n;

    const uint x = index % 8, y = index / 8;
    Sum sums[4][4];
    for (uint i = 0; i < 4; i++) {
        for (uint j = 0; j < 4; j++) {
            sums[i][j] = Sum(0);
        }
    }
    for (uint done = 0; done < k; done += TILE_K) {
        load_tile(a, a_m, a_k, m - row, k - done, a_k == 1, tile_a, index);
        load_tile(b, b_n, b_k, n - column, k - done, b_k == 1, tile_b, index);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint kk = 0; kk < TILE_K; kk++) {
            Sum left[4], right[4];
            for (uint i = 0; i < 4; i++) {
                left[i] = tile_a[kk * PITCH + y + 8 * i];
                right[i] = tile_b[kk * PITCH + x + 8 * i];
            }
            for (uint i = 0; i < 4; i++) {
                for (uint j = 0; j < 4; j++) {
                    sums[i][j] += left[i] * right[j];
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        a += offset_t(TILE_K) * a_k;
        b += offset_t(TILE_K) * b_k;
    }

    for (uint i = 0; i < 4; i++) {
        for (uint j = 0; j < 4; j++) {
            const uint out_row = row + y + 8 * i, out_column = column + x + 8 * j;
            if (out_row < m && out_column < n) {
                const index_t point = (index_t(batch) * m + out_row) * n + out_column;
                finish(env, point, Out(sums[i][j]));
            }
        }
    }
}

// GEMM with a quantised matrix on simdgroup matrices: y[v][r] = Σ_i x[v][i]·W[r][i], W dequantised on its way to threadgroup memory.
//
// dims: [0] vectors m, [1] rows n of W, [2] k, [3] axes of x before k, [8] pitch of PACKED rows.
// Inputs: 0 is x (strides: its axes, k), 1 the bytes of W (strides: rows, 1). FORMAT is its coding (blocks.metal).
//
// Threads: a threadgroup of four simdgroups computes a tile of TILE_M vectors by 64 rows; x counts tiles of rows, y of vectors. A
// step takes one pair of runs, 32 values of k, from each row: two simdgroups decode them, the other two fetch the same 32 columns of
// x. Runs of a pair need not be neighbours: the order in which k is summed is free, so x is fetched in the order of the codes.
// Rows and vectors beyond the end repeat the last one; their results are dropped. k is a multiple of 32 in every format.

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void quant_gemm(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    STEP_ENV;
    threadgroup Tile tile_x[TILE_M * A_PITCH];
    threadgroup Tile tile_w[TILE_K * B_PITCH];

    const uint n = uint(args.dims[1]), blocks = uint(args.dims[2]) / Format::LEN;
    const uint axes = uint(args.dims[3]);
    const uint row = group.x * TILE_N;
#ifdef EXPERTS
    // A tile of sorted pairs that chose one matrix.
    device const uint* tile = scratch + 3 * group.y;
    device const uint* pairs = scratch + 3 * uint(args.dims[6]) + tile[1];
    const uint m = tile[2], vector = 0;
    if (m == 0) {
        return;
    }
    device const uchar* matrix = expert_bytes(env, args, tile[0]);
#else
    const uint m = uint(args.dims[0]), vector = group.y * TILE_M;
    device const uchar* matrix = WEIGHT_BYTES(env);
#endif
    const offset_t step = args.in0_strides[axes];
    const bool decodes = index < TILE_N;
    const uint w_row = index % TILE_N;
    device const uchar* w = matrix + offset_t(min(row + w_row, n - 1)) * WEIGHT_PITCH(args);

    // The other threads: eight take four columns each of one vector, and of every eighth vector after it.
    enum : uint { EACH = TILE_M / 8 };
    const uint column = index % 8 * 4, x_row = (index % TILE_N) / 8;
    device const Raw0* x[EACH];
    UNROLL for (uint i = 0; i < EACH; i++) {
        uint v = min(vector + x_row + 8 * i, m - 1);
#ifdef EXPERTS
        v = pairs[v];
#endif
        x[i] = raw0(env) + batch_start(args.in0_shape, args.in0_strides, axes, X_ROW(v));
    }

    Sums sums;
    sums.clear();
    const uint2 corner = uint2(simd % SIMDS_N * (TILE_N / SIMDS_N), simd / SIMDS_N * (TILE_M / SIMDS_M));
    for (uint block = 0; block < blocks; block++) {
        for (uint part = 0; part < Format::PIECES * Format::PAIRS; part++) {
            const uint piece = part / Format::PAIRS, t = part % Format::PAIRS;
            if (decodes) {
                device const uchar* b = w + offset_t(block) * Format::BYTES;
                const Pair pair = Format::pair(b, piece, t, Format::head(b, piece), Format::shared(b, piece));
                for (uint i = 0; i < 8; i++) {
                    const uint run = i / 4;
                    const uint packed = run == 0 ? pair.low[i % 4] : pair.high[i % 4];
                    const float4 values = block_values(packed, pair.scale[run], pair.offset[run]);
                    for (uint j = 0; j < 4; j++) {
                        tile_w[(4 * i + j) * B_PITCH + w_row] = values[j];
                    }
                }
            } else {
                const uint first = block * Format::LEN + Format::position(piece, t, column / 16) + column % 16;
                UNROLL for (uint i = 0; i < EACH; i++) {
                    const float4 four = X_UNIT ? load4(x[i] + first) : gather4(x[i] + offset_t(first) * step, step);
                    for (uint j = 0; j < 4; j++) {
                        tile_x[(x_row + 8 * i) * A_PITCH + column + j] = four[j];
                    }
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            sums.add_products(tile_x + corner.y * A_PITCH, tile_w + corner.x);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
#ifdef EXPERTS
    const Place place = {vector + corner.y, row + corner.x, m, n, 0, pairs};
#else
    const Place place = {vector + corner.y, row + corner.x, m, n, 0};
#endif
    sums.finish_all(env, place, lane);
}

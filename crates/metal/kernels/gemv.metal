// Products of a few vectors with a matrix: y[v][r] = Σ_i x[v][i]·M[r][i], sums in float.
//
// It serves m×k · k×n where m or n is at most eight: the operand with few rows (or columns) is x, the other M; SWAPPED says that x is
// input 1 and M input 0, so that the result is written transposed.
// dims: [0] batch, [1] vectors, [2] rows of M, [3] k, [4] k of one split (LANES_ALONG_ROWS only), [5] batch axes.
// Inputs: as in gemm.metal, WEIGHTS too. X_UNIT and M_UNIT: x steps by 1 along k, M along its contiguous axis.
//
// Threads without LANES_ALONG_ROWS (M contiguous along k, or along nothing): a simdgroup computes ROWS rows, its lanes split k four by
// four, and each result is one sum over the lanes. What it loads of x serves all its rows.
// Threads with LANES_ALONG_ROWS (M contiguous along rows): eight lanes take four neighbouring rows each, 32 in all, and the four (or
// eight) sets of eight lanes split k; two (or three) shuffles per vector add them up. The last strip moves back so that it ends with the
// last row; rows computed twice are finished once. SPLIT cuts k over threadgroups, to be added up by split_sum.
// Nothing passes through threadgroup memory, and there are no barriers. y of the grid counts batches, z splits.

#if SWAPPED
typedef Raw1 RawX;
typedef Raw0 RawM;
#else
typedef Raw0 RawX;
#ifdef WEIGHTS
typedef B_TYPE RawM;
#else
typedef Raw1 RawM;
#endif
#endif

// Both operands of one batch as [outer][k], whichever side they came from.
struct Operands {
    device const RawX* x;
    device const RawM* matrix;
    offset_t x_outer, x_k, m_outer, m_k;
};

#ifdef PACKED
#define OPERANDS(batch) operands(env, args, scratch, batch)
inline Operands operands(const thread Env& env, constant Args& args, device const uint* scratch, uint batch) {
#else
#define OPERANDS(batch) operands(env, args, batch)
inline Operands operands(const thread Env& env, constant Args& args, uint batch) {
#endif
    const uint axes = uint(args.dims[5]);
    Operands o;
#if SWAPPED
    o.x = raw1(env) + batch_start(args.in1_shape, args.in1_strides, axes, batch);
    o.matrix = raw0(env) + batch_start(args.in0_shape, args.in0_strides, axes, batch);
    o.x_k = args.in1_strides[axes];
    o.x_outer = args.in1_strides[axes + 1];
    o.m_outer = args.in0_strides[axes];
    o.m_k = args.in0_strides[axes + 1];
#else
    o.x = raw0(env) + batch_start(args.in0_shape, args.in0_strides, axes, batch);
#ifdef WEIGHTS
    o.x_outer = args.dims[6];
    o.x_k = args.dims[7];
    o.matrix = (device const RawM*)WEIGHT_BYTES(env);
    o.m_outer = WEIGHT_PITCH(args) / offset_t(sizeof(RawM));
    o.m_k = 1;
#else
    o.x_outer = args.in0_strides[axes];
    o.x_k = args.in0_strides[axes + 1];
    o.matrix = raw1(env) + batch_start(args.in1_shape, args.in1_strides, axes, batch);
    o.m_k = args.in1_strides[axes];
    o.m_outer = args.in1_strides[axes + 1];
#endif
#endif
    return o;
}

inline index_t point_of(uint batch, uint vector, uint row, uint vectors, uint rows) {
    const index_t start = index_t(batch) * vectors * rows;
    return start + (SWAPPED ? index_t(row) * vectors + vector : index_t(vector) * rows + row);
}

#ifndef LANES_ALONG_ROWS

kernel void gemv(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint simds [[simdgroups_per_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint width [[threads_per_simdgroup]]) {
    STEP_ENV;
    const uint rows = uint(args.dims[2]), k = uint(args.dims[3]), batch = group.y;
    const uint row = (group.x * simds + simd) * ROWS;
    const Operands o = OPERANDS(batch);
    device const RawM* matrix[ROWS];
    UNROLL for (uint r = 0; r < ROWS; r++) {
        matrix[r] = o.matrix + offset_t(min(row + r, rows - 1)) * o.m_outer;
    }
    float sums[ROWS][VECTORS];
    UNROLL for (uint r = 0; r < ROWS; r++) {
        UNROLL for (uint v = 0; v < VECTORS; v++) {
            sums[r][v] = 0.0f;
        }
    }
    const uint whole = k / 4 * 4;
    for (uint i = lane * 4; i < whole; i += width * 4) {
        float4 xs[VECTORS];
        UNROLL for (uint v = 0; v < VECTORS; v++) {
            device const RawX* x = o.x + offset_t(v) * o.x_outer;
            xs[v] = X_UNIT ? load4(x + i) : gather4(x + offset_t(i) * o.x_k, o.x_k);
        }
        UNROLL for (uint r = 0; r < ROWS; r++) {
            const float4 four = M_UNIT ? load4(matrix[r] + i) : gather4(matrix[r] + offset_t(i) * o.m_k, o.m_k);
            UNROLL for (uint v = 0; v < VECTORS; v++) {
                sums[r][v] += dot(four, xs[v]);
            }
        }
    }
    // Up to three columns are left, one lane each.
    if (whole + lane < k) {
        const offset_t i = whole + lane;
        UNROLL for (uint v = 0; v < VECTORS; v++) {
            const float x = widen(o.x[offset_t(v) * o.x_outer + i * o.x_k]);
            UNROLL for (uint r = 0; r < ROWS; r++) {
                sums[r][v] = fma(widen(matrix[r][i * o.m_k]), x, sums[r][v]);
            }
        }
    }

    // Lane i finishes result i.
    float mine = 0.0f;
    UNROLL for (uint r = 0; r < ROWS; r++) {
        UNROLL for (uint v = 0; v < VECTORS; v++) {
            const float sum = simd_sum(sums[r][v]);
            mine = lane == r * VECTORS + v ? sum : mine;
        }
    }
    const uint out_row = row + lane / VECTORS, out_vector = lane % VECTORS;
    if (lane < ROWS * VECTORS && out_row < rows) {
        finish(env, point_of(batch, out_vector, out_row, VECTORS, rows), mine);
    }
}

#else

kernel void gemv(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint simds [[simdgroups_per_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint width [[threads_per_simdgroup]]) {
    STEP_ENV;
    const uint rows = uint(args.dims[2]), batch = group.y, split = group.z;
    const uint k_first = split * uint(args.dims[4]);
    const uint k_end = min(uint(args.dims[3]), k_first + uint(args.dims[4]));
    const uint wanted = (group.x * simds + simd) * 32 + lane % 8 * 4;
    const uint row = min(wanted, rows - 4);
    const Operands o = OPERANDS(batch);
    device const RawM* matrix = o.matrix + row;
    float4 sums[VECTORS];
    UNROLL for (uint v = 0; v < VECTORS; v++) {
        sums[v] = float4(0.0f);
    }
    for (uint i = k_first + lane / 8; i < k_end; i += width / 8) {
        const float4 four = load4(matrix + offset_t(i) * o.m_k);
        UNROLL for (uint v = 0; v < VECTORS; v++) {
            sums[v] += four * widen(o.x[offset_t(v) * o.x_outer + offset_t(i) * o.x_k]);
        }
    }
    UNROLL for (uint v = 0; v < VECTORS; v++) {
        for (uint distance = 8; distance < width; distance *= 2) {
            sums[v] += simd_shuffle_xor(sums[v], ushort(distance));
        }
    }
    for (uint v = lane / 8; v < VECTORS; v += width / 8) {
        float4 mine = sums[0];
        UNROLL for (uint u = 1; u < VECTORS; u++) {
            mine = u == v ? sums[u] : mine;
        }
        for (uint j = 0; j < 4; j++) {
            const uint out_row = row + j;
            // `wanted` is beyond `row` in the strip that moved back, and beyond the end where there is nothing left.
            if (out_row >= wanted && wanted < rows) {
                const index_t point = point_of(batch, v, out_row, VECTORS, rows);
#ifdef SPLIT
                ((device float*)scratch)[index_t(split) * args.dims[0] * VECTORS * rows + point] = mine[j];
#else
                finish(env, point, mine[j]);
#endif
            }
        }
    }
}

#endif

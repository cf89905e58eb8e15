// Products of a few vectors with a quantised matrix: y[v][r] = Σ_i x[v][i]·W[r][i], W read in its blocks.
//
// dims: [0] vectors m, [1] rows n of W, [2] k, [3] axes of x before k, [8] pitch of PACKED rows.
// Inputs: 0 is x (strides: its axes, k), 1 the bytes of W (strides: rows, 1). FORMAT is its coding (blocks.metal).
//
// Threads: a simdgroup computes ROWS rows for VECTORS vectors, so that what it loads of x serves all its rows, and what it decodes all
// its vectors. Its lanes split the pieces of a row; one sum over the lanes per result is all they tell each other, but for a quad that
// shares a block's head: each lane loads a word of it. No threadgroup memory, no barriers. x of the grid counts runs of rows, y
// groups of vectors. Rows and vectors beyond the end repeat the last one; their results are dropped.

inline uint word_of(thread const Pair& pair, uint run, uint i) { return run == 0 ? pair.low[i] : pair.high[i]; }

kernel void quant_gemv(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint simds [[simdgroups_per_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint width [[threads_per_simdgroup]]) {
    STEP_ENV;
    const uint m = uint(args.dims[0]), n = uint(args.dims[1]), blocks = uint(args.dims[2]) / Format::LEN;
    const uint axes = uint(args.dims[3]);
    const uint row = (group.x * simds + simd) * ROWS, vector = group.y * VECTORS;
    const offset_t step = args.in0_strides[axes];

    device const uchar* matrix = MATRIX_OF(vector);
    device const uchar* rows[ROWS];
    UNROLL for (uint r = 0; r < ROWS; r++) {
        rows[r] = matrix + offset_t(min(row + r, n - 1)) * WEIGHT_PITCH(args);
    }
    device const Raw0* x[VECTORS];
    UNROLL for (uint v = 0; v < VECTORS; v++) {
        x[v] = raw0(env) + batch_start(args.in0_shape, args.in0_strides, axes, X_ROW(min(vector + v, m - 1)));
    }
    float sums[ROWS][VECTORS];
    UNROLL for (uint r = 0; r < ROWS; r++) {
        UNROLL for (uint v = 0; v < VECTORS; v++) {
            sums[r][v] = 0.0f;
        }
    }

    const uint piece = lane % Format::PIECES;
    for (uint block = lane / Format::PIECES; block < blocks; block += width / Format::PIECES) {
        uint4 heads[ROWS], shared[ROWS];
        UNROLL for (uint r = 0; r < ROWS; r++) {
            device const uchar* b = rows[r] + offset_t(block) * Format::BYTES;
            if (Format::WORDS == 4) {
                const uint word = ((device const uint*)b)[piece];
                heads[r] = uint4(quad_broadcast(word, 0), quad_broadcast(word, 1), quad_broadcast(word, 2),
                                 quad_broadcast(word, 3));
            } else {
                heads[r] = Format::head(b, piece);
            }
            shared[r] = Format::shared(b, piece);
        }
        for (uint t = 0; t < Format::PAIRS; t++) {
            Pair pairs[ROWS];
            UNROLL for (uint r = 0; r < ROWS; r++) {
                pairs[r] = Format::pair(rows[r] + offset_t(block) * Format::BYTES, piece, t, heads[r], shared[r]);
            }
            for (uint run = 0; run < 2; run++) {
                const uint first = block * Format::LEN + Format::position(piece, t, run);
                float parts[ROWS][VECTORS], totals[VECTORS];
                UNROLL for (uint v = 0; v < VECTORS; v++) {
                    totals[v] = 0.0f;
                    UNROLL for (uint r = 0; r < ROWS; r++) {
                        parts[r][v] = 0.0f;
                    }
                }
                for (uint i = 0; i < 4; i++) {
                    float4 xs[VECTORS];
                    UNROLL for (uint v = 0; v < VECTORS; v++) {
                        const float4 four = X_UNIT ? load4(x[v] + first + 4 * i)
                                                   : gather4(x[v] + offset_t(first + 4 * i) * step, step);
                        totals[v] += (four.x + four.y) + (four.z + four.w);
                        xs[v] = four * Format::factor();
                    }
                    UNROLL for (uint r = 0; r < ROWS; r++) {
                        const float4 codes = Format::codes(word_of(pairs[r], run, i));
                        UNROLL for (uint v = 0; v < VECTORS; v++) {
                            parts[r][v] += dot(codes, xs[v]);
                        }
                    }
                }
                UNROLL for (uint r = 0; r < ROWS; r++) {
                    UNROLL for (uint v = 0; v < VECTORS; v++) {
                        sums[r][v] = fma(pairs[r].scale[run], parts[r][v], sums[r][v]);
                        if (Format::OFFSETS) {
                            sums[r][v] = fma(pairs[r].offset[run], totals[v], sums[r][v]);
                        }
                    }
                }
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
    const uint out_row = row + lane / VECTORS, out_vector = vector + lane % VECTORS;
    if (lane < ROWS * VECTORS && out_row < n && out_vector < m) {
        finish(env, index_t(out_vector) * n + out_row, mine);
    }
}

// Attention for few queries: all heads of a group and all queries together, so that K and V are read once. See attention.metal.
//
// Threads: a threadgroup takes ROWS rows (head of the group, query) of one batch and group, and one of `splits` parts of the keys; its
// simdgroups take turns over blocks of 32 keys. x counts runs of ROWS rows, y batch and group, z splits. Simdgroups have 32 lanes.
// For a block of keys, a quad of lanes takes a key at a time: its lanes split the row of K, and one sum over the quad per row of q
// gives the score. Lane l ends up with key 8 (l mod 4) + l / 4; weights go through threadgroup memory, and then each lane takes its
// columns of V for all keys. The softmax is online: sums are relative to the largest score so far. In the end the simdgroups' sums are
// added up. SPLIT: they go to `scratch` [split][row of the result][V_WIDTH + 2] with their largest score and sum of weights, and
// attention_combine adds up the splits.

#define WIDTH 32
// Columns of V that a lane takes at once, and how often.
#define V_RUN (V_UNIT && V_WIDTH % 128 == 0 ? 4 : 1)
#define V_TURNS ((V_WIDTH + WIDTH * V_RUN - 1) / (WIDTH * V_RUN))

inline float4 load_some(device const Raw2* v) {
    return V_RUN == 4 ? load4(v) : float4(widen(v[0]), 0.0f, 0.0f, 0.0f);
}

[[max_total_threads_per_threadgroup(WIDTH * SIMDS)]]
kernel void attention_decode(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    STEP_ENV;
    threadgroup float4 q_rows[ROWS][(K_WIDTH + 3) / 4];
    threadgroup float4 weights[SIMDS][ROWS][8];
    threadgroup float values[SIMDS][ROWS][V_WIDTH];
    threadgroup float2 totals[SIMDS][ROWS];

    const Problem p = problem_of(env, args);
    const uint batch = group.y / p.groups, g = group.y % p.groups, split = group.z, splits = uint(args.dims[5]);
    const uint rows = p.share * p.queries, row = group.x * ROWS;
    for (uint i = index; i < ROWS * ((K_WIDTH + 3) / 4) * 4; i += WIDTH * SIMDS) {
        const uint r = min(row + i / ((K_WIDTH + 3) / 4 * 4), rows - 1), c = i % ((K_WIDTH + 3) / 4 * 4);
        device const Raw0* q = raw0(env) + row_start(args.in0_strides, batch, g * p.share + r / p.queries, r % p.queries);
        float value = 0.0f;
        if (c < K_WIDTH) {
            value = widen(q[offset_t(c) * offset_t(args.in0_strides[3])]);
        }
        ((threadgroup float*)q_rows)[i] = value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const uint2 range = visible(p, 0, p.queries - 1);
    const uint part = ((range.y - range.x + splits - 1) / splits + WIDTH - 1) / WIDTH * WIDTH;
    const uint first = min(range.x + split * part, range.y), end = min(first + part, range.y);
    device const Raw1* k = raw1(env) + row_start(args.in1_strides, batch, g, 0);
    device const Raw2* v = raw2(env) + row_start(args.in2_strides, batch, g, 0);
    const offset_t k_row = args.in1_strides[2], k_step = args.in1_strides[3];
    const offset_t v_row = args.in2_strides[2], v_step = args.in2_strides[3];

    float largest[ROWS], sums[ROWS];
    float4 acc[ROWS][V_TURNS];
    UNROLL for (uint r = 0; r < ROWS; r++) {
        largest[r] = -INFINITY;
        sums[r] = 0.0f;
        UNROLL for (uint i = 0; i < V_TURNS; i++) {
            acc[r][i] = float4(0.0f);
        }
    }

    const uint own = lane % 4 * 8 + lane / 4;
    for (uint block = first + simd * WIDTH; block < end; block += WIDTH * SIMDS) {
        float products[ROWS];
        for (uint turn = 0; turn < 4; turn++) {
            device const Raw1* key = k + offset_t(min(block + turn * 8 + lane / 4, end - 1)) * k_row;
            float dots[ROWS];
            UNROLL for (uint r = 0; r < ROWS; r++) {
                dots[r] = 0.0f;
            }
            if (K_WIDTH % 4 == 0) {
                for (uint c = lane % 4; c < K_WIDTH / 4; c += 4) {
                    const float4 four = K_UNIT ? load4(key + 4 * c) : gather4(key + offset_t(4 * c) * k_step, k_step);
                    UNROLL for (uint r = 0; r < ROWS; r++) {
                        dots[r] += dot(four, q_rows[r][c]);
                    }
                }
            } else {
                for (uint c = lane % 4; c < K_WIDTH; c += 4) {
                    const float one = widen(key[offset_t(c) * k_step]);
                    UNROLL for (uint r = 0; r < ROWS; r++) {
                        dots[r] = fma(one, q_rows[r][c / 4][c % 4], dots[r]);
                    }
                }
            }
            UNROLL for (uint r = 0; r < ROWS; r++) {
                const float sum = quad_sum(dots[r]);
                products[r] = turn == lane % 4 ? sum : products[r];
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        UNROLL for (uint r = 0; r < ROWS; r++) {
            const uint at = min(row + r, rows - 1);
            const uint3 where = uint3(batch, g * p.share + at / p.queries, at % p.queries);
            float score = -INFINITY;
            if (block + own < end) {
                score = score_of(env, args, p, where, block + own, products[r]);
            }
            const float now = max(largest[r], simd_max(score));
            const float origin = origin_of(now);
            const float kept = exp(largest[r] - origin), weight = exp(score - origin);
            sums[r] = fma(sums[r], kept, weight);
            largest[r] = now;
            ((threadgroup float*)weights[simd][r])[own] = weight;
            UNROLL for (uint i = 0; i < V_TURNS; i++) {
                acc[r][i] *= kept;
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        const uint count = min(end - block, uint(WIDTH));
        for (uint s = 0; s < count; s++) {
            device const Raw2* value = v + offset_t(block + s) * v_row;
            float4 some[V_TURNS];
            UNROLL for (uint i = 0; i < V_TURNS; i++) {
                const uint c = (i * WIDTH + lane) * V_RUN;
                some[i] = float4(0.0f);
                if (V_WIDTH % (WIDTH * V_RUN) == 0 || c < V_WIDTH) {
                    some[i] = load_some(value + offset_t(c) * v_step);
                }
            }
            UNROLL for (uint r = 0; r < ROWS; r++) {
                const float weight = weights[simd][r][s / 4][s % 4];
                // The same for all lanes: a weight of 0 hides infinities and NaN.
                if (weight != 0.0f) {
                    UNROLL for (uint i = 0; i < V_TURNS; i++) {
                        acc[r][i] = fma(some[i], float4(weight), acc[r][i]);
                    }
                }
            }
        }
    }

    UNROLL for (uint r = 0; r < ROWS; r++) {
        const float sum = simd_sum(sums[r]);
        if (lane == 0) {
            totals[simd][r] = float2(largest[r], sum);
        }
        UNROLL for (uint i = 0; i < V_TURNS; i++) {
            const uint c = (i * WIDTH + lane) * V_RUN;
            UNROLL for (uint j = 0; j < V_RUN; j++) {
                if (c + j < V_WIDTH) {
                    values[simd][r][c + j] = acc[r][i][j];
                }
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = index; i < ROWS * V_WIDTH; i += WIDTH * SIMDS) {
        const uint r = i / V_WIDTH, c = i % V_WIDTH;
        if (row + r >= rows) {
            continue;
        }
        float most = -INFINITY;
        for (uint s = 0; s < SIMDS; s++) {
            most = max(most, totals[s][r].x);
        }
        const float origin = origin_of(most);
        float value = 0.0f, sum = 0.0f;
        for (uint s = 0; s < SIMDS; s++) {
            const float kept = exp(totals[s][r].x - origin);
            // A simdgroup that had no keys has nothing to add.
            value = fma(values[s][r][c], kept, value);
            sum = fma(totals[s][r].y, kept, sum);
        }
        const uint at = row + r;
        const index_t out_row =
            (index_t(batch) * p.heads + g * p.share + at / p.queries) * p.queries + at % p.queries;
#ifdef SPLIT
        const index_t all = index_t(args.dims[0]) * p.heads * p.queries;
        device float* place = (device float*)scratch + (index_t(split) * all + out_row) * (V_WIDTH + 2);
        place[c] = value;
        if (c == 0) {
            place[V_WIDTH] = most;
            place[V_WIDTH + 1] = sum;
        }
#else
        const uint head = g * p.share + at / p.queries;
        finish(env, out_row * V_WIDTH + c, Out(value * share_of(env, args, head, most, sum)));
#endif
    }
}

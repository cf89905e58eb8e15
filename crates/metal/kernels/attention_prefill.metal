// Attention for many queries: tiles of 32 rows by KEYS keys on simdgroup matrices, with an online softmax. See attention.metal.
//
// Rows are (query, head of the group), heads fastest, so that the heads of a group share what is loaded of K and V, and a tile's
// queries are few, which lets causal tiles stop early. Threads: a threadgroup of four simdgroups takes 32 rows of one batch and group, a
// simdgroup eight of them; x counts tiles of rows, y batch and group. Per tile of keys: Kᵀ goes to threadgroup memory, each simdgroup
// computes its 8×KEYS scores, V takes K's place, and the weights times V are added to 8×V_WIDTH sums in registers. Q stays in registers.
//
// A lane holds two neighbours of every 8×8 matrix, all of one row; the four lanes of a row differ in bits 0 and 3. Extents that eight
// does not divide are filled with zeros, as are keys beyond the end.
//
// A weight of 0 times an infinite or NaN value would be NaN, so such values go to threadgroup memory as 0 and are remembered; a tile
// that has any adds them one by one, to rows that do see them.

#define DP ((K_WIDTH + 7) / 8 * 8)
#define EP ((V_WIDTH + 7) / 8 * 8)
#define THREADS 128
#define ROWS 32
#define K_PITCH (KEYS + 4)
#define V_PITCH (EP + 4)
#define TILE_SIZE (DP * K_PITCH > KEYS * V_PITCH ? DP * K_PITCH : KEYS * V_PITCH)
typedef TILE_TYPE Tile;

template <typename T>
inline float4 load_part(device const T* p, offset_t step, bool unit, uint left) {
    if (left >= 4) {
        return unit ? load4(p) : gather4(p, step);
    }
    float4 v = float4(0.0f);
    for (uint j = 0; j < left; j++) {
        v[j] = widen(p[offset_t(j) * step]);
    }
    return v;
}

inline thread float2& pair_of(thread simdgroup_float8x8& m) { return reinterpret_cast<thread float2&>(m.thread_elements()); }

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void attention_prefill(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    STEP_ENV;
    threadgroup Tile tile[TILE_SIZE];
    threadgroup uint strange[KEYS];

    const Problem p = problem_of(env, args);
    const uint batch = group.y / p.groups, g = group.y % p.groups;
    const uint rows = p.share * p.queries, first_row = group.x * ROWS;
    const uint quad = lane / 4;
    const uint row = min(first_row + simd * 8 + (quad & 4) + lane / 2 % 4, rows - 1);
    const uint column = (quad & 2) * 2 + lane % 2 * 2;
    const uint3 at = uint3(batch, g * p.share + row % p.share, row / p.share);

    simdgroup_matrix<Tile, 8, 8> q[DP / 8];
    device const Raw0* q_row = raw0(env) + row_start(args.in0_strides, at.x, at.y, at.z);
    const offset_t q_step = args.in0_strides[3];
    UNROLL for (uint i = 0; i < DP / 8; i++) {
        vec<Tile, 2> two = vec<Tile, 2>(Tile(0));
        for (uint e = 0; e < 2; e++) {
            const uint c = i * 8 + column + e;
            if (K_WIDTH % 8 == 0 || c < K_WIDTH) {
                two[e] = Tile(widen(q_row[offset_t(c) * q_step]));
            }
        }
        reinterpret_cast<thread vec<Tile, 2>&>(q[i].thread_elements()) = two;
    }

    simdgroup_float8x8 sums[EP / 8];
    UNROLL for (uint i = 0; i < EP / 8; i++) {
        sums[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    float largest = -INFINITY, total = 0.0f;

    const uint2 range = visible(p, first_row / p.share, min(first_row + ROWS - 1, rows - 1) / p.share);
    device const Raw1* k = raw1(env) + row_start(args.in1_strides, batch, g, 0);
    device const Raw2* v = raw2(env) + row_start(args.in2_strides, batch, g, 0);
    const offset_t k_row = args.in1_strides[2], k_step = args.in1_strides[3];
    const offset_t v_row = args.in2_strides[2], v_step = args.in2_strides[3];

    for (uint start = range.x; start < range.y; start += KEYS) {
        const uint count = min(range.y - start, uint(KEYS));
        for (uint i = index; i < KEYS * (DP / 4); i += THREADS) {
            const uint key = i / (DP / 4), c = i % (DP / 4) * 4;
            float4 four = float4(0.0f);
            if (key < count && c < K_WIDTH) {
                four = load_part(k + offset_t(start + key) * k_row + offset_t(c) * k_step, k_step, K_UNIT, K_WIDTH - c);
            }
            for (uint j = 0; j < 4; j++) {
                tile[(c + j) * K_PITCH + key] = Tile(four[j]);
            }
        }
        if (index < KEYS) {
            strange[index] = 0;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        simdgroup_float8x8 scores[KEYS / 8];
        UNROLL for (uint j = 0; j < KEYS / 8; j++) {
            scores[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
            UNROLL for (uint i = 0; i < DP / 8; i++) {
                simdgroup_matrix<Tile, 8, 8> part;
                simdgroup_load(part, tile + i * 8 * K_PITCH + j * 8, K_PITCH);
                simdgroup_multiply_accumulate(scores[j], q[i], part, scores[j]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        for (uint i = index; i < KEYS * (EP / 4); i += THREADS) {
            const uint key = i / (EP / 4), c = i % (EP / 4) * 4;
            float4 four = float4(0.0f);
            if (key < count && c < V_WIDTH) {
                four = load_part(v + offset_t(start + key) * v_row + offset_t(c) * v_step, v_step, V_UNIT, V_WIDTH - c);
                if (!all(isfinite(four))) {
                    strange[key] = 1;
                    four = select(float4(0.0f), four, isfinite(four));
                }
            }
            for (uint j = 0; j < 4; j++) {
                tile[key * V_PITCH + c + j] = Tile(four[j]);
            }
        }

        // Scores of this lane's row, and the weights that they give.
        float most = -INFINITY;
        UNROLL for (uint j = 0; j < KEYS / 8; j++) {
            thread float2& pair = pair_of(scores[j]);
            for (uint e = 0; e < 2; e++) {
                const uint key = j * 8 + column + e;
                float score = -INFINITY;
                if (key < count) {
                    score = score_of(env, args, p, at, start + key, pair[e]);
                }
                pair[e] = score;
                most = max(most, score);
            }
        }
        most = max(most, simd_shuffle_xor(most, ushort(1)));
        most = max(most, simd_shuffle_xor(most, ushort(8)));
        const float now = max(largest, most), origin = origin_of(now);
        const float kept = exp(largest - origin);
        largest = now;
        total *= kept;
        simdgroup_matrix<Tile, 8, 8> weights[KEYS / 8];
        UNROLL for (uint j = 0; j < KEYS / 8; j++) {
            const float2 pair = exp(pair_of(scores[j]) - origin);
            total += pair.x + pair.y;
            reinterpret_cast<thread vec<Tile, 2>&>(weights[j].thread_elements()) = vec<Tile, 2>(Tile(pair.x), Tile(pair.y));
        }
        UNROLL for (uint i = 0; i < EP / 8; i++) {
            pair_of(sums[i]) *= kept;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        UNROLL for (uint j = 0; j < KEYS / 8; j++) {
            UNROLL for (uint i = 0; i < EP / 8; i++) {
                simdgroup_matrix<Tile, 8, 8> part;
                simdgroup_load(part, tile + j * 8 * V_PITCH + i * 8, V_PITCH);
                simdgroup_multiply_accumulate(sums[i], weights[j], part, sums[i]);
            }
        }
        for (uint key = 0; key < count; key++) {
            if (strange[key] != 0) {
                // The lane of this row that holds the key's weight.
                const ushort holder = ushort((lane & 22) | (key / 4 % 2) << 3 | (key / 2 % 2));
                float weight = 0.0f;
                UNROLL for (uint j = 0; j < KEYS / 8; j++) {
                    const float2 pair = float2(reinterpret_cast<thread vec<Tile, 2>&>(weights[j].thread_elements()));
                    const float of_holder = simd_shuffle(pair[key % 2], holder);
                    weight = j == key / 8 ? of_holder : weight;
                }
                UNROLL for (uint i = 0; i < EP / 8; i++) {
                    thread float2& pair = pair_of(sums[i]);
                    for (uint e = 0; e < 2; e++) {
                        const uint c = i * 8 + column + e;
                        if (c < V_WIDTH && weight != 0.0f) {
                            const float value = widen(v[offset_t(start + key) * v_row + offset_t(c) * v_step]);
                            pair[e] = isfinite(value) ? pair[e] : fma(weight, value, pair[e]);
                        }
                    }
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    total += simd_shuffle_xor(total, ushort(1));
    total += simd_shuffle_xor(total, ushort(8));
    const bool inside = first_row + simd * 8 + (quad & 4) + lane / 2 % 4 < rows;
    const index_t start = ((index_t(at.x) * p.heads + at.y) * p.queries + at.z) * V_WIDTH;
    const float share = share_of(env, args, at.y, largest, total);
    UNROLL for (uint i = 0; i < EP / 8; i++) {
        const float2 pair = pair_of(sums[i]);
        for (uint e = 0; e < 2; e++) {
            const uint c = i * 8 + column + e;
            if (inside && c < V_WIDTH) {
                finish(env, start + c, Out(pair[e] * share));
            }
        }
    }
}

// Attention for GPUs without simdgroup matrices, or whose simdgroups are not 32 wide: no lane needs another. See attention.metal.
//
// Threads: a threadgroup of THREADS takes one row (batch, head, query); x counts queries, y batch and head. Keys come in runs of THREADS:
// a thread computes the score of one key, then all scores are in threadgroup memory, and a thread adds up the columns of V that it
// owns, one after the other. The softmax is online: sums are relative to the largest score so far.

#define THREADS 64
#define TURNS ((V_WIDTH + THREADS - 1) / THREADS)

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void attention_tiled(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
    STEP_ENV;
    threadgroup float q_row[K_WIDTH];
    threadgroup float scores[THREADS];

    const Problem p = problem_of(env, args);
    const uint3 at = uint3(group.y / p.heads, group.y % p.heads, group.x);
    const uint g = at.y / p.share;
    device const Raw0* q = raw0(env) + row_start(args.in0_strides, at.x, at.y, at.z);
    for (uint c = index; c < K_WIDTH; c += THREADS) {
        q_row[c] = widen(q[offset_t(c) * offset_t(args.in0_strides[3])]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    device const Raw1* k = raw1(env) + row_start(args.in1_strides, at.x, g, 0);
    device const Raw2* v = raw2(env) + row_start(args.in2_strides, at.x, g, 0);
    const offset_t k_row = args.in1_strides[2], k_step = args.in1_strides[3];
    const offset_t v_row = args.in2_strides[2], v_step = args.in2_strides[3];
    const uint2 range = visible(p, at.z, at.z);
    float sums[TURNS];
    UNROLL for (uint i = 0; i < TURNS; i++) {
        sums[i] = 0.0f;
    }
    float largest = -INFINITY, total = 0.0f;
    for (uint start = range.x; start < range.y; start += THREADS) {
        const uint count = min(range.y - start, uint(THREADS));
        if (index < count) {
            device const Raw1* key = k + offset_t(start + index) * k_row;
            float product = 0.0f;
            for (uint c = 0; c < K_WIDTH; c++) {
                product = fma(q_row[c], widen(key[offset_t(c) * k_step]), product);
            }
            scores[index] = score_of(env, args, p, at, start + index, product);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float now = largest;
        for (uint s = 0; s < count; s++) {
            now = max(now, scores[s]);
        }
        const float origin = origin_of(now), kept = exp(largest - origin);
        largest = now;
        total *= kept;
        UNROLL for (uint i = 0; i < TURNS; i++) {
            sums[i] *= kept;
        }
        for (uint s = 0; s < count; s++) {
            const float weight = exp(scores[s] - origin);
            total += weight;
            UNROLL for (uint i = 0; i < TURNS; i++) {
                const uint c = i * THREADS + index;
                if (c < V_WIDTH && weight != 0.0f) {
                    sums[i] = fma(weight, widen(v[offset_t(start + s) * v_row + offset_t(c) * v_step]), sums[i]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    const index_t start = ((index_t(at.x) * p.heads + at.y) * p.queries + at.z) * V_WIDTH;
    const float share = share_of(env, args, at.y, largest, total);
    UNROLL for (uint i = 0; i < TURNS; i++) {
        const uint c = i * THREADS + index;
        if (c < V_WIDTH) {
            finish(env, start + c, Out(sums[i] * share));
        }
    }
}

// RWKV-7's recurrence: per head, S ← S·diag(w) + (S·a)·bᵀ + v·kᵀ and out = S·r for each step t, from a given state S (ROWS × WIDTH).
//
// dims: [0] steps, [1] heads. Inputs 0–5: r, w, k, v, a, b (strides: step, head, element), of which v has ROWS elements and the others
// WIDTH; 6: the state (head, row, column). The result is the outputs [t, h, ROWS] and then the new state [h, ROWS, WIDTH], flat.
//
// Rows of S do not depend on each other: a quad of lanes takes one and keeps it in registers, 4 of every 16 columns per lane, so that
// a step is two sums over a quad. Threads: a threadgroup takes THREADS / 4 rows of one head; x counts runs of rows, y heads. The
// vectors of CHUNK steps at a time pass through threadgroup memory: a chunk of one for decoding, a longer one for prefill, which needs
// two barriers per chunk instead of per step, and loads each vector once per threadgroup.

#define FOURS ((WIDTH + 15) / 16 * 4)
#define PARTS (FOURS / 4)
#define ROW_FOURS ((ROWS + 3) / 4)

// One vector of a chunk, `fours` float4 long: what is beyond its width, or beyond the last step, is zero.
inline void stage(
    device const float* source, offset_t t_stride, offset_t step, uint count, uint fours, uint width,
    threadgroup float4* target, uint index) {
    for (uint i = index; i < CHUNK * fours * 4; i += THREADS) {
        const uint t = i / (fours * 4), c = i % (fours * 4);
        float value = 0.0f;
        if (t < count && c < width) {
            value = source[offset_t(t) * t_stride + offset_t(c) * step];
        }
        ((threadgroup float*)target)[i] = value;
    }
}

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void wkv7(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]]) {
    STEP_ENV;
    threadgroup float4 r[CHUNK * FOURS], w[CHUNK * FOURS], k[CHUNK * FOURS];
    threadgroup float4 v[CHUNK * ROW_FOURS], a[CHUNK * FOURS], b[CHUNK * FOURS];

    const uint steps = uint(args.dims[0]), heads = uint(args.dims[1]), head = group.y;
    const uint row = group.x * (THREADS / 4) + index / 4, lane = index % 4;
    const bool inside = row < ROWS;
    const offset_t s_column = args.in6_strides[2];
    device const float* s = raw6(env) + offset_t(head) * offset_t(args.in6_strides[0]) +
                            offset_t(inside ? row : 0) * offset_t(args.in6_strides[1]);
    float4 state[PARTS];
    UNROLL for (uint i = 0; i < PARTS; i++) {
        UNROLL for (uint j = 0; j < 4; j++) {
            const uint column = 16 * i + 4 * lane + j;
            state[i][j] = 0.0f;
            if (column < WIDTH) {
                state[i][j] = s[offset_t(column) * s_column];
            }
        }
    }

    for (uint start = 0; start < steps; start += CHUNK) {
        const uint count = min(steps - start, uint(CHUNK));
#define STAGE(slot, fours, width, target)                                                                       \
    stage(raw##slot(env) + offset_t(start) * offset_t(args.in##slot##_strides[0]) +                             \
              offset_t(head) * offset_t(args.in##slot##_strides[1]),                                            \
          offset_t(args.in##slot##_strides[0]), offset_t(args.in##slot##_strides[2]), count, fours, width,      \
          target, index)
        STAGE(0, FOURS, WIDTH, r);
        STAGE(1, FOURS, WIDTH, w);
        STAGE(2, FOURS, WIDTH, k);
        STAGE(3, ROW_FOURS, ROWS, v);
        STAGE(4, FOURS, WIDTH, a);
        STAGE(5, FOURS, WIDTH, b);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint t = 0; t < count; t++) {
            const uint at = t * FOURS + lane;
            float removed = 0.0f;
            UNROLL for (uint i = 0; i < PARTS; i++) {
                removed += dot(state[i], a[at + 4 * i]);
            }
            removed = quad_sum(removed);
            const float value = ((threadgroup const float*)v)[t * ROW_FOURS * 4 + (inside ? row : 0)];
            float out = 0.0f;
            UNROLL for (uint i = 0; i < PARTS; i++) {
                state[i] = fma(state[i], w[at + 4 * i], fma(float4(removed), b[at + 4 * i], value * k[at + 4 * i]));
                out += dot(state[i], r[at + 4 * i]);
            }
            out = quad_sum(out);
            if (inside && lane == 0) {
                finish(env, (index_t(start + t) * heads + head) * ROWS + row, out);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    const index_t first = index_t(steps) * heads * ROWS + (index_t(head) * ROWS + row) * WIDTH;
    UNROLL for (uint i = 0; i < PARTS; i++) {
        UNROLL for (uint j = 0; j < 4; j++) {
            const uint column = 16 * i + 4 * lane + j;
            if (inside && column < WIDTH) {
                finish(env, first + column, state[i][j]);
            }
        }
    }
}

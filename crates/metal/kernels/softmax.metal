// Softmax along rows: out[r, i] = exp(x − max) / Σ exp(x − max); with LOG: x − max − ln Σ exp(x − max). All in float. A row of −inf
// alone, or with +inf or NaN in it, is NaN throughout, as the formula says.
//
// dims: [0] rows, [1] width.
// Threads: a threadgroup per row. softmax_held keeps ITEMS elements per thread in registers and reads the row once; softmax_walked, for
// longer rows, goes along it twice: for maximum and sum together, then for the result.

inline float softmax_value(float x, float most, float sum) {
#ifdef LOG
    return x - most - log(sum);
#else
    return exp(x - most) / sum;
#endif
}

#ifdef ITEMS
[[max_total_threads_per_threadgroup(1024)]]
kernel void softmax_held(STEP_BINDINGS, STANDING_PARAMETERS) {
    STEP_ENV;
    threadgroup float shared[MAX_SIMDGROUPS];
    const index_t width = args.dims[1];
    const index_t start = index_t(group.x) * width;
    float x[ITEMS];
    float most = -INFINITY;
#ifdef IN0_FOUR
    const index_t first = index_t(thread_index) * 4;
    if (first < width) {
        const float4 four = in0_4(env, start + first);
        UNROLL for (uint k = 0; k < 4; ++k) {
            x[k] = four[k];
            most = max(most, x[k]);
        }
    }
#else
    UNROLL for (uint k = 0; k < ITEMS; ++k) {
        const index_t i = index_t(k) * group_size.x + thread_index;
        x[k] = i < width ? in0(env, start + i) : -INFINITY;
        most = max(most, x[k]);
    }
#endif
    most = combine_threads<LargestNumber>(most, shared, STANDING);
    // NaN comes into the sum, and so into all results, whatever is subtracted from it.
    float sum = 0.0f;
    for (uint k = 0; k < ITEMS; ++k) {
#ifdef IN0_FOUR
        const bool inside = first < width;
#else
        const bool inside = index_t(k) * group_size.x + thread_index < width;
#endif
        sum += inside ? exp(x[k] - most) : 0.0f;
    }
    sum = combine_threads<Sum>(sum, shared, STANDING);
#ifdef IN0_FOUR
    if (first < width) {
        float4 result;
        UNROLL for (uint k = 0; k < 4; ++k) {
            result[k] = softmax_value(x[k], most, sum);
        }
        finish_4(env, start + first, result);
    }
#else
    UNROLL for (uint k = 0; k < ITEMS; ++k) {
        const index_t i = index_t(k) * group_size.x + thread_index;
        if (i < width) {
            finish(env, start + i, softmax_value(x[k], most, sum));
        }
    }
#endif
}
#else
[[max_total_threads_per_threadgroup(1024)]]
kernel void softmax_walked(STEP_BINDINGS, STANDING_PARAMETERS) {
    STEP_ENV;
    threadgroup float shared[MAX_SIMDGROUPS];
    const index_t width = args.dims[1];
    const index_t start = index_t(group.x) * width;
    // The sum so far is relative to the maximum so far. While that is −inf the sum is of nothing.
    float most = -INFINITY;
    float sum = 0.0f;
    for (index_t i = thread_index; i < width; i += group_size.x) {
        const float x = in0(env, start + i);
        const float next = nan_max(most, x);
        sum = next == -INFINITY ? 0.0f : fma(sum, most == -INFINITY ? 0.0f : exp(most - next), exp(x - next));
        most = next;
    }
    const float own = most;
    most = combine_threads<Largest>(most, shared, STANDING);
    sum = own == -INFINITY ? 0.0f : sum * exp(own - most);
    sum = combine_threads<Sum>(sum, shared, STANDING);
    for (index_t i = thread_index; i < width; i += group_size.x) {
        finish(env, start + i, softmax_value(in0(env, start + i), most, sum));
    }
}
#endif

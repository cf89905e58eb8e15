// Norms of rows, in float.
//   RMS norm:             out[r, i] = x[r, i] / √(mean(x[r]²) + eps) · weight[i]
//   layer norm (LAYER):   out[r, i] = (x[r, i] − mean(x[r])) / √(mean((x[r] − mean)²) + eps) · weight[i] + bias[i]
// Weight (input 1) and bias (input 2) are there with WEIGHT and BIAS. A residual addition in front of the norm is part of input 0.
//
// dims: [0] rows, [1] width, [2] eps as the bits of a float.
// Threads: a threadgroup per row. norm_held keeps ITEMS elements per thread in registers, so that the row is read once; norm_walked goes
// along longer rows once per sum and once for the result.

inline float normed(const thread Env& env, float x, float scale, index_t i) {
    float value = x * scale;
#ifdef WEIGHT
    value = value * in1(env, i);
#endif
#ifdef BIAS
    value = value + in2(env, i);
#endif
    return value;
}

#ifdef ITEMS
#ifdef IN0_FOUR
#define POSITION(k) (index_t(thread_index) * 4 + (k))
#else
#define POSITION(k) (index_t(k) * group_size.x + thread_index)
#endif

[[max_total_threads_per_threadgroup(1024)]]
kernel void norm_held(STEP_BINDINGS, STANDING_PARAMETERS) {
    STEP_ENV;
    threadgroup float shared[MAX_SIMDGROUPS];
    const index_t width = args.dims[1];
    const index_t start = index_t(group.x) * width;
    const float eps = as_type<float>(uint(args.dims[2]));
    float x[ITEMS];
#ifdef IN0_FOUR
    if (POSITION(0) < width) {
        const float4 four = in0_4(env, start + POSITION(0));
        UNROLL for (uint k = 0; k < ITEMS; ++k) {
            x[k] = four[k];
        }
    } else {
        UNROLL for (uint k = 0; k < ITEMS; ++k) {
            x[k] = 0.0f;
        }
    }
#else
    UNROLL for (uint k = 0; k < ITEMS; ++k) {
        x[k] = POSITION(k) < width ? in0(env, start + POSITION(k)) : 0.0f;
    }
#endif
#ifdef LAYER
    float total = 0.0f;
    UNROLL for (uint k = 0; k < ITEMS; ++k) {
        total += x[k];
    }
    const float mean = combine_threads<Sum>(total, shared, STANDING) / float(width);
    UNROLL for (uint k = 0; k < ITEMS; ++k) {
        x[k] = POSITION(k) < width ? x[k] - mean : 0.0f;
    }
#endif
    float squares = 0.0f;
    UNROLL for (uint k = 0; k < ITEMS; ++k) {
        squares = fma(x[k], x[k], squares);
    }
    squares = combine_threads<Sum>(squares, shared, STANDING);
    const float scale = 1.0f / sqrt(squares / float(width) + eps);
#ifdef IN0_FOUR
    if (POSITION(0) < width) {
        float4 result;
        UNROLL for (uint k = 0; k < ITEMS; ++k) {
            result[k] = normed(env, x[k], scale, POSITION(k));
        }
        finish_4(env, start + POSITION(0), result);
    }
#else
    UNROLL for (uint k = 0; k < ITEMS; ++k) {
        if (POSITION(k) < width) {
            finish(env, start + POSITION(k), normed(env, x[k], scale, POSITION(k)));
        }
    }
#endif
}
#else
[[max_total_threads_per_threadgroup(1024)]]
kernel void norm_walked(STEP_BINDINGS, STANDING_PARAMETERS) {
    STEP_ENV;
    threadgroup float shared[MAX_SIMDGROUPS];
    const index_t width = args.dims[1];
    const index_t start = index_t(group.x) * width;
    const float eps = as_type<float>(uint(args.dims[2]));
    float mean = 0.0f;
#ifdef LAYER
    float total = 0.0f;
    for (index_t i = thread_index; i < width; i += group_size.x) {
        total += in0(env, start + i);
    }
    mean = combine_threads<Sum>(total, shared, STANDING) / float(width);
#endif
    float squares = 0.0f;
    for (index_t i = thread_index; i < width; i += group_size.x) {
        const float x = in0(env, start + i) - mean;
        squares = fma(x, x, squares);
    }
    squares = combine_threads<Sum>(squares, shared, STANDING);
    const float scale = 1.0f / sqrt(squares / float(width) + eps);
    for (index_t i = thread_index; i < width; i += group_size.x) {
        finish(env, start + i, normed(env, in0(env, start + i) - mean, scale, i));
    }
}
#endif

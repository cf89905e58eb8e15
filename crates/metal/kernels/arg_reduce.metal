// Arg-reduce: out[r] = the first position i of the largest (with MINIMUM: smallest) in[r, i], or of the first NaN.
//
// dims: [0] rows, [1] width.
// Threads, by variant: arg_reduce_threads takes a row per thread, for short rows; arg_reduce_group a row per threadgroup, whose threads
// stride along it and then agree in a tree over threadgroup memory. Groups are a power of two of threads.

struct Best {
    In0 value;
    index_t at;
};

// NaN before numbers, then the better value, then the lower position.
inline Best better(Best a, Best b) {
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
#ifdef MINIMUM
    const bool a_wins = a.value < b.value;
    const bool b_wins = b.value < a.value;
#else
    const bool a_wins = a.value > b.value;
    const bool b_wins = b.value > a.value;
#endif
    if (a_nan != b_nan) {
        return a_nan ? a : b;
    }
    if (!a_nan && a_wins != b_wins) {
        return a_wins ? a : b;
    }
    return a.at <= b.at ? a : b;
}

[[max_total_threads_per_threadgroup(256)]]
kernel void arg_reduce_threads(STEP_BINDINGS, uint row [[thread_position_in_grid]]) {
    STEP_ENV;
    const index_t width = args.dims[1];
    if (row >= args.dims[0]) {
        return;
    }
    const index_t start = index_t(row) * width;
    Best best = {in0(env, start), 0};
    for (index_t i = 1; i < width; ++i) {
        best = better(best, Best{in0(env, start + i), i});
    }
    finish(env, row, long(best.at));
}

[[max_total_threads_per_threadgroup(256)]]
kernel void arg_reduce_group(STEP_BINDINGS, uint row [[threadgroup_position_in_grid]],
                             uint thread_index [[thread_index_in_threadgroup]],
                             uint threads [[threads_per_threadgroup]]) {
    STEP_ENV;
    threadgroup In0 values[256];
    threadgroup index_t places[256];
    const index_t width = args.dims[1];
    const index_t start = index_t(row) * width;
    // The row has at least as many elements as the group has threads.
    Best best = {in0(env, start + thread_index), thread_index};
    for (index_t i = index_t(thread_index) + threads; i < width; i += threads) {
        best = better(best, Best{in0(env, start + i), i});
    }
    values[thread_index] = best.value;
    places[thread_index] = best.at;
    for (uint reach = threads / 2; reach > 0; reach /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (thread_index < reach) {
            const uint other = thread_index + reach;
            best = better(best, Best{values[other], places[other]});
            values[thread_index] = best.value;
            places[thread_index] = best.at;
        }
    }
    if (thread_index == 0) {
        finish(env, row, long(best.at));
    }
}

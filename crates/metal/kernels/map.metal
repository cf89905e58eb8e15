// Map: out[p] = f(loads at p) for every point p of the result, f being the step's fused program.
//
// dims: [0] points.
// Threads: a grid of any size walks the points in strides of itself. With VECTOR, one thread takes four neighbouring points with
// one access per load and store; every layout then steps by 1 or 0 along the last axis, and starts of rows are aligned. What is left
// over at the end is taken one by one.

[[max_total_threads_per_threadgroup(256)]]
kernel void map(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    const index_t points = args.dims[0];
#ifdef VECTOR
    const index_t fours = points / 4;
    for (index_t i = thread_index; i < fours; i += threads) {
        finish_4(env, i * 4);
    }
    if (thread_index < points - fours * 4) {
        finish(env, fours * 4 + thread_index);
    }
#else
    for (index_t point = thread_index; point < points; point += threads) {
        finish(env, point);
    }
#endif
}

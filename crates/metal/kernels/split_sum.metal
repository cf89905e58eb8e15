// The second pass of products whose inner extent was split: out[p] = Σ_s scratch[s][p].
//
// dims: [0] batch, [1] m, [2] n, [3] k, [4] k of one split; as the first pass has them.
// Threads: one per point of the result. Splits are added in rising order, so that results do not depend on scheduling.

[[max_total_threads_per_threadgroup(256)]]
kernel void split_sum(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    const index_t points = index_t(args.dims[0]) * index_t(args.dims[1]) * index_t(args.dims[2]);
    const uint splits = (uint(args.dims[3]) + uint(args.dims[4]) - 1) / uint(args.dims[4]);
    for (index_t point = thread_index; point < points; point += threads) {
        float sum = 0.0f;
        for (uint split = 0; split < splits; split++) {
            sum += ((device const float*)scratch)[index_t(split) * points + point];
        }
        finish(env, point, Out(sum));
    }
}

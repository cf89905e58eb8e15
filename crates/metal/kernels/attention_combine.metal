// The second pass of attention whose keys were split: adds up the parts that attention_decode left in `scratch`.
//
// dims: as in attention.metal. scratch: [split][row of the result][V_WIDTH + 2], the last two being largest score and sum of weights.
// Threads: one per element of the result.

[[max_total_threads_per_threadgroup(256)]]
kernel void attention_combine(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    device const float* parts = (device const float*)scratch;
    const index_t rows = index_t(args.dims[0]) * index_t(args.dims[1]) * index_t(args.dims[3]);
    const uint splits = uint(args.dims[5]);
    for (index_t point = thread_index; point < rows * V_WIDTH; point += threads) {
        const index_t row = point / V_WIDTH, c = point % V_WIDTH;
        float most = -INFINITY;
        for (uint s = 0; s < splits; s++) {
            most = max(most, parts[(s * rows + row) * (V_WIDTH + 2) + V_WIDTH]);
        }
        const float origin = most == -INFINITY ? 0.0f : most;
        float value = 0.0f, sum = 0.0f;
        for (uint s = 0; s < splits; s++) {
            device const float* part = parts + (s * rows + row) * (V_WIDTH + 2);
            const float kept = exp(part[V_WIDTH] - origin);
            value = fma(part[c], kept, value);
            sum = fma(part[V_WIDTH + 1], kept, sum);
        }
        const uint head = uint(row / index_t(args.dims[3]) % index_t(args.dims[1]));
        finish(env, point, Out(value * share_of(env, args, head, most, sum)));
    }
}

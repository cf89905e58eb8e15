// Write-at: target[…, start + i, …] = rows[…, i, …] along an axis. Input 0 is the rows, input 1 the start (one int); the target holds the
// other elements already, and is updated in place (a KV cache takes its new rows so).
//
// dims: [0] points of the rows, [1] rank, [2] axis, [3] extent of the target along it, [4 …] the rows' extents.
// Threads: a grid of any size walks the points in strides of itself. A start out of range is a fault that changes nothing.

[[max_total_threads_per_threadgroup(256)]]
kernel void write_at(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    const long start = long(in1(env, 0));
    if (start < 0 || start + long(args.dims[4 + args.dims[2]]) > long(args.dims[3])) {
        if (thread_index == 0) {
            raise(FAULTS, INDEX_OUT_OF_RANGE);
        }
        return;
    }
    for (index_t point = thread_index; point < args.dims[0]; point += threads) {
        // From the buffer's start, so that steps backwards wrap to what is meant.
        index_t position = args.out_offsets[0] + index_t(start) * args.out_strides[args.dims[2]];
        index_t rest = point;
        for (index_t axis = args.dims[1]; axis > 0; --axis) {
            const index_t extent = args.dims[4 + axis - 1];
            position += rest % extent * args.out_strides[axis - 1];
            rest = rest / extent;
        }
        target(env)[position] = narrow<Target>(in0(env, point));
    }
}

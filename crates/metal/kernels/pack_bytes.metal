// Rows of bytes, packed: scratch[r][i] = input 1 [r][i], for weights that are not aligned as their format asks, or not side by side.
//
// dims: [0] rows, [1] bytes of a row, [2] pitch of packed rows. Input 1: strides rows, bytes. Threads: one per byte.

[[max_total_threads_per_threadgroup(256)]]
kernel void pack_bytes(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    device uchar* packed = (device uchar*)scratch;
    const index_t width = args.dims[1], count = args.dims[0] * width;
    for (index_t i = thread_index; i < count; i += threads) {
        const index_t row = i / width, column = i % width;
        packed[row * args.dims[2] + column] = 
            raw1(env)[offset_t(row) * offset_t(args.in1_strides[0]) + offset_t(column) * offset_t(args.in1_strides[1])];
    }
}

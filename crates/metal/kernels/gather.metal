// Gather: out[…, i, …] = x[…, index[…, i, …], …] along an axis. Input 0 is x (plain), input 1 the index, of the result's shape.
//
// dims: as in index.metal.
// Threads: a grid of any size walks the points in strides of itself.

[[max_total_threads_per_threadgroup(256)]]
kernel void gather(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    for (index_t point = thread_index; point < args.dims[0]; point += threads) {
        const index_t along = resolve(env, long(in1(env, point)), args.dims[3]);
        // An axis without elements has none to read: any index into it is a fault.
        const bool empty = args.dims[3] == 0;
        const index_t position = indexed_position(args, args.in0_strides, point, along);
        finish(env, point, empty ? Out(0) : Out(widen(raw0(env)[from_first(empty ? index_t(0) : position)])));
    }
}

// Binary search: out[i] = the number of elements of a sorted vector that come before in[i], or (with RIGHT) not behind it. Input 0 is the
// vector (plain), input 1 the values; NaN comes behind all numbers.
//
// dims: [0] values, [1] elements of the vector.
// Threads: a grid of any size walks the values in strides of itself.

inline bool comes_before(In1 element, In1 value) {
    const bool value_is_nan = value != value;
#ifdef RIGHT
    return value_is_nan || element <= value;
#else
    return value_is_nan ? element == element : element < value;
#endif
}

[[max_total_threads_per_threadgroup(256)]]
kernel void search_sorted(STEP_BINDINGS, uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    STEP_ENV;
    for (index_t point = thread_index; point < args.dims[0]; point += threads) {
        const In1 value = in1(env, point);
        index_t low = 0;
        index_t count = args.dims[1];
        while (count > 0) {
            const index_t half_of_it = count / 2;
            const index_t middle = low + half_of_it;
            if (comes_before(widen(raw0(env)[from_first(middle * args.in0_strides[0])]), value)) {
                low = middle + 1;
                count -= half_of_it + 1;
            } else {
                count = half_of_it;
            }
        }
        finish(env, point, long(low));
    }
}

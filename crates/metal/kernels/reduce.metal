// Reduce: out[o] = in[o, 0] ∘ in[o, 1] ∘ … ∘ in[o, inner − 1] for every outer point o; ∘ is the macro COMBINE (Sum, Product,
// Smallest, Largest), and IDENTITY its neutral value.
//
// dims: [0] outer points, [1] inner points, [2] parts that the inner points are split into, [3] length of a part.
// Threads, by variant:
//   reduce_threads  one thread per outer point and part (grid y). For short rows, and for rows that lie across memory: neighbouring
//                   threads then read neighbouring elements.
//   reduce_groups   one threadgroup per outer point and part (grid y); its threads stride along the row, four at a time with IN0_FOUR.
//   reduce_parts    one thread per outer point, over the parts of the first pass in `scratch`, at [part][outer].
// With one part the first pass finishes the result itself; with PARTIAL it leaves it in `scratch`.

#ifdef PARTIAL
#define GIVE(o, value) ((device In0*)scratch)[part * args.dims[0] + (o)] = (value)
#else
#define GIVE(o, value) finish(env, (o), (value))
#endif

#ifdef FIRST_PASS
[[max_total_threads_per_threadgroup(256)]]
kernel void reduce_threads(STEP_BINDINGS, uint2 at [[thread_position_in_grid]]) {
    STEP_ENV;
    const index_t o = at.x;
    const index_t part = at.y;
    const index_t inner = args.dims[1];
    if (o >= args.dims[0]) {
        return;
    }
    const index_t first = part * args.dims[3];
    const index_t end = min(inner, first + args.dims[3]);
    In0 value = IDENTITY;
    for (index_t i = first; i < end; ++i) {
        value = COMBINE::of(value, in0(env, o * inner + i));
    }
    GIVE(o, value);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void reduce_groups(STEP_BINDINGS, STANDING_PARAMETERS) {
    STEP_ENV;
    threadgroup In0 shared[MAX_SIMDGROUPS];
    const index_t o = group.x;
    const index_t part = group.y;
    const index_t inner = args.dims[1];
    const index_t first = part * args.dims[3];
    const index_t end = min(inner, first + args.dims[3]);
    In0 value = IDENTITY;
#ifdef IN0_FOUR
    for (index_t i = first + thread_index * 4; i < end; i += group_size.x * 4) {
        const vec<In0, 4> four = in0_4(env, o * inner + i);
        value = COMBINE::of(value, COMBINE::of(COMBINE::of(four[0], four[1]), COMBINE::of(four[2], four[3])));
    }
#else
    for (index_t i = first + thread_index; i < end; i += group_size.x) {
        value = COMBINE::of(value, in0(env, o * inner + i));
    }
#endif
    value = combine_threads<COMBINE>(value, shared, STANDING);
    if (thread_index == 0) {
        GIVE(o, value);
    }
}
#else
[[max_total_threads_per_threadgroup(256)]]
kernel void reduce_parts(STEP_BINDINGS, uint at [[thread_position_in_grid]]) {
    STEP_ENV;
    const index_t outer = args.dims[0];
    if (at >= outer) {
        return;
    }
    ACCUMULATOR value = IDENTITY;
    for (index_t part = 0; part < args.dims[2]; ++part) {
        value = COMBINE::of(value, ((device const ACCUMULATOR*)scratch)[part * outer + at]);
    }
    finish(env, at, value);
}
#endif

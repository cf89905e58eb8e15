// Scan: out[r, i] = in[r, 0] ∘ … ∘ in[r, i] along each row; ∘ is the macro COMBINE (Sum or Product), IDENTITY its neutral value.
//
// dims: [0] rows, [1] width, [2] parts that a row is split into, [3] length of a part.
// Threads, by variant: scan_threads takes a row per thread, for short rows. scan_group takes a row per threadgroup, a tile of ITEMS
// neighbours per thread at a time: each thread runs over its own, simdgroups run over the threads' totals by shuffles, and the totals of
// simdgroups meet in threadgroup memory. The carry goes from tile to tile. Where rows are few and long, PARTIAL gives a group each part of a
// row (grid y): scan_totals first leaves the total of every part in `scratch`, at [row][part], and scan_group starts with those in front.

#define ITEMS 4

#ifndef TOTALS
[[max_total_threads_per_threadgroup(256)]]
kernel void scan_threads(STEP_BINDINGS, uint row [[thread_position_in_grid]]) {
    STEP_ENV;
    const index_t width = args.dims[1];
    if (row >= args.dims[0]) {
        return;
    }
    const index_t start = index_t(row) * width;
    In0 running = IDENTITY;
    for (index_t i = 0; i < width; ++i) {
        running = COMBINE::of(running, in0(env, start + i));
        finish(env, start + i, running);
    }
}

[[max_total_threads_per_threadgroup(256)]]
kernel void scan_group(STEP_BINDINGS, STANDING_PARAMETERS) {
    STEP_ENV;
    threadgroup In0 totals[MAX_SIMDGROUPS];
    const index_t row = group.x;
    const index_t start = row * args.dims[1];
    In0 carry = IDENTITY;
#ifdef PARTIAL
    for (index_t part = 0; part < group.y; ++part) {
        carry = COMBINE::of(carry, ((device const In0*)scratch)[row * args.dims[2] + part]);
    }
    const index_t begin = index_t(group.y) * args.dims[3];
    const index_t width = min(args.dims[1], begin + args.dims[3]);
#else
    const index_t begin = 0;
    const index_t width = args.dims[1];
#endif
    for (index_t tile = begin; tile < width; tile += group_size.x * ITEMS) {
        const index_t first = tile + thread_index * ITEMS;
        In0 own[ITEMS];
        In0 total = IDENTITY;
        for (uint k = 0; k < ITEMS; ++k) {
            if (first + k < width) {
                total = COMBINE::of(total, in0(env, start + first + k));
            }
            own[k] = total;
        }
        // Inclusive over the lanes; what is in front of a lane is its neighbour's.
        for (uint delta = 1; delta < lanes; delta *= 2) {
            const In0 below = from_lane_up(total, ushort(delta));
            total = lane >= delta ? COMBINE::of(below, total) : total;
        }
        const In0 neighbour = from_lane_up(total, ushort(1));
        In0 front = lane > 0 ? neighbour : IDENTITY;
        if (lane == lanes - 1) {
            totals[simdgroup] = total;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        In0 before = carry;
        for (uint s = 0; s < simdgroups; ++s) {
            before = s == simdgroup ? COMBINE::of(carry, front) : before;
            carry = COMBINE::of(carry, totals[s]);
        }
        for (uint k = 0; k < ITEMS; ++k) {
            if (first + k < width) {
                finish(env, start + first + k, COMBINE::of(before, own[k]));
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}
#else
[[max_total_threads_per_threadgroup(256)]]
kernel void scan_totals(STEP_BINDINGS, STANDING_PARAMETERS) {
    STEP_ENV;
    threadgroup In0 shared[MAX_SIMDGROUPS];
    const index_t row = group.x;
    const index_t first = index_t(group.y) * args.dims[3];
    const index_t end = min(args.dims[1], first + args.dims[3]);
    In0 value = IDENTITY;
    for (index_t i = first + thread_index; i < end; i += group_size.x) {
        value = COMBINE::of(value, in0(env, row * args.dims[1] + i));
    }
    value = combine_threads<COMBINE>(value, shared, STANDING);
    if (thread_index == 0) {
        ((device In0*)scratch)[row * args.dims[2] + group.y] = value;
    }
}
#endif

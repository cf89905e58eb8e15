// Sort: the first `limit` elements (or, with POSITIONS, their positions) of each row in rising order (falling with DESCENDING). The order
// is stable and has NaN as the largest: elements are compared with their positions, so that no two are equal.
//
// dims: [0] rows, [1] width, [2] limit, [3] length of the sorted runs read (with SELECT: of the rows written), [4] first word read, [5] first
// word written.
// Scratch holds two generations of keys and of positions, at dims[4] and dims[5] words: keys [row][width], then positions.
// Threads, by variant:
//   sort_tile   a threadgroup sorts TILE neighbours of a row (grid y) in threadgroup memory, by a bitonic network over the power of two that
//               holds them; beyond the row's end stand elements that come last. Rows of one tile are finished at once.
//               With SELECT it leaves the first `limit` of the tile only, side by side with those of other tiles, and AGAIN reads such rows
//               from scratch: for few of many, every element is read once and most are never written.
//   sort_merge  one thread per element: two neighbouring runs become one. An element's place is its place in its own run plus the
//               number of elements of the other run in front of it, found by bisection. The last merge finishes the result.

inline bool in_front(KEY a, uint a_at, KEY b, uint b_at) {
    const bool a_nan = a != a;
    const bool b_nan = b != b;
#ifdef DESCENDING
    const bool before = a_nan ? !b_nan : !b_nan && a > b;
    const bool after = b_nan ? !a_nan : !a_nan && b > a;
#else
    const bool before = b_nan ? !a_nan : !a_nan && a < b;
    const bool after = a_nan ? !b_nan : !b_nan && b < a;
#endif
    return before || (!after && a_at < b_at);
}

#ifdef POSITIONS
#define RESULT(key, at) long(at)
#else
#define RESULT(key, at) key
#endif

#ifdef TILE
[[max_total_threads_per_threadgroup(256)]]
kernel void sort_tile(STEP_BINDINGS, uint2 group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]]) {
    STEP_ENV;
    threadgroup KEY keys[TILE];
    threadgroup uint places[TILE];
    const index_t width = args.dims[1];
    const index_t row = group.y;
    const index_t first = index_t(group.x) * TILE;
    const uint count = uint(min(index_t(TILE), width - first));
    uint size = 2;
    while (size < count) {
        size *= 2;
    }
#ifdef AGAIN
    device const KEY* earlier = (device const KEY*)(scratch + args.dims[4]);
    device const uint* earlier_places = (device const uint*)(earlier + args.dims[0] * width);
#endif
    for (uint i = thread_index; i < size; i += 256) {
        // Positions beyond the end mark fillers, whatever their key.
#ifdef AGAIN
        keys[i] = i < count ? earlier[row * width + first + i] : KEY(0);
        places[i] = i < count ? earlier_places[row * width + first + i] : 0xffffffffu;
#else
        keys[i] = i < count ? in0(env, row * width + first + i) : KEY(0);
        places[i] = i < count ? uint(first) + i : 0xffffffffu;
#endif
    }
    for (uint length = 2; length <= size; length *= 2) {
        for (uint reach = length / 2; reach > 0; reach /= 2) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for (uint pair = thread_index; pair < size / 2; pair += 256) {
                const uint low = pair / reach * reach * 2 + pair % reach;
                const uint high = low + reach;
                const bool rising = (low & length) == 0;
                const KEY a = keys[low], b = keys[high];
                const uint a_at = places[low], b_at = places[high];
                const bool a_filler = a_at == 0xffffffffu, b_filler = b_at == 0xffffffffu;
                const bool ordered = a_filler || b_filler ? !a_filler : in_front(a, a_at, b, b_at);
                if (ordered != rising && !(a_filler && b_filler)) {
                    keys[low] = b;
                    keys[high] = a;
                    places[low] = b_at;
                    places[high] = a_at;
                }
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = thread_index; i < count; i += 256) {
#ifdef LAST
        if (i < args.dims[2]) {
            finish(env, row * args.dims[2] + i, RESULT(keys[i], places[i]));
        }
#elif defined(SELECT)
        if (i < args.dims[2]) {
            device KEY* kept = (device KEY*)(scratch + args.dims[5]);
            const index_t at = row * args.dims[3] + index_t(group.x) * args.dims[2] + i;
            kept[at] = keys[i];
            ((device uint*)(kept + args.dims[0] * args.dims[3]))[at] = places[i];
        }
#else
        const index_t at = row * width + first + i;
        ((device KEY*)(scratch + args.dims[5]))[at] = keys[i];
        ((device uint*)((device KEY*)(scratch + args.dims[5]) + args.dims[0] * width))[at] = places[i];
#endif
    }
}
#else
[[max_total_threads_per_threadgroup(256)]]
kernel void sort_merge(STEP_BINDINGS, uint2 at [[thread_position_in_grid]]) {
    STEP_ENV;
    const index_t width = args.dims[1];
    const index_t row = at.y;
    const index_t i = at.x;
    if (i >= width) {
        return;
    }
    device const KEY* keys = (device const KEY*)(scratch + args.dims[4]);
    device const uint* places = (device const uint*)(keys + args.dims[0] * width) + row * width;
    keys += row * width;
    const index_t run = args.dims[3];
    const index_t pair = i / (run * 2) * (run * 2);
    const index_t middle = min(pair + run, width);
    const bool is_left = i < middle;
    const KEY key = keys[i];
    const uint place = places[i];
    index_t low = is_left ? middle : pair;
    index_t high = is_left ? min(pair + run * 2, width) : middle;
    const index_t other = low;
    while (low < high) {
        const index_t probe = low + (high - low) / 2;
        if (in_front(keys[probe], places[probe], key, place)) {
            low = probe + 1;
        } else {
            high = probe;
        }
    }
    const index_t rank = pair + (i - (is_left ? pair : middle)) + (low - other);
#ifdef LAST
    if (rank < args.dims[2]) {
        finish(env, row * args.dims[2] + rank, RESULT(key, place));
    }
#else
    device KEY* to = (device KEY*)(scratch + args.dims[5]);
    to[row * width + rank] = key;
    ((device uint*)(to + args.dims[0] * width))[row * width + rank] = place;
#endif
}
#endif

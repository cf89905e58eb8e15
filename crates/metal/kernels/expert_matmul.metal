// Products with chosen matrices of a stack: y[p] = W[experts[p]]·x[p / slots], where a pair p is a row of x and one of its slots.
//
// dims, beside those of quant_gemv.metal and quant_gemm.metal: [4] slots, [5] matrices, [6] tiles, [7] pairs.
// Inputs: 0 is x (strides: rows, k), 1 the bytes of W (strides: matrices, rows, 1), 2 the choices.
//
// Few pairs go to quant_gemv.metal one by one, each with its own matrix. Many are sorted first (`expert_order`) into tiles of TILE_M
// pairs that chose the same matrix; quant_gemm.metal then takes a tile per threadgroup. Scratch holds three words per tile (matrix, first
// of the sorted pairs, how many; 0 past the last tile), and then the sorted pairs.

inline uint chosen(const thread Env& env, constant Args& args, uint pair) {
    const long choice = long(in2(env, index_t(pair)));
    const long resolved = choice < 0 ? choice + long(args.dims[5]) : choice;
    if (resolved < 0 || resolved >= long(args.dims[5])) {
        raise(FAULTS, INDEX_OUT_OF_RANGE);
        return 0;
    }
    return uint(resolved);
}

inline device const uchar* expert_bytes(const thread Env& env, constant Args& args, uint expert) {
    return raw1(env) + offset_t(expert) * offset_t(args.in1_strides[0]);
}

#ifdef ORDERS
// One threadgroup sorts all pairs by counting. The order within a matrix is left to chance; results do not depend on it.
[[max_total_threads_per_threadgroup(256)]]
kernel void expert_order(STEP_BINDINGS, uint index [[thread_index_in_threadgroup]]) {
    STEP_ENV;
    threadgroup atomic_uint places[MOST_EXPERTS];
    const uint experts = uint(args.dims[5]), tiles = uint(args.dims[6]), pairs = uint(args.dims[7]);
    for (uint e = index; e < experts; e += 256) {
        atomic_store_explicit(&places[e], 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint p = index; p < pairs; p += 256) {
        atomic_fetch_add_explicit(&places[chosen(env, args, p)], 1u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (index == 0) {
        uint first = 0, tile = 0;
        for (uint e = 0; e < experts; e++) {
            const uint count = atomic_load_explicit(&places[e], memory_order_relaxed);
            atomic_store_explicit(&places[e], first, memory_order_relaxed);
            for (uint done = 0; done < count; done += TILE_M) {
                scratch[3 * tile] = e;
                scratch[3 * tile + 1] = first + done;
                scratch[3 * tile + 2] = min(count - done, uint(TILE_M));
                tile++;
            }
            first += count;
        }
        for (; tile < tiles; tile++) {
            scratch[3 * tile + 2] = 0;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint p = index; p < pairs; p += 256) {
        const uint at = atomic_fetch_add_explicit(&places[chosen(env, args, p)], 1u, memory_order_relaxed);
        scratch[3 * tiles + at] = p;
    }
}
#endif

#ifdef FLOATS
// Matrices of plain floats: a simdgroup computes one row for one pair. x of the grid counts rows, y pairs.
kernel void expert_floats(
    STEP_BINDINGS, uint3 group [[threadgroup_position_in_grid]], uint simds [[simdgroups_per_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint width [[threads_per_simdgroup]]) {
    STEP_ENV;
    const uint n = uint(args.dims[1]), k = uint(args.dims[2]), pair = group.y;
    const uint row = group.x * simds + simd;
    const uint expert = chosen(env, args, pair);
    device const uchar* bytes =
        expert_bytes(env, args, expert) + offset_t(min(row, n - 1)) * offset_t(args.in1_strides[1]);
    device const FLOATS* w = (device const FLOATS*)bytes;
    device const Raw0* x = raw0(env) + offset_t(pair / uint(args.dims[4])) * offset_t(args.in0_strides[0]);
    const offset_t step = offset_t(args.in0_strides[1]);
    float sum = 0.0f;
    for (uint i = lane; i < k; i += width) {
        sum = fma(widen(w[i]), widen(x[offset_t(i) * step]), sum);
    }
    sum = simd_sum(sum);
    if (lane == 0 && row < n) {
        finish(env, index_t(pair) * n + row, sum);
    }
}
#endif

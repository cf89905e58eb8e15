// Quantised gather: out[r, :] = the floats of row index[r] of a matrix of coded rows. Input 0 is the rows' bytes (plain, contiguous along
// a row), input 1 the index.
//
// dims: [0] rows gathered, [1] floats per row, [2] rows of the matrix, [3] values per unit.
// Threads: one per unit of a row (grid y is the row). A unit is a pair of runs of 16 values whose codes lie together (blocks.metal), or,
// with FLOATS, one value stored as such.

inline index_t coded_row(const thread Env& env, constant Args& args, index_t row) {
    const long index = long(in1(env, row));
    const long resolved = index < 0 ? index + long(args.dims[2]) : index;
    if (resolved < 0 || resolved >= long(args.dims[2])) {
        raise(FAULTS, INDEX_OUT_OF_RANGE);
        return 0;
    }
    return index_t(resolved);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void quant_gather(STEP_BINDINGS, uint2 at [[thread_position_in_grid]]) {
    STEP_ENV;
    const index_t width = args.dims[1];
    const index_t unit = at.x;
    if (unit >= width / args.dims[3]) {
        return;
    }
    for (index_t row = at.y; row < args.dims[0]; row += 65535) {
        device const uchar* bytes = raw0(env) + from_first(coded_row(env, args, row) * args.in0_strides[0]);
        // A matrix without rows has nothing to read: any index into it is a fault.
        const bool empty = args.dims[2] == 0;
#ifdef FLOATS
        finish(env, row * width + unit, empty ? 0.0f : widen(((device const FLOATS*)bytes)[unit]));
#else
        const uint pairs = Format::PIECES * Format::PAIRS;
        const index_t block = unit / pairs;
        const uint piece = uint(unit % pairs) / Format::PAIRS;
        const uint pair = uint(unit % pairs) % Format::PAIRS;
        Pair codes = {uint4(0), uint4(0), float2(0.0f), float2(0.0f)};
        if (!empty) {
            device const uchar* b = bytes + block * Format::BYTES;
            codes = Format::pair(b, piece, pair, Format::head(b, piece), Format::shared(b, piece));
        }
        const index_t start = row * width + block * Format::LEN;
        for (uint word = 0; word < 4; ++word) {
            const float4 low = block_values(codes.low[word], codes.scale.x, codes.offset.x);
            const float4 high = block_values(codes.high[word], codes.scale.y, codes.offset.y);
            for (uint k = 0; k < 4; ++k) {
                finish(env, start + Format::position(piece, pair, 0) + word * 4 + k, low[k]);
                finish(env, start + Format::position(piece, pair, 1) + word * 4 + k, high[k]);
            }
        }
#endif
    }
}

// Rotary embedding: pairs (a, b) of a row turn by the angle t = position · frequency[pair]:
//     a' = a·cos t − b·sin t,   b' = a·sin t + b·cos t
// Pair i is elements i and i + half, or 2i and 2i + 1 with INTERLEAVED. Elements from 2·half on pass unchanged.
//
// dims: [0] rows, [1] width, [2] half (frequencies).
// Threads: one per pair, and one per element that passes; grid y is the row.

[[max_total_threads_per_threadgroup(256)]]
kernel void rope(STEP_BINDINGS, uint2 at [[thread_position_in_grid]]) {
    STEP_ENV;
    const index_t width = args.dims[1];
    const index_t half_width = args.dims[2];
    const index_t unit = at.x;
    for (index_t row = at.y; row < args.dims[0]; row += 65535) {
        const index_t start = row * width;
        if (unit >= width - half_width) {
            return;
        }
        if (unit >= half_width) {
            const index_t i = unit + half_width;
            finish(env, start + i, in0(env, start + i));
            continue;
        }
#ifdef INTERLEAVED
        const index_t first = unit * 2;
        const index_t second = first + 1;
#else
        const index_t first = unit;
        const index_t second = unit + half_width;
#endif
        // The product is kept in two parts: far along the context the angle's own rounding would be seen.
        const float position = float(in1(env, row));
        const float frequency = in2(env, unit);
        const float angle = position * frequency;
        const float rest = fma(position, frequency, -angle);
        const float sine = sin(angle), cosine = cos(angle);
        const float s = fma(rest, cosine, sine), c = fma(-rest, sine, cosine);
        const float a = in0(env, start + first), b = in0(env, start + second);
        finish(env, start + first, a * c - b * s);
        finish(env, start + second, a * s + b * c);
    }
}

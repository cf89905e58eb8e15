// What weighted values are multiplied by in the end: one over the sum of weights, relative to the largest score, and of the sink's.

inline float share_of(const thread Env& env, constant Args& args, uint head, float largest, float sum) {
    if (sum == 0.0f) {
        return 0.0f;
    }
#if SINKS
#if MASK
    const float sink = widen(raw4(env)[offset_t(head) * offset_t(args.in4_strides[0])]);
#else
    const float sink = widen(raw3(env)[offset_t(head) * offset_t(args.in3_strides[0])]);
#endif
    const float most = max(largest, sink);
    const float kept = exp(largest - most);
    return kept / fma(sum, kept, exp(sink - most));
#else
    return 1.0f / sum;
#endif
}

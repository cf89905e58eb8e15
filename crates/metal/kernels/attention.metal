// What the attention kernels share: the problem's numbers, and what becomes of a score before the softmax.
//
// out[b,h,t,:] = Σ_s softmax_s(score[b,h,t,s]) · v[b,g,s,:] with score = cap(scale · q[b,h,t,:]·k[b,g,s,:]) + mask[b,h,t,s], where g is the
// group of head h and cap(x) = c·tanh(x/c) if SOFTCAP. With CAUSAL, query t sees keys up to position + t, and of those only the
// last `window`, if there is one. A query that sees nothing (or only −∞) gives 0; a key of weight 0 gives nothing, whatever its value.
//
// dims: [0] batch, [1] heads, [2] groups, [3] queries, [4] keys, [5] splits, [6] scale, [7] soft cap (bits of floats), [8] window (with WINDOW).
// Inputs: 0 q, 1 k, 2 v (strides: batch, head, row, element), then the mask if MASK, the sinks if SINKS, the position if CAUSAL. A sink is
// a score of its head that takes its part of the softmax and gives nothing: it is looked at when sums are divided. K_WIDTH and
// V_WIDTH are the extents of k's and v's rows; K_UNIT, V_UNIT: their elements lie side by side.

// Positions beyond this one see no more than it does, and can be added to.
#define FAR (1 << 30)

struct Problem {
    uint heads, groups, share, queries, keys;
    float scale, cap;
    int position, window;
};

inline Problem problem_of(const thread Env& env, constant Args& args) {
    Problem p;
    p.heads = uint(args.dims[1]);
    p.groups = uint(args.dims[2]);
    p.share = p.heads / p.groups;
    p.queries = uint(args.dims[3]);
    p.keys = uint(args.dims[4]);
    p.scale = as_type<float>(uint(args.dims[6]));
    p.cap = as_type<float>(uint(args.dims[7]));
    p.window = int(args.dims[8]);
#if CAUSAL && MASK && SINKS
    p.position = clamp(int(raw5(env)[0]), -FAR, FAR);
#elif CAUSAL && (MASK || SINKS)
    p.position = clamp(int(raw4(env)[0]), -FAR, FAR);
#elif CAUSAL
    p.position = clamp(int(raw3(env)[0]), -FAR, FAR);
#else
    p.position = 0;
#endif
    return p;
}

// The keys that queries `first` to `last` may see.
inline uint2 visible(thread const Problem& p, uint first, uint last) {
#if CAUSAL
    const int end = clamp(p.position + int(last) + 1, 0, int(p.keys));
    const int start = WINDOW ? clamp(p.position + int(first) - p.window + 1, 0, end) : 0;
    return uint2(uint(start), uint(end));
#else
    return uint2(0, p.keys);
#endif
}

// A product as a score; −∞ where the key is not to be seen.
inline float score_of(
    const thread Env& env, constant Args& args, thread const Problem& p, uint3 at, uint key, float product) {
    float score = product * p.scale;
#if SOFTCAP
    score = p.cap * precise::tanh(score / p.cap);
#endif
#if MASK
    score += widen(raw3(env)[offset_t(at.x) * offset_t(args.in3_strides[0]) + offset_t(at.y) * offset_t(args.in3_strides[1]) +
                             offset_t(at.z) * offset_t(args.in3_strides[2]) + offset_t(key) * offset_t(args.in3_strides[3])]);
#endif
#if CAUSAL
    const int last = p.position + int(at.z);
    const bool hidden = int(key) > last || (WINDOW && int(key) + p.window <= last);
    score = hidden ? -INFINITY : score;
#endif
    return score;
}

// What scores are taken relative to: the largest, or 0 where there is none but −∞.
inline float origin_of(float largest) { return largest == -INFINITY ? 0.0f : largest; }

template <typename S>
inline offset_t row_start(constant S* strides, uint batch, uint head, uint row) {
    return offset_t(batch) * offset_t(strides[0]) + offset_t(head) * offset_t(strides[1]) +
           offset_t(row) * offset_t(strides[2]);
}

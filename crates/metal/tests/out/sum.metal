// reduce_groups square → sum FIRST_PASS=1 COMBINE=Sum IDENTITY=0 PARTIAL=1
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step;
    index_t in0_shape[1];
    index_t in0_offsets[1];
    index_t in0_strides[1];
};
struct Env {
    device const bf16* b0;
    constant Args* args;
};
#define STEP_BINDINGS device const bf16* b0 [[buffer(0)]], constant Args& args [[buffer(1)]], device uint* scratch [[buffer(2)]]
#define STEP_ENV Env env = {b0, &args}
typedef float In0;
inline In0 in0(const thread Env& env, index_t point) {
    constant Args& a = *env.args;
    const index_t c0 = point;
    const index_t p0 = a.in0_offsets[0] + c0 * a.in0_strides[0];
    float r0 = widen(env.b0[p0]);
    float r1 = r0 * r0;
    float r2 = widen(narrow<bf16>(r1));
    return r2;
}
#define IN0_FOUR 1
inline vec<In0, 4> in0_four(const thread Env& env, index_t point) {
    constant Args& a = *env.args;
    const index_t c0 = point;
    const index_t p0 = a.in0_offsets[0] + c0 * a.in0_strides[0];
    const Four<bf16>::Type v0 = *(device const Four<bf16>::Type*)(env.b0 + p0);
    vec<In0, 4> result;
    for (uint k = 0; k < 4; ++k) {
        float r0 = widen(Four<bf16>::at(v0, k));
        float r1 = r0 * r0;
        float r2 = widen(narrow<bf16>(r1));
        result[k] = r2;
    }
    return result;
}

// reduce_parts square → sum ACCUMULATOR=float COMBINE=Sum IDENTITY=0
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step;
    index_t out_shape[1];
    index_t out_offsets[2];
    index_t out_strides[1];
};
struct Env {
    device bf16* b0;
    constant Args* args;
};
#define STEP_BINDINGS device bf16* b0 [[buffer(0)]], constant Args& args [[buffer(1)]], device uint* scratch [[buffer(2)]]
#define STEP_ENV Env env = {b0, &args}
typedef float Out;
inline void finish(const thread Env& env, index_t point, Out value) {
    constant Args& a = *env.args;
    const index_t p0 = a.out_offsets[0];
    const index_t p1 = a.out_offsets[1];
    float r0 = value;
    env.b0[p1] = narrow<bf16>(r0);
}

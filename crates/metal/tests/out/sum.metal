// reduce_groups square → sum FIRST_PASS=1 COMBINE=Sum IDENTITY=0.0f PARTIAL=1
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step[1];
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
inline float in0(const thread Env& env, index_t i) {
    const index_t c0 = i;
    const index_t p0 = env.args->in0_offsets[0] + c0 * env.args->in0_strides[0];
    const float r0 = widen(env.b0[p0]);
    const float r1 = r0 * r0;
    const float r2 = widen(narrow<bf16>(r1));
    return r2;
}
#define IN0_FOUR 1
inline float in0_of(const thread Env& env, float l0) {
    const float r0 = l0;
    const float r1 = r0 * r0;
    const float r2 = widen(narrow<bf16>(r1));
    return r2;
}
inline vec<float, 4> in0_4(const thread Env& env, index_t i) {
    const index_t c0 = i;
    const index_t p0 = env.args->in0_offsets[0] + c0 * env.args->in0_strides[0];
    const Four<bf16>::Type w0 = *(device const Four<bf16>::Type*)(env.b0 + p0);
    return vec<float, 4>(in0_of(env, widen(Four<bf16>::at(w0, 0))), in0_of(env, widen(Four<bf16>::at(w0, 1))), in0_of(env, widen(Four<bf16>::at(w0, 2))), in0_of(env, widen(Four<bf16>::at(w0, 3))));
}

// reduce_parts square → sum ACCUMULATOR=float COMBINE=Sum IDENTITY=0.0f
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step[1];
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
inline void finish(const thread Env& env, index_t i, float v) {
    const float r0 = v;
    const index_t o0 = env.args->out_offsets[1];
    env.b0[o0] = narrow<bf16>(r0);
}

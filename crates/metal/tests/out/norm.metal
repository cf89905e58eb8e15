// norm_held rms_norm → mul ITEMS=4 WEIGHT=1
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step[1];
    index_t in0_shape[2];
    index_t in0_offsets[1];
    index_t in0_strides[2];
    index_t in1_shape[1];
    index_t in1_offsets[1];
    index_t in1_strides[1];
    index_t out_shape[2];
    index_t out_offsets[3];
    index_t out_strides[6];
};
struct Env {
    device const float* b0;
    device const float* b1;
    device float* b2;
    constant Args* args;
};
#define STEP_BINDINGS device const float* b0 [[buffer(0)]], device const float* b1 [[buffer(1)]], device float* b2 [[buffer(2)]], constant Args& args [[buffer(3)]]
#define STEP_ENV Env env = {b0, b1, b2, &args}
typedef float In0;
#define IN0_PLAIN 1
typedef float Raw0;
inline device const float* raw0(const thread Env& env) {
    return env.b0 + env.args->in0_offsets[0];
}
inline float in0(const thread Env& env, index_t i) {
    const index_t p0 = env.args->in0_offsets[0] + i;
    const float r0 = widen(env.b0[p0]);
    return r0;
}
#define IN0_FOUR 1
inline float in0_of(const thread Env& env, float l0) {
    const float r0 = l0;
    return r0;
}
inline vec<float, 4> in0_4(const thread Env& env, index_t i) {
    const index_t p0 = env.args->in0_offsets[0] + i;
    const Four<float>::Type w0 = *(device const Four<float>::Type*)(env.b0 + p0);
    return vec<float, 4>(in0_of(env, widen(Four<float>::at(w0, 0))), in0_of(env, widen(Four<float>::at(w0, 1))), in0_of(env, widen(Four<float>::at(w0, 2))), in0_of(env, widen(Four<float>::at(w0, 3))));
}
typedef float In1;
#define IN1_PLAIN 1
typedef float Raw1;
inline device const float* raw1(const thread Env& env) {
    return env.b1 + env.args->in1_offsets[0];
}
inline float in1(const thread Env& env, index_t i) {
    const index_t c0 = i;
    const index_t p0 = env.args->in1_offsets[0] + c0 * env.args->in1_strides[0];
    const float r0 = widen(env.b1[p0]);
    return r0;
}
typedef float Out;
inline void finish(const thread Env& env, index_t i, float v) {
    const index_t c1 = i % env.args->out_shape[1];
    const index_t rest1 = i / env.args->out_shape[1];
    const index_t c0 = rest1;
    const index_t p1 = env.args->out_offsets[1] + c0 * env.args->out_strides[2] + c1 * env.args->out_strides[3];
    const float r0 = v;
    const float r1 = widen(env.b1[p1]);
    const float r2 = r0 * r1;
    const index_t o0 = env.args->out_offsets[2] + i;
    env.b2[o0] = narrow<float>(r2);
}
#define FINISH_FOUR 1
inline float out_of(const thread Env& env, float l0, float l1) {
    const float r0 = l0;
    const float r1 = l1;
    const float r2 = r0 * r1;
    return r2;
}
inline void finish_4(const thread Env& env, index_t i, vec<float, 4> v) {
    const index_t c1 = i % env.args->out_shape[1];
    const index_t rest1 = i / env.args->out_shape[1];
    const index_t c0 = rest1;
    const index_t p1 = env.args->out_offsets[1] + c0 * env.args->out_strides[2] + c1 * env.args->out_strides[3];
    const index_t p2 = env.args->out_offsets[2] + i;
    const Four<float>::Type w1 = *(device const Four<float>::Type*)(env.b1 + p1);
    Four<float>::Type s2_p2;
    for (uint k = 0; k < 4; ++k) {
        Four<float>::put(s2_p2, k, narrow<float>(out_of(env, v[k], widen(Four<float>::at(w1, k)))));
    }
    *(device Four<float>::Type*)(env.b2 + p2) = s2_p2;
}

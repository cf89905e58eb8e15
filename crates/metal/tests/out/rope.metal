// rope rope
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
    index_t in2_shape[1];
    index_t in2_offsets[1];
    index_t in2_strides[1];
    index_t out_shape[1];
    index_t out_offsets[2];
    index_t out_strides[2];
};
struct Env {
    device const float* b0;
    device const int* b1;
    device const float* b2;
    device float* b3;
    constant Args* args;
};
#define STEP_BINDINGS device const float* b0 [[buffer(0)]], device const int* b1 [[buffer(1)]], device const float* b2 [[buffer(2)]], device float* b3 [[buffer(3)]], constant Args& args [[buffer(4)]]
#define STEP_ENV Env env = {b0, b1, b2, b3, &args}
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
typedef int In1;
#define IN1_PLAIN 1
typedef int Raw1;
inline device const int* raw1(const thread Env& env) {
    return env.b1 + env.args->in1_offsets[0];
}
inline int in1(const thread Env& env, index_t i) {
    const index_t c0 = i;
    const index_t p0 = env.args->in1_offsets[0] + c0 * env.args->in1_strides[0];
    const int r0 = widen(env.b1[p0]);
    return r0;
}
typedef float In2;
#define IN2_PLAIN 1
typedef float Raw2;
inline device const float* raw2(const thread Env& env) {
    return env.b2 + env.args->in2_offsets[0];
}
inline float in2(const thread Env& env, index_t i) {
    const index_t c0 = i;
    const index_t p0 = env.args->in2_offsets[0] + c0 * env.args->in2_strides[0];
    const float r0 = widen(env.b2[p0]);
    return r0;
}
typedef float Out;
inline void finish(const thread Env& env, index_t i, float v) {
    const index_t c0 = i;
    const float r0 = v;
    const index_t o0 = env.args->out_offsets[1] + c0 * env.args->out_strides[1];
    env.b3[o0] = narrow<float>(r0);
}

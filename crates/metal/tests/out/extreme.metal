// arg_reduce_group argmax
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step[1];
    index_t in0_shape[2];
    index_t in0_offsets[1];
    index_t in0_strides[2];
    index_t out_shape[1];
    index_t out_offsets[2];
    index_t out_strides[2];
};
struct Env {
    device const float* b0;
    device long* b1;
    constant Args* args;
};
#define STEP_BINDINGS device const float* b0 [[buffer(0)]], device long* b1 [[buffer(1)]], constant Args& args [[buffer(2)]]
#define STEP_ENV Env env = {b0, b1, &args}
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
typedef long Out;
inline void finish(const thread Env& env, index_t i, long v) {
    const index_t c0 = i;
    const long r0 = v;
    const index_t o0 = env.args->out_offsets[1] + c0 * env.args->out_strides[1];
    env.b1[o0] = narrow<long>(r0);
}

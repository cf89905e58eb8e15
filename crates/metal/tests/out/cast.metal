// map cast
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step[1];
    index_t out_shape[4];
    index_t out_offsets[2];
    index_t out_strides[8];
};
struct Env {
    device const float* b0;
    device long* b1;
    constant Args* args;
};
#define STEP_BINDINGS device const float* b0 [[buffer(0)]], device long* b1 [[buffer(1)]], constant Args& args [[buffer(2)]]
#define STEP_ENV Env env = {b0, b1, &args}
typedef long Out;
inline void finish(const thread Env& env, index_t i) {
    const index_t c3 = i % env.args->out_shape[3];
    const index_t rest3 = i / env.args->out_shape[3];
    const index_t c2 = rest3 % env.args->out_shape[2];
    const index_t rest2 = rest3 / env.args->out_shape[2];
    const index_t c1 = rest2 % env.args->out_shape[1];
    const index_t rest1 = rest2 / env.args->out_shape[1];
    const index_t c0 = rest1;
    const index_t p0 = env.args->out_offsets[0] + c0 * env.args->out_strides[0] + c1 * env.args->out_strides[1] + c2 * env.args->out_strides[2] + c3 * env.args->out_strides[3];
    const float r0 = widen(env.b0[p0]);
    const long r1 = to_long(r0);
    const index_t o0 = env.args->out_offsets[1] + i;
    env.b1[o0] = narrow<long>(r1);
}

// gemm matmul → exp TILE_M=32 TILE_N=32 TILE_K=32 SIMDS_M=2 SIMDS_N=2 TILE_TYPE=float A_ALONG_K=true A_UNIT=true B_ALONG_K=false B_UNIT=true
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step[1];
    index_t in0_shape[2];
    index_t in0_offsets[1];
    index_t in0_strides[2];
    index_t in1_shape[2];
    index_t in1_offsets[1];
    index_t in1_strides[2];
    index_t out_shape[1];
    index_t out_offsets[2];
    index_t out_strides[2];
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
typedef float In1;
#define IN1_PLAIN 1
typedef float Raw1;
inline device const float* raw1(const thread Env& env) {
    return env.b1 + env.args->in1_offsets[0];
}
inline float in1(const thread Env& env, index_t i) {
    const index_t p0 = env.args->in1_offsets[0] + i;
    const float r0 = widen(env.b1[p0]);
    return r0;
}
typedef float Out;
inline void finish(const thread Env& env, index_t i, float v) {
    const index_t c0 = i;
    const float r0 = v;
    const float r1 = exp(r0);
    const index_t o0 = env.args->out_offsets[1] + c0 * env.args->out_strides[1];
    env.b2[o0] = narrow<float>(r1);
}

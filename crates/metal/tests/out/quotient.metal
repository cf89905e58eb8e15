// map floor_divide
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step[1];
    index_t out_shape[2];
    index_t out_offsets[3];
    index_t out_strides[6];
};
#define FAULTS Faults{env.fault, uint(env.args->step[0])}
struct Env {
    device const int* b0;
    device const int* b1;
    device int* b2;
    constant Args* args;
    device atomic_uint* fault;
};
#define STEP_BINDINGS device const int* b0 [[buffer(0)]], device const int* b1 [[buffer(1)]], device int* b2 [[buffer(2)]], constant Args& args [[buffer(3)]], device atomic_uint* fault [[buffer(4)]]
#define STEP_ENV Env env = {b0, b1, b2, &args, fault}
typedef int Out;
inline void finish(const thread Env& env, index_t i) {
    const index_t c1 = i % env.args->out_shape[1];
    const index_t rest1 = i / env.args->out_shape[1];
    const index_t c0 = rest1;
    const index_t p0 = env.args->out_offsets[0] + i;
    const index_t p1 = env.args->out_offsets[1] + c0 * env.args->out_strides[2] + c1 * env.args->out_strides[3];
    const int r0 = widen(env.b0[p0]);
    const int r1 = widen(env.b1[p1]);
    const int r2 = floor_div(r0, r1, FAULTS);
    const index_t o0 = env.args->out_offsets[2] + i;
    env.b2[o0] = narrow<int>(r2);
}

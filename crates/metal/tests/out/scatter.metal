// map copy VECTOR=1
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step[1];
    index_t out_shape[1];
    index_t out_offsets[2];
    index_t out_strides[2];
};
struct Env {
    device const uchar* b0;
    device uchar* b1;
    constant Args* args;
};
#define STEP_BINDINGS device const uchar* b0 [[buffer(0)]], device uchar* b1 [[buffer(1)]], constant Args& args [[buffer(2)]]
#define STEP_ENV Env env = {b0, b1, &args}
typedef uint Out;
inline void finish(const thread Env& env, index_t i) {
    const index_t c0 = i;
    const index_t p0 = env.args->out_offsets[0] + c0 * env.args->out_strides[0];
    const uint r0 = widen(env.b0[p0]);
    const index_t o0 = env.args->out_offsets[1] + c0 * env.args->out_strides[1];
    env.b1[o0] = narrow<uchar>(r0);
}
#define FINISH_FOUR 1
inline uint out_of(const thread Env& env, uint l0) {
    const uint r0 = l0;
    return r0;
}
inline void finish_4(const thread Env& env, index_t i) {
    const index_t c0 = i;
    const index_t p0 = env.args->out_offsets[0] + c0 * env.args->out_strides[0];
    const index_t p1 = env.args->out_offsets[1] + c0 * env.args->out_strides[1];
    const Four<uchar>::Type w0 = *(device const Four<uchar>::Type*)(env.b0 + p0);
    Four<uchar>::Type s1_p1;
    for (uint k = 0; k < 4; ++k) {
        Four<uchar>::put(s1_p1, k, narrow<uchar>(out_of(env, widen(Four<uchar>::at(w0, k)))));
    }
    *(device Four<uchar>::Type*)(env.b1 + p1) = s1_p1;
}

// scatter_clear scatter CLEARS=1
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step[1];
};
#define FAULTS Faults{env.fault, uint(env.args->step[0])}
struct Env {
    constant Args* args;
    device atomic_uint* fault;
};
#define STEP_BINDINGS constant Args& args [[buffer(0)]], device atomic_uint* fault [[buffer(1)]], device uint* scratch [[buffer(2)]]
#define STEP_ENV Env env = {&args, fault}

// scatter_elect scatter ELECTS=1 SETS=1
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
};
#define FAULTS Faults{env.fault, uint(env.args->step[0])}
struct Env {
    device const long* b0;
    device const uchar* b1;
    constant Args* args;
    device atomic_uint* fault;
};
#define STEP_BINDINGS device const long* b0 [[buffer(0)]], device const uchar* b1 [[buffer(1)]], constant Args& args [[buffer(2)]], device atomic_uint* fault [[buffer(3)]], device uint* scratch [[buffer(4)]]
#define STEP_ENV Env env = {b0, b1, &args, fault}
typedef long In0;
#define IN0_PLAIN 1
typedef long Raw0;
inline device const long* raw0(const thread Env& env) {
    return env.b0 + env.args->in0_offsets[0];
}
inline long in0(const thread Env& env, index_t i) {
    const index_t p0 = env.args->in0_offsets[0] + i;
    const long r0 = widen(env.b0[p0]);
    return r0;
}
typedef uint In1;
#define IN1_PLAIN 1
typedef uchar Raw1;
inline device const uchar* raw1(const thread Env& env) {
    return env.b1 + env.args->in1_offsets[0];
}
inline uint in1(const thread Env& env, index_t i) {
    const index_t p0 = env.args->in1_offsets[0] + i;
    const uint r0 = widen(env.b1[p0]);
    return r0;
}

// scatter_set scatter WRITES=1 SETS=1
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
    index_t out_shape[2];
    index_t out_offsets[1];
    index_t out_strides[2];
};
#define FAULTS Faults{env.fault, uint(env.args->step[0])}
struct Env {
    device const long* b0;
    device const uchar* b1;
    device uchar* b2;
    constant Args* args;
    device atomic_uint* fault;
};
#define STEP_BINDINGS device const long* b0 [[buffer(0)]], device const uchar* b1 [[buffer(1)]], device uchar* b2 [[buffer(2)]], constant Args& args [[buffer(3)]], device atomic_uint* fault [[buffer(4)]], device uint* scratch [[buffer(5)]]
#define STEP_ENV Env env = {b0, b1, b2, &args, fault}
typedef long In0;
#define IN0_PLAIN 1
typedef long Raw0;
inline device const long* raw0(const thread Env& env) {
    return env.b0 + env.args->in0_offsets[0];
}
inline long in0(const thread Env& env, index_t i) {
    const index_t p0 = env.args->in0_offsets[0] + i;
    const long r0 = widen(env.b0[p0]);
    return r0;
}
typedef uint In1;
#define IN1_PLAIN 1
typedef uchar Raw1;
inline device const uchar* raw1(const thread Env& env) {
    return env.b1 + env.args->in1_offsets[0];
}
inline uint in1(const thread Env& env, index_t i) {
    const index_t p0 = env.args->in1_offsets[0] + i;
    const uint r0 = widen(env.b1[p0]);
    return r0;
}
typedef uint Out;
typedef uchar Target;
inline device uchar* target(const thread Env& env) {
    return env.b2;
}

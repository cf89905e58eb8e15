// map copy VECTOR=1
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step;
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
inline void finish(const thread Env& env, index_t point) {
    constant Args& a = *env.args;
    const index_t c0 = point;
    const index_t p0 = a.out_offsets[0] + c0 * a.out_strides[0];
    const index_t p1 = a.out_offsets[1] + c0 * a.out_strides[1];
    uint r0 = widen(env.b0[p0]);
    env.b1[p1] = narrow<uchar>(r0);
}
#define FINISH_FOUR 1
inline void finish_four(const thread Env& env, index_t point) {
    constant Args& a = *env.args;
    const index_t c0 = point;
    const index_t p0 = a.out_offsets[0] + c0 * a.out_strides[0];
    const index_t p1 = a.out_offsets[1] + c0 * a.out_strides[1];
    const Four<uchar>::Type v0 = *(device const Four<uchar>::Type*)(env.b0 + p0);
    Four<uchar>::Type w0;
    for (uint k = 0; k < 4; ++k) {
        uint r0 = widen(Four<uchar>::at(v0, k));
        Four<uchar>::put(w0, k, narrow<uchar>(r0));
    }
    *(device Four<uchar>::Type*)(env.b1 + p1) = w0;
}

// scatter_clear scatter CLEARS=1
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step;
};
#define FAULTS Faults{env.fault, uint(env.args->step)}
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
    index_t step;
    index_t in0_shape[2];
    index_t in0_offsets[1];
    index_t in0_strides[2];
    index_t in1_shape[2];
    index_t in1_offsets[1];
    index_t in1_strides[2];
};
#define FAULTS Faults{env.fault, uint(env.args->step)}
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
inline In0 in0(const thread Env& env, index_t point) {
    constant Args& a = *env.args;
    const index_t c1 = point % a.in0_shape[1];
    const index_t q1 = point / a.in0_shape[1];
    const index_t c0 = q1;
    const index_t p0 = a.in0_offsets[0] + c0 * a.in0_strides[0] + c1 * a.in0_strides[1];
    long r0 = widen(env.b0[p0]);
    return r0;
}
typedef uint In1;
#define IN1_PLAIN 1
typedef uchar Raw1;
inline device const uchar* raw1(const thread Env& env) {
    return env.b1 + env.args->in1_offsets[0];
}
inline In1 in1(const thread Env& env, index_t point) {
    constant Args& a = *env.args;
    const index_t c1 = point % a.in1_shape[1];
    const index_t q1 = point / a.in1_shape[1];
    const index_t c0 = q1;
    const index_t p0 = a.in1_offsets[0] + c0 * a.in1_strides[0] + c1 * a.in1_strides[1];
    uint r0 = widen(env.b1[p0]);
    return r0;
}

// scatter_set scatter WRITES=1 SETS=1
typedef uint index_t;
struct Args {
    index_t dims[16];
    index_t step;
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
#define FAULTS Faults{env.fault, uint(env.args->step)}
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
inline In0 in0(const thread Env& env, index_t point) {
    constant Args& a = *env.args;
    const index_t c1 = point % a.in0_shape[1];
    const index_t q1 = point / a.in0_shape[1];
    const index_t c0 = q1;
    const index_t p0 = a.in0_offsets[0] + c0 * a.in0_strides[0] + c1 * a.in0_strides[1];
    long r0 = widen(env.b0[p0]);
    return r0;
}
typedef uint In1;
#define IN1_PLAIN 1
typedef uchar Raw1;
inline device const uchar* raw1(const thread Env& env) {
    return env.b1 + env.args->in1_offsets[0];
}
inline In1 in1(const thread Env& env, index_t point) {
    constant Args& a = *env.args;
    const index_t c1 = point % a.in1_shape[1];
    const index_t q1 = point / a.in1_shape[1];
    const index_t c0 = q1;
    const index_t p0 = a.in1_offsets[0] + c0 * a.in1_strides[0] + c1 * a.in1_strides[1];
    uint r0 = widen(env.b1[p0]);
    return r0;
}
typedef uint Out;
typedef uchar Target;
inline device uchar* target(const thread Env& env) {
    return env.b2;
}

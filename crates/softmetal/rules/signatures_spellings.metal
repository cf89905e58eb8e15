//# Spellings of rules on signatures
//- bad
kernel void k(device float *o, ushort2 a [[thread_position_in_grid]], uint b [[threads_per_grid]]) { o[a.x] = b; }
//- bad
kernel void k(device float *o, uint3 a [[threadgroup_position_in_grid]], uint b [[thread_position_in_threadgroup]], uint c [[thread_index_in_simdgroup]]) { o[a.x] = b + c; }
//- bad
kernel void k(device float *o, uint a [[threadgroups_per_grid]], vec<uint, 3> b [[thread_position_in_threadgroup]]) { o[a] = b.x; }
//- bad
using P = uint2;
kernel void k(device float *o, P a [[thread_position_in_grid]], uint3 b [[dispatch_threads_per_threadgroup]]) { o[a.x] = b.x; } // <-
//- good
kernel void k(device float *o, uint2 a [[thread_position_in_grid]], ushort2 b [[threads_per_threadgroup]], uint2 c [[threadgroup_position_in_grid]], ushort l [[thread_index_in_simdgroup]], ushort s [[simdgroup_index_in_threadgroup]]) { o[a.x] = b.x + c.x + l + s; }
//- bad
kernel void k(device float *o, short i [[thread_position_in_grid]]) { o[i] = 1; }
//- bad
kernel void k(device float *o, uchar i [[thread_position_in_grid]]) { o[i] = 1; }
//- bad
kernel void k(device float *o, int2 i [[thread_position_in_threadgroup]]) { o[i.x] = 1; }
//- bad
kernel void k(device float *o, size_t i [[thread_position_in_grid]]) { o[i] = 1; }
//- bad
kernel void k(device float *o, int i [[simdgroup_index_in_threadgroup]]) { o[i] = 1; }
//- bad
kernel void k(device float *o, uint3 i [[simdgroup_index_in_threadgroup]]) { o[i.x] = 1; }
//- bad
kernel void k(device float *o, uint2 i [[threads_per_simdgroup]]) { o[i.x] = 1; }
//- bad
kernel void k(device float *o, int i [[thread_index_in_threadgroup]]) { o[i] = 1; }
//- good
kernel void k(device float *o, uint32_t i [[thread_position_in_grid]], uint16_t j [[thread_index_in_threadgroup]]) { o[i + j] = 1; }
//- good
kernel void k(device float *o, unsigned i [[thread_position_in_grid]], unsigned short j [[thread_index_in_simdgroup]]) { o[i + j] = 1; }
//- bad
kernel void k(device float *o, thread uint *i [[thread_position_in_grid]]) { o[*i] = 1; }
//- bad
kernel void k(device float *o, device uint &i [[threads_per_threadgroup]]) { o[i] = 1; }
//- bad
kernel void k(device float *o, const thread uint3 &i [[thread_position_in_grid]]) { o[i.x] = 1; }
//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) [[max_total_threads_per_threadgroup(1024)]] { o[i] = 1; }
//- bad
template <typename T> kernel void k(device T *o) [[max_total_threads_per_threadgroup(256)]] { o[0] = T(1); } // <-
template [[host_name("kf")]] kernel void k<float>(device float *o);
//- good
template <typename T> [[kernel, max_total_threads_per_threadgroup(256)]] void k(device T *o) { o[0] = T(1); }
template [[host_name("kf")]] [[kernel]] void k<float>(device float *o);
//- good
kernel [[max_total_threads_per_threadgroup(64)]] void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *a [[buffer(2)]], device const float *b [[buffer(2)]]) { a[0] = b[0]; }
//- bad
constant constexpr int I = 1;
kernel void k(device float *a [[buffer(I)]], device const float *b [[buffer(1)]]) { a[0] = b[0]; } // <-
//- bad
enum { A, B };
kernel void k(device float *a [[buffer(A)]], device const float *b [[buffer(0)]]) { a[0] = b[0]; } // <-
//- good
enum { A, B };
kernel void k(device float *a [[buffer(A)]], device const float *b [[buffer(B)]]) { a[0] = b[0]; }
//- good
enum Index { IndexA = 3, IndexB };
constant constexpr int base = 5;
kernel void k(device float *a [[buffer(IndexA)]], device const float *b [[buffer(IndexB)]], constant int &n [[buffer(base + 1)]]) { a[0] = b[n]; }
//- good
enum class Index : int { a = 1, b };
kernel void k(device float *a [[buffer(int(Index::a))]], device float *b [[buffer(0)]]) { a[0] = b[0]; }
//- good
#define FIRST 2
kernel void k(device float *a [[ buffer(FIRST) ]], device float *b [[ buffer(FIRST+1) ]]) { a[0] = b[0]; }
//- good
enum { FC };
constant bool flag [[function_constant(FC)]];
kernel void k(device float *a) { if (flag) a[0] = 1; }
//- good
constant constexpr int fc = 3;
constant bool flag [[function_constant(fc)]];
kernel void k(device float *a) { if (flag) a[0] = 1; }
//- good
kernel void k(device float *o, constant int64_t s[3] [[buffer(1)]]) { o[0] = s[1]; }
//- good
kernel void k(device float *o, constant int s[] [[buffer(1)]], constant uint *t) { o[0] = s[1] + t[0]; }
//- good
float f(thread float a[4]) { return a[1]; }
float g(const device float a[]) { return a[1]; }
kernel void k(device float *o) { float a[4] = {1, 2, 3, 4}; o[0] = f(a) + g(o); }
//- bad
kernel void k(device float *o, uint n [[buffer(1)]]) { o[0] = n; }
//- bad
struct P { int n; };
kernel void k(device float *o, P p [[buffer(1)]]) { o[0] = p.n; } // <-
//- bad
kernel void k(device float *o, thread float &x [[buffer(1)]]) { o[0] = x; }
//- bad
kernel void k(device float *o, threadgroup float &x [[buffer(1)]]) { o[0] = x; }
//- bad
kernel void k(device float *o, float t [[threadgroup(0)]]) { o[0] = t; }
//- bad
kernel void k(device float *o, constant float *t [[threadgroup(0)]]) { o[0] = *t; }
//- bad
kernel void k(device float *o, uint a [[thread_index_in_simdgroup]], uint b [[thread_index_in_simdgroup]]) { o[a] = b; }
//- bad
kernel float k(device float *o) { return o[0]; }
//- bad
template <typename T> kernel T k(device T *o) { return o[0]; } // <-
template [[host_name("kf")]] kernel float k<float>(device float *o);
//- bad
int main() { return 0; }
//- bad
void main(device float *o) { o[0] = 1; } // <-
kernel void k(device float *o) { main(o); }
//- bad
kernel void a(device float *o) { o[0] = 1; }
[[kernel]] void a(device float *o, device float *p) { o[0] = p[0]; } // <-
//- bad
kernel void a(device float *o);
kernel void b(device float *o) { a(o); } // <-
kernel void a(device float *o) { o[0] = 1; }
//- bad
template <typename T> kernel void a(device T *o) { o[0] = 1; }
template [[host_name("af")]] kernel void a<float>(device float *o);
kernel void b(device float *o) { a<float>(o); } // <-
//- bad
struct S { int x; };
int f(S s) { return s.y; } // <-
//- bad
kernel void k(device float *o) { o[0] = 1; }
fragment float4 f() { return undefined_name; } // <-
//- bad
kernel void k(device float *o) { o[0] = 1; }
struct V { float4 p [[position]]; };
vertex V v(uint i [[vertex_id]], device float *x) { V r; r.q = float4(x[i]); return r; } // <-
//- bad
void f(int x) { return 1; }
//- bad
int f(int x) { int y = "text"; return y; }
//- good
struct V { float4 p [[position]]; float2 uv; };
vertex V v(uint i [[vertex_id]], device const float4 *x [[buffer(0)]]) { V r; r.p = x[i]; r.uv = float2(0); return r; }
fragment float4 f(V in [[stage_in]]) { return float4(in.uv, 0, 1); }
kernel void k(device float *o) { o[0] = 1; }

//- bad
template <typename T, typename P> kernel void k(device T *o, P p [[thread_position_in_grid]]) { o[0] = T(1); } // <-
template [[host_name("a")]] kernel void k<float, uint>(device float *o, uint p);
template [[host_name("b")]] kernel void k<float, int>(device float *o, int p);

//- bad
template <typename P> kernel void k(device float *o, P p [[thread_position_in_grid]], uint2 g [[threads_per_grid]]) { o[g.x] = 1; } // <-
template [[host_name("two")]] kernel void k<uint2>(device float *o, uint2 p, uint2 g);
template [[host_name("one")]] kernel void k<uint>(device float *o, uint p, uint2 g);

//- bad
template <typename T, typename P> kernel void k(device T *o, P p [[thread_position_in_grid]]) { o[0] = T(1); } // <-
template [[host_name("a")]] kernel void k(device float *o, int p);

//- bad
template <typename T, typename P> kernel void k(device T *o, P p [[thread_position_in_grid]]) { o[0] = T(1); } // <-
template [[host_name("a")]] kernel void k<float>(device float *o, float2 p);

//- bad
template <typename T> kernel void k(device T *o) { o[0] = T(); } // <-
template [[host_name("a")]] kernel void k<float>(device float *o);
template [[host_name("b")]] kernel void k<device float *>(device float * device *o);

//- bad
kernel int k() { return 1; }

//- good
template <typename T, typename P> kernel void k(device T *o, P p [[thread_position_in_grid]], P g [[threads_per_grid]]) { o[0] = T(1); }
template [[host_name("a")]] kernel void k(device float *o, uint p, uint g);
template [[host_name("b")]] kernel void k<half>(device half *o, ushort2 p, ushort2 g);
template [[host_name("c")]] kernel void k<float, uint3>(device float *o, uint3 p, uint3 g);
template [[host_name("d")]] kernel decltype(k<int, uint>) k<int, uint>;

//- bad
[[kernel]] void k(device float *o, uint3 tid [[thread_position_in_threadgroup]], ushort n [[threads_per_threadgroup]]) { o[n] = tid.x; }

//- bad
#define TID [[thread_position_in_grid]]
kernel void k(device float *o, int i TID) { o[i] = 1; } // <-

//- bad
#define POSITIONS(V, S) V gid [[thread_position_in_grid]], S n [[threads_per_grid]]
kernel void k(device float *o, POSITIONS(uint2, uint)) { o[gid.x] = n; } // <-

//- good
#define POSITIONS(V, S) V gid [[thread_position_in_grid]], S n [[threads_per_grid]]
kernel void k(device float *o, POSITIONS(uint2, ushort2)) { o[gid.x] = n.y; }

//- bad
struct Wrap { typedef uint3 pos; typedef uint one; };
kernel void k(device float *o, Wrap::pos a [[thread_position_in_grid]], Wrap::one b [[threadgroup_position_in_grid]]) { o[a.x] = b; } // <-

//- good
struct Wrap { typedef uint3 pos; typedef uint one; };
kernel void k(device float *o, Wrap::pos a [[thread_position_in_grid]], Wrap::one b [[thread_index_in_threadgroup]]) { o[a.x] = b; }

//- bad
kernel void k(device float *o,
              uint2 a [[thread_position_in_grid]],
              uint2 b [[threads_per_threadgroup]],
              uint3 c [[threadgroups_per_grid]]) { o[a.x + b.x + c.x] = 1; } // <-

//- good
kernel void k(device float *o, vec<ushort, 2> a [[thread_position_in_grid]], vec<uint, 2> b [[threads_per_grid]], ushort s [[simdgroups_per_threadgroup]], ushort q [[quadgroup_index_in_threadgroup]], ushort ql [[thread_index_in_quadgroup]]) { o[a.x + b.x] = s + q + ql; }

//- bad
kernel void k(device float *o, decltype(1) i [[thread_position_in_grid]]) { o[i] = 1; }

//- good
kernel void k(device float *o, decltype(1u) i [[thread_position_in_grid]]) { o[i] = 1; }

//- bad
enum Lane : uint { first };
kernel void k(device float *o, Lane i [[thread_index_in_simdgroup]]) { o[i] = 1; } // <-

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grids]]) { o[i] = 1; }

//- bad
kernel void k(device float *o [[buffer(-1)]]) { o[0] = 1; }

//- bad
kernel void k(device float *o [[buffer]]) { o[0] = 1; }

//- bad
kernel void k(device float *o [[buffer("0")]]) { o[0] = 1; }

//- bad
kernel void k(device float *o [[buffer(1.0f)]]) { o[0] = 1; }

//- bad
constant int slot [[function_constant(0)]];
kernel void k(device float *o [[buffer(slot)]]) { o[0] = 1; } // <-

//- bad
kernel void k(device float *o [[buffer(undefined_slot)]]) { o[0] = 1; }

//- bad
kernel void k(device float *o, texture2d<float> t [[texture(0)]], sampler s [[sampler(16)]]) { o[0] = t.sample(s, float2(0)).x; }

//- good
kernel void k(device float *o, texture2d<float> t [[texture(127)]], sampler s [[sampler(15)]]) { o[0] = t.sample(s, float2(0)).x; }

//- good
kernel void k(device void *p [[buffer(0)]], device const void *q [[buffer(1)]], constant bool &flag [[buffer(30)]]) { if (flag) ((device float *)p)[0] = ((device const float *)q)[0]; }

//- good
kernel void k(device float *o, constant float (&a)[4] [[buffer(1)]], constant array<float, 4> &b [[buffer(2)]]) { o[0] = a[1] + b[2]; }

//- good
kernel
void
k(device float *o[[buffer(0)]],
  uint
    i
  [[ /* where */ thread_position_in_grid ]]
)
{ o[i] = 1; }

//- good
kernel void k([[buffer(0)]] device float *o, [[thread_position_in_grid]] uint i) { o[i] = 1; }

//- good
#define KERNEL(name, T, op) [[kernel]] void name##_##T(device T *o [[buffer(0)]], uint i [[thread_position_in_grid]]) { o[i] = o[i] op T(2); }
KERNEL(mul, float, *)
KERNEL(mul, half, *)
KERNEL(sub, int, -)

//- bad
#define KERNEL(name, T, P) kernel void name(device T *o [[buffer(0)]], P i [[thread_position_in_grid]]) { o[i] = T(2); }
KERNEL(a, float, uint)
KERNEL(b, half, int) // <-

//- bad
#define LIMIT [[max_total_threads_per_threadgroup(128)]]
kernel void k(device float *o) LIMIT { o[0] = 1; } // <-

//- good
#define LIMIT [[max_total_threads_per_threadgroup(128)]]
LIMIT kernel void k(device float *o) { o[0] = 1; }

//- good
constant constexpr uint most = 32 * 4;
enum { least = 64 };
[[max_total_threads_per_threadgroup(most)]] kernel void a(device float *o) { o[0] = 1; }
[[kernel]] [[max_total_threads_per_threadgroup(least)]] void b(device float *o) { o[0] = 1; }

//- bad
kernel bool k(device float *o) { o[0] = 1; return true; }

//- bad
struct R { float x; };
kernel R k(device float *o) { R r = {o[0]}; return r; } // <-

//- bad
kernel device float *k(device float *o) { return o; }

//- bad
kernel auto k(device float *o) { return o[0]; }

//- good
typedef void nothing;
kernel nothing k(device float *o) { o[0] = 1; }

//- bad
namespace n { kernel void a(device float *o) { o[0] = 1; } }
kernel void b(device float *o) { n::a(o); } // <-

//- bad
kernel void a(device float *o) { if (o[0] > 0) { o[0] -= 1; a(o); } }

//- bad
kernel void a(device float *o) { o[0] = 1; }
struct S { void run(device float *o) { a(o); } }; // <-
kernel void b(device float *o) { S s; s.run(o); }

//- good
template <typename T> void a_body(device T *o) { o[0] = T(1); }
kernel void a(device float *o) { a_body(o); }
kernel void b(device half *o) { a_body<half>(o); }

//- bad
[[host_name("same")]] kernel void a(device float *o) { o[0] = 1; }
kernel void same(device float *o) { o[0] = 1; } // <-

//- bad
#define INST(name, T) template [[host_name(name)]] kernel void k<T>(device T *o);
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
INST("k_float", float)
INST("k_float", half) // <-

//- good
#define INST(name, T) template [[host_name("k_" #name)]] kernel void k<T>(device T *o);
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
INST(float, float)
INST(half, half)

//- bad
template <typename T> kernel void k(device const T *i, device T *o) { o[0] = i[0]; }
template [[host_name("k_f")]] kernel void k<float>(device float *i, device float *o); // <-

//- bad
template <typename T> kernel void k(device T *o, uint i [[thread_position_in_grid]]) { o[i] = T(1); }
template [[host_name("k_f")]] kernel void k<float>(device float *o, ushort i [[thread_position_in_grid]]); // <-

//- bad
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
template [[host_name("k_f")]] kernel void nope<float>(device float *o); // <-

//- bad
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
template [[host_name("k_f")]] kernel float k<float>(device float *o); // <-

//- bad
template <typename T, int N> kernel void k(device T *o) { o[0] = T(N); }
template [[host_name("k_f")]] kernel decltype(k<float>) k<float>; // <-

//- good
template <typename T, int N = 4> kernel void k(device T *o [[buffer(0)]]) { o[0] = T(N); }
template [[host_name("k_f")]] kernel void k<float>(device float *o [[buffer(0)]]);
template [[host_name("k_h8")]] kernel decltype(k<half, 8>) k<half, 8>;

//- bad
template <typename T> void f(device T *o) { undeclared_thing = 1; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
template <typename T> struct A { typedef T type; };
template <typename T> void f(device T *o) { A<T>::type x = 1; o[0] = x; } // <-
kernel void k(device float *o) { f(o); }

//- good
template <typename T> struct A { typedef T type; };
template <typename T> void f(device T *o) { typename A<T>::type x = 1; o[0] = x; }
kernel void k(device float *o) { f(o); }

//- bad
template <float X> float f() { return X; } // <-
kernel void k(device float *o) { o[0] = f<1.0f>(); }

//- bad
float f(float x);
kernel void k(device float *o) { o[0] = f(1); } // <-

//- good
float f(float x);
kernel void k(device float *o) { o[0] = f(1); }
float f(float x) { return x * 2; }

//- bad
fragment half4 shade(float4 p [[position]]) { half4 c = p; return c; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
struct Unused { float a; float a; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
#if 0
kernel void k(device float *o) { o[0] = 1; }
#else
void orphan() { int x = missing; } // <-
#endif

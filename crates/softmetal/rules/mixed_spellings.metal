//# Spellings of several rules
//- bad 320
kernel void k(device float *o, float x) { o[0] = x; }

//- bad 320
kernel void k(device float *o, bool i [[thread_position_in_grid]]) { o[i] = 1; }

//- bad 320
kernel void k(device float *o, half i [[thread_position_in_grid]]) { o[0] = i; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { thread float *p = (thread float *)&o[0]; *p = 1; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { device float *p = nullptr; threadgroup float *q = p; o[0] = q == nullptr; }

//- bad 320
kernel void k(device float *o, threadgroup float *t) { device float *p[2] = {t, t}; o[0] = *p[0]; }

//- bad 320
thread float &f(device float &x) { return x; } // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = 1; }

//- bad 320
template <typename T> void f(T a, T b) {}
kernel void k(device float *o, threadgroup float *t) { f(o, t); } // <-

//- bad 320
using P = device float *;
kernel void k(device float *o, threadgroup float *t) { P p = t; o[0] = *p; } // <-

//- bad 320
kernel void k(device float *o, constant float *c) { o[0] = *const_cast<device float *>(c); }

//- bad 320
struct S { thread float *p; void set(device float *q) { p = q; } }; // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { S s; s.set(o); o[0] = *s.p; }

//- bad 320
constant float t[2] = {1, 2};
float f(device const float *p) { return *p; }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = f(t); } // <-

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { const int n = int(o[0]); float a[n]; a[0] = 1; o[0] = a[0]; }

//- bad 320
#include <cmath> // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = 1; }

//- bad 320
kernel void k(device float *o, constant int &n) { threadgroup float t[n]; t[0] = 1; o[0] = t[0]; }

//- bad 320
kernel void k(device bfloat2 *o) { bfloat2 v = float2(1); o[0] = v; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = float3(1, 2).x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = float4(float3(1)).x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = float2(float3(1)).x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float3 v = float4(1); o[0] = v.x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float2 v = int2(1); o[0] = v.x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { half4 v = float4(1); o[0] = v.x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float4 v = half4(1); o[0] = v.x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = (float4(1) + float3(1)).x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = (int4(1) * float4(1)).x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { if (float4(1) < float4(2)) o[0] = 1; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float4 v = float4(1); v.xx = float2(1); o[0] = v.x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float4 v = float4(1); o[0] = v.xg.x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float2 v = float2(1); o[0] = v.z; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float4 v = float4(1); thread float &r = v[i]; o[0] = r; }

//- bad 320
template <typename T> void exchange(thread T &a, thread T &b) { T c = a; a = b; b = c; }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float4 v = float4(1); exchange(v.x, v.y); o[0] = v.x; } // <-

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = (float4x4(1) * float3(1)).x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float3x3 m = float4x4(1); o[0] = m[0][0]; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float4x4 m; m[0] = float3(1); o[0] = m[0][0]; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = (half4x4(1) * float4(1)).x; }

//- bad 320
kernel void k(device bfloat *o, uint i [[thread_position_in_grid]]) { o[i] = quad_broadcast(o[i], 1); }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_prefix_inclusive_sum(i > 3); }

//- bad 320
kernel void k(device bfloat4 *o, uint i [[thread_position_in_grid]]) { o[i] = simd_min(o[i]); }

//- bad 320
kernel void k(device half *o, uint i [[thread_position_in_grid]]) { o[i] = simd_and(o[i]); }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = quad_xor(o[i]); }

//- bad 320
template <typename T> T total(T x) { return simd_sum(x); } // <-
kernel void k(device long *o, uint i [[thread_position_in_grid]]) { o[i] = total(o[i]); }

//- bad 320
kernel void k(device atomic_ulong *o) { atomic_exchange_explicit(o, 1ul, memory_order_relaxed); }

//- bad 320
kernel void k(device atomic_uint *o) { uint e = 0; atomic_compare_exchange_strong_explicit(o, &e, 1u, memory_order_relaxed, memory_order_relaxed); }

//- bad 320
kernel void k(device atomic_uint *o) { atomic_load(o); }

//- bad 320
kernel void k(device atomic_uint *o) { atomic_store_explicit(o, 1u, memory_order_consume); }

//- bad 320
kernel void k(device atomic_float *o) { atomic_fetch_xor_explicit(o, 1.0f, memory_order_relaxed); }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { threadgroup atomic_ulong t; atomic_min_explicit(&t, 1ul, memory_order_relaxed); o[0] = 1; }

//- bad 320
constant float x; // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = x; }

//- bad 320
constant int n [[function_constant(65536)]]; // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = n; }

//- bad 320
kernel void k(device float *o, sampler s [[sampler(16)]]) { o[0] = 1; }

//- bad 320
kernel void k(device float *o [[buffer(-1)]]) { o[0] = 1; }

//- bad 320
kernel void k(device float *o, threadgroup float *t [[threadgroup(31)]]) { o[0] = *t; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { long double x = 1; o[0] = x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { int x = 1; int &y = x; o[0] = y; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { throw;  }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = dynamic_cast<thread int *>(nullptr) == nullptr; }

//- bad 320
struct B { virtual void f() = 0; }; // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = 1; }

//- bad 320
kernel void k(device float *o, threadgroup float *t) { device float *p = t; *p = 1; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { constant float *p = o; o[1] = *p; }

//- bad 320
float f(constant float *p) { return *p; }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = f(o); } // <-

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = cross(float2(1), float2(2)).x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = distance(int3(1), int3(2)); }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { simdgroup_matrix<half, 8, 8> a; simdgroup_float8x8 b; simdgroup_load(b, o, 8); a = b; simdgroup_store(a, o, 8); }

//- bad 320
[[host_name("a")]] kernel void x(device float *o) { o[0] = 1; }
kernel void a(device float *o) { o[0] = 2; } // <-

//- bad 320
template <typename T> kernel void f(device T *o) { o[0] = T(1); }
template [[host_name("x")]] kernel void f<float>(device half *o); // <-

//- bad 320
struct S { float x; void set() { x = 1; } };
kernel void k(device S *o) { o[0].set(); } // <-

//- bad 320
struct S { float x; bool operator==(S b) const { return x == b.x; } };
kernel void k(device S *o) { o[2].x = o[0] == o[1]; } // <-

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { threadgroup float t[4]; threadgroup float (&r)[4] = t; r[0] = 1; o[0] = t[0]; }

//- good 320
struct S { device float *p = nullptr; };
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { S s; s.p = o; s.p[0] = 1; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = float4(half4(1)).x + int2(float2(1)).x; float4 v = 1; bool4 b = v < v; o[1] = all(b) + v.rgba.x; v.xy = v.yx; v.bgr = float3(1); o[2] = v.x; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { alignas(16) float a[4] = {1}; o[0] = a[0]; }

//- good 320
auto f(float x) -> float { return x; }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = f(1); }

//- good 320
kernel void k(device bfloat *o) { int i = o[0]; if (o[1]) o[2] = -o[3]; o[i] = bfloat(1); }

//- good 320
kernel void k(device uint *o) { atomic_fetch_add_explicit((device atomic_uint *)o, 1u, memory_order_relaxed); }

//- good 320
struct S { atomic_uint n; float x; };
kernel void k(device S *s) { atomic_fetch_add_explicit(&s->n, 1u, memory_order_relaxed); s->x = 1; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { simd_vote v = simd_ballot(i); o[i] = simd_shuffle(char(i), 1) + v.all(); }

//- good 320
constant float t[2] = {1};
constexpr float g() { return 2; }
constant float y = g();
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = t[0] + y; }

//- good 320
constant int n [[function_constant(65535)]];
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = n; }

//- good 320
union U { float f; uint u; };
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { U u; u.f = o[0]; o[1] = u.u; }

//- good 320
struct S { uint a : 4; uint b : 28; };
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { S s = {1, 2}; o[0] = s.a; }

//- good 320
enum class E : uint { a = 1, b };
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = uint(E::b); }

//- good 320
template <typename... T> float sum(T... x) { return (0.0f + ... + x); }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[0] = 1; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float a[4] = {1}; for (thread auto &x : a) x = 2; o[0] = a[0]; }

//- good 320
namespace n { kernel void k(device float *o) { o[0] = 1; } }

//- good 320
struct S { float x; void set() device { x = 1; } float get() const constant { return x; } };
kernel void k(device S *o, constant S &c) { o[0].set(); o[1].x = c.get(); }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { device const float4 *v = (device const float4 *)o; float s = 0; for (int k = 0; k < 4; ++k) s += v[0][k]; o[0] = s + as_type<float>(as_type<uint>(s) ^ 1u); }

//- good 320
template <typename T, int N> struct Tile { threadgroup T *p; METAL_FUNC Tile(threadgroup T *q) : p(q) {} METAL_FUNC void put(int j, T v) thread { p[j] = v; } METAL_FUNC T get(int j) const thread { return p[j]; } };
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { threadgroup float s[32]; Tile<float, 32> t(s); t.put(i % 32, 1.0f); threadgroup_barrier(mem_flags::mem_threadgroup); o[i] = t.get(i % 32); }

//- good 320
struct Sum { template <typename T> T operator()(T a, T b) { return a + b; } };
template <typename Op> float fold(Op op, float a, float b) { return op(a, b); }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = fold(Sum(), 1.0f, 2.0f) + Sum{}(1, 2); }

//- good 320
typedef struct { int32_t ne00; uint64_t nb01; float eps; } Args;
kernel void k(constant Args &args, device const float *x, device float *o, uint i [[thread_position_in_grid]]) { device const float *row = (device const float *)((device const char *)x + i * args.nb01); o[i] = row[0] * args.eps; }

//- good 320
#define N_SIMD 32
template <int nr, typename D> void mul(device const D *x, device float *y, uint l) { float acc[nr] = {0.f}; for (int r = 0; r < nr; ++r) acc[r] += float(x[r]); for (int r = 0; r < nr; ++r) { float t = simd_sum(acc[r]); if (l == 0) y[r] = t; } }
[[host_name("mul_half")]] kernel void k(device const half *x, device float *y, ushort l [[thread_index_in_simdgroup]]) { mul<4>(x, y, l); }

//- good 320
template <typename T> kernel void k(device const T *x [[buffer(0)]], device T *y [[buffer(1)]], constant uint &n [[buffer(2)]], uint i [[thread_position_in_grid]]) { if (i >= n) return; y[i] = x[i]; }
typedef decltype(k<float>) copy_t;
template [[host_name("copy_f32")]] kernel copy_t k<float>;
template [[host_name("copy_i8")]] kernel decltype(k<char>) k<char>;

//- good 320
constant constexpr float table[4] = {0.f, 1.f, -1.f, .5f};
constexpr constant static int K = 3;
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = table[i & 3] * K; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float4 v = *(device const float4 *)(o + 4 * i); float m = max(max(v.x, v.y), max(v.z, v.w)); o[i] = simd_max(m); simdgroup_barrier(mem_flags::mem_threadgroup); }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { half2 h = half2(o[i], 1.0h); float2 f = float2(h); o[i] = dot(f, float2(h.y)); short4 s = short4(char4(1, 2, 3, 4)); o[i + 1] = s.w; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { uint4 u = as_type<uint4>(float4(1)); ushort2 p = as_type<ushort2>(u.x); half2 h = as_type<half2>(u.y); o[i] = p.x + float(h.x) + as_type<float>(0x3f800000u); }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { thread float x[4]; for (ushort j = 0; j < 4; ++j) x[j] = j; const thread float *p = x; o[i] = p[2]; }

//- good 320
enum Mode : uchar { A, B = 4 };
constant Mode mode [[function_constant(7)]];
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { switch (mode) { case A: o[i] = 1; break; case B: o[i] = 2; break; default: break; } }

//- good 320
constant bool has_mask [[function_constant(300)]];
kernel void k(device float *o [[buffer(0)]], device const half *mask [[buffer(1), function_constant(has_mask)]], uint i [[thread_position_in_grid]]) { if (has_mask) o[i] = mask[i]; else o[i] = 0; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) {
#pragma clang loop unroll(full)
 for (int j = 0; j < 8; j++) o[j] = j;
#pragma unroll
 for (int j = 0; j < 8; j++) o[j] += j; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { threadgroup float a[2][16]; threadgroup float (*p)[16] = a; p[1][i % 16] = 1; threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device); o[i] = a[1][0]; }

//- good 320
inline float2 unpack(uchar b) { return float2(b & 0xF, b >> 4); }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = unpack(uchar(i)).y; const auto z = select(1.0f, 2.0f, i > 3); o[i] += z; }

//- good 320
namespace mlx { template <typename T> struct Limits { static constexpr constant T max = T(1); }; template <typename T> constexpr constant T Limits<T>::max; }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = mlx::Limits<float>::max; }

//- good 320
struct complex64_t { float real, imag; constexpr complex64_t(float r, float j) : real(r), imag(j) {} constexpr complex64_t() thread : real(0), imag(0) {} constexpr complex64_t() threadgroup : real(0), imag(0) {} };
constexpr complex64_t operator+(complex64_t a, complex64_t b) { return {a.real + b.real, a.imag + b.imag}; }
kernel void k(device complex64_t *c, uint i [[thread_position_in_grid]]) { complex64_t z = c[i] + complex64_t(1, 2); c[i] = z; }

//- good 320
using namespace metal;
template <typename T> using four = vec<T, 4>;
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { four<half> h = four<half>(1); o[i] = h.x + four<float>(h).y; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = metal::precise::sqrt(o[i]) + metal::fast::exp(o[i]) + rsqrt(o[i]) + exp2(o[i]); }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float c; float s = sincos(o[i], c); int e; float m = frexp(s, e); o[i] = ldexp(m, e) + c; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { uint lane = uint(ulong(simd_ballot(i & 1))); o[i] = lane; }

//- good 320
kernel void k(device float *o, volatile device atomic_uint *c, uint i [[thread_position_in_grid]]) { atomic_store_explicit(&c[0], 0u, memory_order_relaxed); threadgroup_barrier(mem_flags::mem_device); uint n = atomic_fetch_add_explicit(&c[0], 1, memory_order_relaxed); o[i] = n; }

//- good 320
struct Params { uint shape[8]; long strides[8]; };
kernel void k(device float *o, constant Params &p, uint i [[thread_position_in_grid]]) { long at = 0; for (int d = 0; d < 3; ++d) at += long(i) * p.strides[d]; o[at] = p.shape[0]; }

//- good 320
typedef void (fill_t)(device float *, float);
void fill(device float *o, float x) { o[0] = x; }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { fill(o + i, 1); }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = i % 2 == 0 ? INFINITY : -INFINITY; if (isnan(o[i]) || isinf(o[i])) o[i] = FLT_MAX; o[i] = numeric_limits<half>::max(); }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { auto square = [&](float x) { return x * x * o[0]; }; o[i] = square(2); }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float4x4 m = float4x4(float4(1), float4(2), float4(3), float4(4)); float3x3 n = float3x3(m[0].xyz, m[1].xyz, m[2].xyz); o[i] = determinant(n) + (m * float4(1)).x + transpose(m)[0][1]; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { device packed_float3 *p = (device packed_float3 *)o; float3 v = p[i]; p[i] = packed_float3(v * 2); o[0] = length(float3(p[1])); }

//- good 320
kernel void k(texture2d<half, access::read_write> t [[texture(0)]], ushort2 p [[thread_position_in_grid]]) { t.write(t.read(p) + half4(1), p); }

//- good 320
kernel void k(texture2d<float> a [[texture(0)]], texture2d<float, access::write> b [[texture(1)]], uint2 p [[thread_position_in_grid]]) { constexpr sampler s(coord::normalized, filter::linear, address::clamp_to_edge); b.write(a.sample(s, (float2(p) + 0.5f) / float2(b.get_width(), b.get_height())), p); }

//- bad 320
typedef struct { float *x; } Args; // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = 1; }

//- bad 320
struct S { int n; };
void f(const S &s) {} // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = 1; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { for (uint j = 0; j < 4; ++j) { threadgroup float *p = &o[j]; p[0] = 1; } }

//- bad 320
float f(threadgroup const float *p) { return p[0]; }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float x[4] = {1}; o[i] = f(x); } // <-

//- bad 320
template <typename T> T load(device const T *p) { return *p; }
kernel void k(device float *o, constant float *c, uint i [[thread_position_in_grid]]) { o[i] = load(c); } // <-

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = sin(double(o[i])); }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { unsigned long long int x = 3; o[i] = x; }

//- bad 320
kernel void k(device float *o, device float4x4 *p, uint i [[thread_position_in_grid]]) { o[i] = simd_shuffle(p[i], 0)[0]; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float x = o[i]; x = simd_max(long(x)); o[i] = x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = quad_sum(i > 2); }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { bfloat b = o[i]; o[i] = b; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { bfloat b = bfloat(1); half h = b; o[i] = h; }

//- bad 320
kernel void k(device bfloat *b, constant half &h, uint i [[thread_position_in_grid]]) { b[i] = b[i] * h; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { int a[3] = {1.5f, 2, 3}; o[i] = a[0]; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { uchar c = {256}; o[i] = c; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { int n = i; int a[n][2]; a[0][0] = 1; o[i] = a[0][0]; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { static float cache = 1; o[i] = cache; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = new float(1)[0]; }

//- bad 320
int counter = 0; // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = counter; }

//- bad 320
thread float g; // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = g; }

//- bad 320
class Base { public: virtual ~Base() {} }; // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = 1; }

//- bad 320
kernel void k(device float *o, uint2 g [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint i [[thread_index_in_threadgroup]]) { o[i] = 1; }

//- bad 320
kernel void k(device float *o, ushort4 i [[thread_position_in_grid]]) { o[i.x] = 1; }

//- bad 320
kernel void k(device float *o, long i [[thread_index_in_threadgroup]]) { o[i] = 1; }

//- bad 320
kernel void a(device float *o [[buffer(3)]], device float *p [[buffer(3)]]) { o[0] = p[0]; }

//- bad 320
kernel void a(device float *o [[buffer(31)]]) { o[0] = 1; }

//- bad 320
kernel float4 a(device float *o) { return float4(o[0]); }

//- bad 320
kernel void a(device float **o) { o[0][0] = 1; }

//- bad 320
kernel void k(device atomic<half> *o) { atomic_fetch_add_explicit(o, 1.0h, memory_order_relaxed); }

//- bad 320
kernel void k(threadgroup atomic_float *o) { atomic_fetch_min_explicit(o, 1.0f, memory_order_relaxed); }

//- bad 320
kernel void k(threadgroup atomic_uint *o) { atomic_fetch_add_explicit(o, 1u, memory_order_release); }

//- bad 320
kernel void k(device const half *h) { simdgroup_matrix<float, 8, 8> a; simdgroup_load(a, h, 8); }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { simdgroup_matrix<short, 8, 8> a; }

//- bad 320
kernel void k(device float2 *v, uint i [[thread_position_in_grid]]) { auto p = &v[i].y; *p = 1; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { half4 h = half4(1); thread half &r = h.w; r = 2; o[i] = r; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = (float3x3(1) * 2).columns[0].x; }

//- bad 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float3 v = float3(1); v.xz *= float2x2(1); o[i] = v.x; }

//- bad 320
constant int n [[function_constant(0)]];
constant int a[n] = {1}; // <-
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = a[0]; }

//- bad 320
constant uint n [[function_constant(0)]];
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { array<float, n> a; a[0] = 1; o[i] = a[0]; } // <-

//- bad 320
[[max_total_threads_per_threadgroup(256)]] void helper() {}
kernel void k(device float *o) [[host_name("x")]] { o[0] = 1; } // <-

//- bad
kernel void k(device float *o, constant uint3 &size [[threads_per_threadgroup]]) { o[0] = size.x; }

//- bad
struct P { uint x, y; };
kernel void k(device float *o, P i [[thread_position_in_grid]]) { o[i.x] = 1; } // <-

//- bad
kernel void k(device float *o, packed_uint2 i [[thread_position_in_grid]], uint n [[threads_per_grid]]) { o[i.x] = n; }

//- bad
template <typename T, typename V> kernel void k(device T *o, V i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]) { o[n] = T(1); } // <-
template [[host_name("a")]] kernel void k<float, uint2>(device float *o, uint2 i, uint n);

//- bad
kernel void k(device float *o, uint a [[thread_position_in_grid]], ushort3 b [[thread_position_in_threadgroup]], uint c [[threadgroup_position_in_grid]]) { o[a] = b.x + c; }

//- good
kernel void k(device float *o, uint a [[thread_position_in_grid]], ushort b [[thread_position_in_threadgroup]], uint c [[threadgroup_position_in_grid]], uint d [[threads_per_simdgroup]], uint e [[simdgroup_index_in_threadgroup]]) { o[a] = b + c + d + e; }

//- bad
kernel void k(device float *o) [[max_total_threads_per_threadgroup(8)]]; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k [[buffer(0)]] (device float *o) { o[0] = missing; }

//- bad
kernel void k(device float *a [[buffer(0)]], device float *b [[buffer(1)]], constant int &n [[buffer(1)]]) { a[0] = b[n]; }

//- bad
kernel void k(texture2d<float> a [[texture(1)]], texture3d<float> b [[texture(1)]], device float4 *o) { o[0] = a.read(uint2(0)) + b.read(uint3(0)); }

//- good
kernel void k(texture2d<float> a [[texture(1)]], device float4 *o [[buffer(1)]], sampler s [[sampler(1)]], threadgroup float *t [[threadgroup(1)]]) { o[0] = a.sample(s, float2(0)) + t[0]; }

//- bad
kernel void k(float4 x, device float4 *o) { o[0] = x; }

//- bad
kernel void k(constant float x, device float4 *o) { o[0] = x; }

//- bad
kernel void k(device float *o, thread float *scratch) { o[0] = scratch[0]; }

//- bad
kernel void k(device float *o, float *p) { o[0] = p[0]; }

//- bad
kernel void k(constant float * constant *rows, device float *o) { o[0] = rows[0][1]; }

//- bad
kernel void k(device float * const device *rows) { rows[0][1] = 1; }

//- good
struct Rows { device float *p[4]; };
kernel void k(device Rows &rows) { rows.p[1][1] = 1; }

//- bad
kernel void k(device float *o) -> float { return o[0]; }

//- bad
kernel k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { o[0] = 1; }
void call(device float *o, int n) { for (int i = 0; i < n; ++i) { k(o + i); } } // <-

//- bad
float main() { return 1; }

//- bad
static void main(device float *o, uint i) { o[i] = 1; } // <-
kernel void k(device float *o) { main(o, 0); }

//- bad
[[kernel]] void copy(device float *o) { o[0] = 1; }
[[kernel]] void copy(device half *o) { o[0] = 1; } // <-

//- good
kernel void copy_f(device float *o) { o[0] = 1; }
void copy(device float *o) { o[0] = 1; }
void copy(device half *o) { o[0] = 1; }

//- bad
namespace lib { template <typename T> kernel void k(device T *o) { o[0] = T(1); } }
template [[host_name("k_f")]] kernel void lib::k<float>(device half *o); // <-

//- good
namespace lib { template <typename T> kernel void k(device T *o) { o[0] = T(1); } }
template [[host_name("k_f")]] kernel void lib::k<float>(device float *o);

//- bad
template <int N> kernel void k(device float *o, constant int *n) { o[0] = N; }
template [[host_name("k4")]] kernel void k<4>(device float *o, constant long *n); // <-

//- bad
template <typename T> kernel void k(device T *o, threadgroup T *t) { o[0] = t[0]; }
template [[host_name("k_f")]] kernel void k<float>(device float *o, device float *t); // <-

//- bad
vertex float4 v(uint i [[vertex_id]], constant float4 *p) { thread float4 *q = p; return q[i]; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
fragment half4 f(texture2d<half> t) { return simd_sum(t.read(uint2(0)).x > 0.0h); } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
int helper(int a, int b) { return a +; } // <-

//- bad
struct A { int x; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { o[0] = 1;

//- bad
kernel void k(device float *o) { device float *p = &o[0]; thread float *q = reinterpret_cast<thread float *>(reinterpret_cast<ulong>(p)); threadgroup float *r = static_cast<threadgroup float *>(p); o[0] = *q + *r; }

//- bad
kernel void k(device float *o) { thread int x = 1; constant int *p = (constant int *)&x; o[0] = *p; }

//- bad
void store(threadgroup float4 *t, float4 v) { t[0] = v; }
kernel void k(device float4 *o) { store(o, float4(1)); } // <-

//- bad
void axpy(constant float &a, device float *x, thread float &y) { y += a * x[0]; }
kernel void k(constant float &a, device float *x) { axpy(a, x, x[1]); } // <-

//- bad
void axpy(constant float &a, device float *x) { x[0] *= a; }
kernel void k(device float *x) { float a = 2; axpy(a, x); } // <-

//- bad
template <typename T> struct Ref { threadgroup T &r; Ref(threadgroup T &x) : r(x) {} };
kernel void k(device float *o) { Ref<float> r(o[0]); r.r = 1; } // <-

//- bad
struct Q { thread float *a; };
kernel void k(device float *o) { Q q; q.a = &o[2]; *q.a = 1; } // <-

//- bad
struct Q { thread float *a; };
kernel void k(device float *o) { Q q = {o}; *q.a = 1; } // <-

//- bad
struct Q { device float *a; };
Q make(threadgroup float *t) { return Q{t}; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
struct Q { device float *a = nullptr; void bind(constant float *c) thread { a = c; } }; // <-
kernel void k(device float *o) { Q q; o[0] = q.a == nullptr; }

//- bad
kernel void k(device float *o, constant float *c) { auto f = [&](device float *p) { return p[0]; }; o[0] = f(c); }

//- good
kernel void k(device float *o, constant float *c) { auto f = [&](auto p) { return p[0]; }; o[0] = f(c) + f(o); }

//- bad
kernel void k(device float *o, constant float *c) { device float *rows[2] = {o, c}; rows[0][0] = 1; }

//- bad
kernel void k(device float *o, threadgroup float *t) { device float *p = o; p = t; *p = 1; }

//- bad
kernel void k(device float *o, threadgroup float *t) { if (o > t) o[0] = 1; }

//- bad
kernel void k(device float *o, threadgroup float *t) { bool b = t == &o[3]; o[0] = b; }

//- bad
float f(thread float3 &v) { return v.x; }
kernel void k(device float3 *o) { o[0].x = f(o[1]); } // <-

//- bad
float f(thread const float3 *v) { return v->x; }
kernel void k(constant float3 *c, device float *o) { o[0] = f(c + 1); } // <-

//- good
float f(float3 v) { return v.x; }
kernel void k(constant float3 *c, device float3 *o) { o[0].x = f(c[1]) + f(o[1]); }

//- bad
struct M { float3x3 m; float3 row(int i) const { return m[i]; } };
kernel void k(constant M &m, device float *o) { o[0] = m.row(1).x; } // <-

//- good
struct M { float3x3 m; float3 row(int i) const constant { return m[i]; } };
kernel void k(constant M &m, device float *o) { o[0] = m.row(1).x; }

//- bad
struct It { int i; thread It &operator++() { ++i; return *this; } };
kernel void k(device It *o) { ++o[0]; } // <-

//- bad
struct It { int i; bool operator!() const { return i == 0; } };
kernel void k(constant It &c, device int *o) { o[0] = !c; } // <-

//- bad
template <typename T> struct Box { T v; T get() const { return v; } };
kernel void k(device float *o) { threadgroup Box<float> b; b.v = 1; o[0] = b.get(); } // <-

//- bad
template <typename T> struct Box { T v; T get() const { return v; } };
struct Outer { Box<float> box; };
kernel void k(device Outer *p, device float *o) { o[0] = p->box.get(); } // <-

//- good
template <typename T> struct Box { T v; T get() const device { return v; } T get() const thread { return v; } };
struct Outer { Box<float> box; };
kernel void k(device Outer *p, device float *o) { Outer q = *p; o[0] = p->box.get() + q.box.get(); }

//- bad
kernel void k(device float *o) { device float buffer[16]; buffer[0] = 1; o[0] = buffer[0]; }

//- bad
kernel void k(device float *o) { for (device int i = 0; i < 4; i++) o[i] = 1; }

//- bad
kernel void k(device float *o) { constant float pi = 3.14f; o[0] = pi; }

//- bad
device float scale(device float x) { return x; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
thread float *f(threadgroup float *t) { return (thread float *)t; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
float *find(device float *p) { return p; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
void f(const char *text) {} // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
struct L { L *next; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
using ref = int &; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { int x = 1; int *p = &x, *q = &x; o[0] = *p + *q; }

//- bad
kernel void k(device float *o) { float a[4]; float (*p)[4] = &a; o[0] = (*p)[0]; }

//- bad
kernel void k(device float *o) { o[0] = *(float *)&o[1]; }

//- bad
kernel void k(device uint *o) { o[0] = ((uint *)o)[1]; }

//- bad
kernel void k(device uint *o) { o[0] = *(const uchar *)(o + 1); }

//- good
kernel void k(device uint *o) { o[0] = *(const device uchar *)(o + 1); o[1] = ((device uint *)o)[1]; uint x = 3; o[2] = *(thread ushort *)&x; }

//- bad
int table[4] = {1, 2, 3, 4}; // <-
kernel void k(device float *o) { o[0] = table[1]; }

//- bad
volatile int flag; // <-
kernel void k(device float *o) { o[0] = flag; }

//- bad
struct State { int n; };
State state; // <-
kernel void k(device float *o) { o[0] = state.n; }

//- bad
static const float4 white = float4(1); // <-
kernel void k(device float4 *o) { o[0] = white; }

//- bad
inline constexpr int lanes = 32; // <-
kernel void k(device float *o) { o[0] = lanes; }

//- bad
namespace { const int hidden = 3; } // <-
kernel void k(device float *o) { o[0] = hidden; }

//- bad
template <typename T> struct Traits { static constexpr T one = T(1); }; // <-
kernel void k(device float *o) { o[0] = Traits<float>::one; }

//- good
template <typename T> struct Traits { static constexpr constant T one = T(1); enum { width = 4 }; static constexpr T two() { return T(2); } };
kernel void k(device float *o) { o[0] = Traits<float>::one + Traits<float>::width + Traits<float>::two(); }

//- bad
constant int n [[function_constant(0)]];
kernel void k(device float *o) { o[0] = vec<float, n>(1)[0]; } // <-

//- bad
constant int n [[function_constant(0)]];
kernel void k(device float *o) { float a[2][n]; a[0][0] = 1; o[0] = a[0][0]; } // <-

//- bad
constant uint n [[function_constant(0)]];
constant uint half_n = n / 2;
template <uint N> uint f() { return N; }
kernel void k(device uint *o) { o[0] = f<half_n>(); } // <-

//- bad
constant bool n [[function_constant(0)]];
kernel void k(device float *o) { static_assert(!n, "off"); o[0] = 1; } // <-

//- bad
constant int n [[function_constant(0)]];
kernel void k(device float *o) { switch (int(o[0])) { case 0: break; case n + 1: o[0] = 1; } } // <-

//- bad
constant int n [[function_constant(0)]] = 4; // <-
kernel void k(device float *o) { o[0] = n; }

//- bad
struct S { int x; };
constant S s [[function_constant(2)]]; // <-
kernel void k(device float *o) { o[0] = s.x; }

//- bad
constant device float *p [[function_constant(2)]]; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
constant int n [[function_constant(0)]];
kernel void k(device float *o) { alignas(n) float x = 1; o[0] = x; } // <-

//- bad
constant int n [[function_constant(0)]];
kernel void k(device float *o) { constexpr int twice = 2 * n; o[0] = twice; } // <-

//- good
constant int n [[function_constant(0)]];
constant bool big = n > 64;
kernel void k(device float *o) { const int twice = 2 * n; if (big) o[0] = twice; for (int i = 0; i < n; i++) o[i] = big ? 1 : 2; switch (n) { case 1: o[0] = 1; } }

//- bad
kernel void k(device bfloat *o, device float *f) { bfloat x{f[0]}; o[0] = x; }

//- bad
kernel void k(device bfloat *o, device float *f) { bfloat x(1.5); o[0] = f[0]; }

//- bad
bfloat scale(bfloat x, float s) { return x * s; } // <-
kernel void k(device bfloat *o) { o[0] = 1; }

//- bad
kernel void k(device bfloat *o) { o[0] = sqrt(float(o[1])); }

//- bad
kernel void k(device bfloat *o) { o[0] = o[1] / 3.0f; }

//- bad
kernel void k(device bfloat *o, device half *h) { bool b = o[0] < h[0]; o[1] = bfloat(b); }

//- bad
kernel void k(device bfloat *o, device half *h) { float x = o[0] * h[0]; o[1] = bfloat(x); }

//- bad
struct P { bfloat v; };
P make(float x) { return {x}; } // <-
kernel void k(device P *o) { o[0] = make(1); }

//- bad
void put(device bfloat *o, bfloat v) { *o = v; }
kernel void k(device bfloat *o) { put(o, 2.0f); } // <-

//- bad
template <typename T> void put(device T *o, float v) { *o = v; } // <-
kernel void k(device bfloat *o) { put(o, 2.0f); }

//- good
template <typename T> void put(device T *o, float v) { *o = T(v); }
kernel void k(device bfloat *o, device float *f) { put(o, 2.0f); put(f, 2.0f); f[1] = o[1] + f[2]; f[3] += o[2]; o[3] = max(o[4], o[5]) == o[4] ? o[4] : o[5]; }

//- bad
kernel void k(device bfloat2 *o, device float2 *f) { o[0] += f[0]; }

//- bad
kernel void k(device bfloat4 *o, device half4 *f) { o[0] = f[0]; }

//- bad
kernel void k(device float3 *o) { o[0] = float2(1); }

//- bad
kernel void k(device float3 *o) { o[0].xy = float3(1); }

//- bad
kernel void k(device half2 *o, device float2 *f) { o[0] = f[0]; }

//- bad
kernel void k(device half2 *o, device float2 *f) { o[0] = o[1] + f[0]; }

//- bad
kernel void k(device ushort4 *o, device uint4 *f) { o[0] = f[0]; }

//- bad
half4 f(float4 v) { return v * 2; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
void f(thread half4 &v) { v = 1; }
kernel void k(device float *o) { float4 v; f(v); o[0] = v.x; } // <-

//- bad
kernel void k(device float4 *o) { thread float &c = (thread float &)o[0].x; c = 1; }

//- bad
kernel void k(device float4 *o) { float4 v = o[0]; thread float *p = &v.y; *p = 1; o[0] = v; }

//- bad
kernel void k(device float4 *o) { float4 v = o[0]; auto p = &(v.z); *p = 1; o[0] = v; }

//- bad
void inc(thread int &x) { x++; }
kernel void k(device int *o) { int4 v = int4(0); for (int i = 0; i < 4; i++) inc(v[i]); o[0] = v.x; } // <-

//- bad
void inc(thread int &x) { x++; }
kernel void k(device int *o) { int3 v = int3(0); inc(v.z); o[0] = v.z; } // <-

//- bad
kernel void k(device int *o) { int2 v = int2(0); for (thread int &x : {v.x, v.y}) x++; o[0] = v.x; }

//- good
void inc(thread int &x) { x++; }
kernel void k(device int *o) { int3 v = int3(0); int z = v.z; inc(z); v.z = z; int a[3] = {0}; inc(a[1]); o[0] = v.z + a[1]; }

//- bad
kernel void k(device float2x2 *o) { o[0] = o[1] * 2u; }

//- bad
kernel void k(device half3x3 *o) { short s = 2; o[0] = s * o[1]; }

//- bad
kernel void k(device float4 *o, constant float3x3 &m) { o[0].xyz *= m; }

//- bad
kernel void k(device float4 *o, constant float2x2 &m) { float4 v = o[0]; v.zw *= m; o[0] = v; }

//- good
kernel void k(device float4 *o, constant float2x2 &m) { float4 v = o[0]; v.zw = v.zw * m; float2 w = v.xy; w *= m; o[0] = float4(w, v.zw); }

//- bad
kernel void k(device float *o, constant float4x4 &m) { o[0] = (m * float3(1)).x; }

//- bad
kernel void k(device float *o, constant float4x4 &m) { float4x4 n = m; n[1] = float2(1); o[0] = n[1].x; }

//- bad
kernel void k(device int *o) { o[0] = dot(int4(1), int4(o[0])); }

//- bad
kernel void k(device uint *o) { uint2 a = uint2(1); o[0] = length(a); }

//- bad
kernel void k(device ushort *o) { o[0] = dot(ushort2(1), ushort2(2)); }

//- bad
kernel void k(device float *o) { o[0] = normalize(int3(1)).x; }

//- good
kernel void k(device int *o) { int4 a = int4(1) * int4(2); o[0] = a.x + a.y + a.z + a.w; o[1] = int(dot(float4(a), float4(1))); }

//- bad
kernel void k(device bool *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_shuffle_down(o[i], 1); }

//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_broadcast_first(o[i] != 0); }

//- bad
kernel void k(device uint64_t *o, uint i [[thread_index_in_simdgroup]]) { uint64_t x = o[i]; x = simd_or(x); o[i] = x; }

//- bad
kernel void k(device long2 *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_sum(o[i]); }

//- bad
kernel void k(device ulong *o, uint i [[thread_index_in_simdgroup]]) { o[i] = quad_broadcast(o[i], 0); }

//- bad
kernel void k(device long *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_shuffle_and_fill_down(o[i], 0l, 1); }

//- bad
kernel void k(device bfloat *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_prefix_exclusive_sum(o[i]); }

//- bad
kernel void k(device bfloat2 *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_shuffle(o[i], 3); }

//- bad
struct C { float re, im; };
template <typename T> T reduce(T x) { return simd_shuffle_down(x, 16); } // <-
kernel void k(device C *o, uint i [[thread_index_in_simdgroup]]) { o[i] = reduce(o[i]); }

//- bad
kernel void k(device half2x2 *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_shuffle_xor(o[i], 1); }

//- good
kernel void k(device long *o, uint i [[thread_index_in_simdgroup]]) { uint2 x = as_type<uint2>(o[i]); x = simd_shuffle_xor(x, 1); o[i] = as_type<long>(x); int b = simd_or(int(o[i] > 2)); o[i] += b; }

//- bad
kernel void k(device ushort *o) { simdgroup_matrix<ushort, 8, 8> a; simdgroup_load(a, o, 8); }

//- bad
kernel void k(device float *o) { simdgroup_matrix<half, 4, 4> a; o[0] = 1; }

//- bad
kernel void k(threadgroup half *t) { simdgroup_float8x8 a; simdgroup_load(a, t); }

//- bad
kernel void k(device bfloat *t) { simdgroup_half8x8 a; simdgroup_load(a, t, 8); }

//- bad
kernel void k(device float *o) { thread half t[64]; simdgroup_half8x8 a(1); simdgroup_store(a, &t[0], 8); o[0] = t[0]; }

//- bad
kernel void k(device float *o) { simdgroup_float8x8 a, b; simdgroup_half8x8 c; simdgroup_multiply_accumulate(a, b, 2.0f, c); simdgroup_store(a, o); }

//- bad
struct F; 
thread F *copy(threadgroup void *d) __asm("air.simdgroup_async_copy_2d.p3i8.p1i8"); // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { asm volatile("" : : : "memory"); o[0] = 1; }

//- bad
kernel void k(threadgroup atomic_float *t) { atomic_fetch_add_explicit(&t[3], 2.0f, memory_order_relaxed); }

//- bad
kernel void k(device float *o) { threadgroup atomic_float acc; atomic_fetch_sub_explicit(&acc, 1.0f, memory_order_relaxed); o[0] = 1; }

//- bad
kernel void k(device atomic<float> &o) { atomic_fetch_max_explicit(&o, 1.0f, memory_order_relaxed); }

//- bad
kernel void k(device atomic_float *o) { atomic_fetch_xor_explicit(o, 1.0f, memory_order_relaxed); }

//- bad
kernel void k(device atomic<ulong> *o) { atomic_fetch_add_explicit(&o[1], 2ul, memory_order_relaxed); }

//- bad
kernel void k(device atomic_ulong *o, device ulong *r) { ulong e = 0; r[0] = atomic_compare_exchange_weak_explicit(o, &e, 2ul, memory_order_relaxed, memory_order_relaxed); }

//- bad
kernel void k(device atomic_ulong *o, device ulong *r) { r[0] = atomic_min_explicit(o, 2ul, memory_order_relaxed); }

//- bad
kernel void k(threadgroup atomic_ulong *o) { atomic_min_explicit(o, 2ul, memory_order_relaxed); }

//- bad
kernel void k(device atomic_uint *o) { atomic_min_explicit(o, 2u, memory_order_relaxed); }

//- bad
kernel void k(device atomic<long> &o) { atomic_exchange_explicit(&o, 2l, memory_order_relaxed); }

//- bad
kernel void k(device atomic<char> *o) { atomic_load_explicit(o, memory_order_relaxed); }

//- bad
kernel void k(device atomic<bfloat> *o) { atomic_store_explicit(o, bfloat(1), memory_order_relaxed); }

//- bad
kernel void k(device atomic_bool *o) { atomic_fetch_and_explicit(o, false, memory_order_relaxed); }

//- bad
kernel void k(device atomic<bool> *o) { atomic_fetch_sub_explicit(o, true, memory_order_relaxed); }

//- bad
kernel void k(device atomic_uint *o) { atomic_exchange_explicit(o, 1u, memory_order_acq_rel); }

//- bad
kernel void k(threadgroup atomic_int *o, device int *p) { p[0] = atomic_load_explicit(o, memory_order_acquire); }

//- bad
kernel void k(device atomic_int *o) { atomic_fetch_sub_explicit(o, 1, memory_order_seq_cst); }

//- bad
kernel void k(device int *o) { atomic_int x; atomic_fetch_add_explicit(&x, 1, memory_order_relaxed); o[0] = 1; }

//- bad
void bump(thread atomic_uint *c) { atomic_fetch_add_explicit(c, 1u, memory_order_relaxed); } // <-
kernel void k(device int *o) { o[0] = 1; }

//- bad
void bump(constant atomic_uint *c) { atomic_fetch_add_explicit(c, 1u, memory_order_relaxed); } // <-
kernel void k(device int *o) { o[0] = 1; }

//- good
void bump(threadgroup atomic_uint *c) { atomic_fetch_add_explicit(c, 1u, memory_order_relaxed); }
void bump(device atomic_uint *c) { atomic_fetch_add_explicit(c, 2u, memory_order_relaxed); }
kernel void k(device atomic_uint *o) { threadgroup atomic_uint t; bump(&t); bump(o); atomic_thread_fence(mem_flags::mem_device, memory_order_acq_rel, thread_scope_device); }

//- bad 240
kernel void k(device atomic<float> *o) { atomic_exchange_explicit(o, 1.0f, memory_order_relaxed); }

//- bad 220
kernel void k(constant ulong &n, device float *o) { o[0] = n; }

//- bad 220
struct T { long2 a; };
kernel void k(device T *o) { o[0].a = 1; } // <-

//- good 230
kernel void k(constant ulong &n, device long *o) { o[0] = n; }

//- bad 210
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
template [[host_name("kf")]] kernel void k<float>(device float *o); // <-

//- bad 200
kernel void k(device float *o, device int *n) { n[0] = min3(n[1], n[2], n[3]); o[0] = 1; }

//- bad 200
kernel void k(device float *o) { o[0] = simd_shuffle_xor(o[1], 1) + simd_sum(o[2]); }

//- bad 300
kernel void k(device bfloat *o) { o[0] = o[1]; }

//- bad 310
kernel void k(device float *o) { auto twice = [&] { return o[0] * 2; }; o[0] = twice(); }

//- bad 310
constant auto square = [](int x) { return x * x; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
template <typename T, int N> struct Arr { T v[N]; Arr(T x) { for (int i = 0; i < N; i++) v[i] = x; } };
template <typename T> Arr(T) -> Arr<T, 4>; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
template <typename A, typename B> struct Duo { A a; B b; Duo(A x, B y) : a(x), b(y) {} };
kernel void k(device float *o) { auto d = Duo(1, 2.0f); o[0] = d.b; } // <-

//- good 400
template <typename A, typename B> struct Duo { A a; B b; Duo(A x, B y) : a(x), b(y) {} };
kernel void k(device float *o) { auto d = Duo(1, 2.0f); o[0] = d.b; }

//- bad
kernel void k(device float *o) { int x = 3; int v[x] = {}; o[0] = v[0]; }

//- bad
kernel void k(device float *o, uint n [[threads_per_threadgroup]]) { float t[n]; t[0] = 1; o[0] = t[0]; }

//- bad
template <int N> struct Buf { float v[N]; }; // <-
kernel void k(device float *o) { Buf<0> b; o[0] = sizeof(b); }

//- bad
kernel void k(device float *o) { int i = int(o[0]); float2 v = {i, 1}; int w[] = {o[0], 1}; o[0] = w[0]; }

//- bad
struct Dim { ushort x, y; };
kernel void k(device float *o, uint2 p [[thread_position_in_grid]]) { Dim d{p.x, p.y}; o[0] = d.x; } // <-

//- bad
Dim_missing f() { return {}; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { unsigned half = 3; o[0] = half; }

//- bad
float lerp(float a, float b, float half) { return a + (b - a) * half; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
struct Shader { float vertex; float fragment; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { float constant = 2; o[0] = constant; }

//- bad
kernel void k(device float *o) { uint device = 2; o[0] = device; }

//- bad
kernel void k(device float *o) { start: o[0] += 1; if (o[0] < 4) goto start; }

//- bad
kernel void k(device float *o) { for (int i = 0; i < 3; i++) { next: if (i == 2) continue; o[i] = 1; } }

//- bad
void f() noexcept(noexcept(1 + 1)) {} // <-
kernel void k(device float *o) { o[0] = 1; }

//- good
void f() noexcept {}
kernel void k(device float *o) { f(); o[0] = 1; }

//- bad
kernel void k(device float *o) { register float acc = 0; acc += 1; o[0] = acc; }

//- bad
kernel void k(device float *o) { static int calls = 0; calls++; o[0] = calls; }

//- bad
float g() { static constexpr float table[2] = {1, 2}; return table[1]; } // <-
kernel void k(device float *o) { o[0] = g(); }

//- bad
long long wide(int x) { return x; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { auto x = (long long)o[0]; o[0] = x; }

//- bad
kernel void k(device float *o) { std::vector<int> v; o[0] = 1; }

//- bad
struct Shape { virtual float area() const = 0; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { int *p = new int[4]; delete[] p; o[0] = 1; }

//- bad
kernel void k(device float *o) { if (o[0] < 0) throw 1; o[0] = 1; }

//- good
float max(float x) { return x; }
template <typename T> struct Limits { static constexpr constant T most = metal::numeric_limits<T>::max(); static constexpr constant int size[2] = {1, 2}; };
template <typename T> constexpr constant T Limits<T>::most;
template <typename T> constexpr constant int Limits<T>::size[2];
kernel void k(device float *o) { o[0] = Limits<float>::most + Limits<int>::size[1]; }

//- bad
kernel void k(texture2d<float> t, sampler s, device float4 *o) { thread texture2d<float> *p = &t; threadgroup float4 *q = o; o[0] = p->sample(s, float2(0)) + q[0]; }

//- bad
kernel void k(texture3d<float> t, sampler s, device float4 *o) { o[0] = t.sample(s, float2(0)); }

//- bad
kernel void k(texture1d<float> t, device float4 *o) { o[0] = t.read(uint2(0)); }

//- bad
kernel void k(texture2d<half> t, device float4 *o) { o[0] = t.read(uint2(0)); }

//- bad
kernel void k(texture2d<uint> t, device float4 *o) { float4 v = t.read(uint2(0)); o[0] = v; }

//- bad
kernel void k(texture2d<int, access::write> t) { t.write(uint4(1), uint2(0)); }

//- bad
kernel void k(texture2d<float, access::sample> t) { t.write(float4(1), uint2(0)); }

//- bad
kernel void k(texture2d<float, access::read_write> t, sampler s, device float4 *o) { o[0] = t.sample(s, float2(0)); }

//- bad
kernel void k(texture2d<float, access::readwrite> t, device float4 *o) { o[0] = t.read(uint2(0)); }

//- bad
kernel void k(texture2d<long> t, device float4 *o) { o[0] = 1; }

//- bad
kernel void k(texture2d t, device float4 *o) { o[0] = 1; }

//- bad
kernel void k(texture2d<float> t [[texture(128)]], device float4 *o) { o[0] = 1; }

//- bad
kernel void k(device texture2d<float> &t [[texture(0)]], device float4 *o) { o[0] = 1; }

//- bad
kernel void k(texture2d_array<float> t, device float4 *o) { o[0] = t.read(uint2(0)); }

//- bad
kernel void k(depth2d<float> t, device float4 *o) { o[0] = t.read(uint2(0)).xyzw; }

//- bad
kernel void k(texture2d<float> t, device float4 *o) { constexpr sampler s(filter::cubic); o[0] = t.sample(s, float2(0)); }

//- bad
kernel void k(texture2d<float> t, device float4 *o) { constexpr sampler s(address::mirror); o[0] = t.sample(s, float2(0)); }

//- bad
kernel void k(texture_buffer<float, access::sample> t, device float4 *o) { o[0] = 1; }

//- bad
kernel void k(texture_buffer<float> t, device float4 *o) { o[0] = t.read(uint2(0)); }

//- good
kernel void k(texture2d<float> t, device float4 *o, uint2 p [[thread_position_in_grid]]) { constexpr sampler s(coord::normalized, address::repeat, filter::linear, mip_filter::linear, max_anisotropy(4), lod_clamp(0.0f, 4.0f)); o[p.x] = t.sample(s, float2(p) / 8.0f, level(1)) + t.gather(s, float2(p)); }

//- good
kernel void k(array<texture2d<float, access::read>, 8> in [[texture(0)]], array<texture2d<float, access::write>, 2> out [[texture(8)]], uint2 p [[thread_position_in_grid]]) { float4 v = 0; for (uint i = 0; i < in.size(); i++) v += in[i].read(p); out[1].write(v, p); }

//- good
struct Material { texture2d<half> albedo [[id(0)]]; sampler s [[id(1)]]; constant float4 *tint [[id(2)]]; float gain [[id(3)]]; };
kernel void k(constant Material &m [[buffer(0)]], texture2d<half, access::write> out [[texture(0)]], ushort2 p [[thread_position_in_grid]]) { out.write(m.albedo.sample(m.s, float2(p)) * half4(m.tint[0]) * m.gain, p); }

//- good
kernel void k(device uint *o, uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]], uint width [[thread_execution_width]], uint3 g [[dispatch_threads_per_threadgroup]]) { o[p.z * n.x * n.y + p.y * n.x + p.x] = lane + width + g.x; }

//- good
kernel void k(device int *o, uint i [[thread_position_in_grid]]) { o[i] = int(i) << 2 | (i & 1 ? 3 : 4); o[i] ^= ~o[i]; o[i] %= 7; o[i] = o[i] > 3 && o[i] < 9 || !o[i]; o[i] += sizeof(int) + alignof(float4); }

//- good
template <typename T> struct is_big { static constant constexpr bool value = sizeof(T) > 2; };
template <typename T, typename = enable_if_t<is_big<T>::value>> T pick(T a, T) { return a; }
template <typename T, typename = enable_if_t<!is_big<T>::value>, int = 0> T pick(T, T b) { return b; }
kernel void k(device float *o, device half *h) { o[0] = pick(o[1], o[2]); h[0] = pick(h[1], h[2]); }

//- good
template <typename T> struct Op { T operator()(T a, T b) const { return a + b; } };
template <template <typename> class F, typename T> T apply(T a, T b) { return F<T>()(a, b); }
kernel void k(device float *o) { o[0] = apply<Op>(o[1], o[2]); }

//- good
template <int N> struct Fact { enum { value = N * Fact<N - 1>::value }; };
template <> struct Fact<0> { enum { value = 1 }; };
constexpr int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
kernel void k(device int *o) { int a[Fact<3>::value]; a[gcd(12, 8)] = 1; o[0] = a[4]; static_assert(gcd(12, 8) == 4, "gcd"); }

//- good
#define REPEAT4(X) X(0) X(1) X(2) X(3)
kernel void k(device float *o) {
#define ONE(i) o[i] = i;
  REPEAT4(ONE)
#undef ONE
}

//- good
typedef union { float f; uint u; half2 h; } bits;
kernel void k(device float *o) { bits b; b.f = o[0]; b.u ^= 0x80000000u; o[1] = b.f + b.h.x; }

//- good
kernel void k(device float *o, constant float *w [[buffer(1)]], threadgroup float *t [[threadgroup(0)]], uint l [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) { t[l] = w[l]; for (uint s = n / 2; s > 0; s >>= 1) { threadgroup_barrier(mem_flags::mem_threadgroup); if (l < s) t[l] += t[l + s]; } if (l == 0) o[0] = t[0]; }

//- good
kernel void k(device half4 *h, device float4 *f, device uchar4 *c) { h[0] = half4(half3(f[0].xyz), 1.0h); f[1] = float4(h[1]) * float4(c[0]) / 255.0f; c[1] = uchar4(round(saturate(f[2]) * 255.0f)); f[3] = select(f[4], f[5], f[4] > f[5]); f[6] = fma(f[7], 2.0f, f[8]); }

//- good
struct Stack { int top; float data[8]; void push(float x) { data[top++] = x; } float pop() { return data[--top]; } bool empty() const { return top == 0; } };
kernel void k(device float *o) { Stack s; s.top = 0; s.push(1); s.push(2); float sum = 0; while (!s.empty()) sum += s.pop(); o[0] = sum; }

//- good
namespace outer { struct Config { int a = 1; float b = 2.0f; }; inline namespace v1 { constexpr int twice(int x) { return 2 * x; } } }
kernel void k(device float *o) { outer::Config c; c.a = outer::twice(3); o[0] = c.a + c.b; }

//- good
enum Mode { fast_mode = 1, slow_mode = 1 << 4 };
constant Mode mode [[function_constant(0)]];
kernel void k(device float *o) { switch (mode) { case fast_mode: o[0] = 1; break; case slow_mode: o[0] = 2; [[fallthrough]]; default: o[1] = 3; } }

//- good
kernel void k(device float *o, device atomic_int *flag, uint i [[thread_position_in_grid]]) { int expected = 0; if (atomic_compare_exchange_weak_explicit(flag, &expected, 1, memory_order_relaxed, memory_order_relaxed)) o[i] = 1; atomic_fetch_or_explicit(flag, 4, memory_order_relaxed); threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup); }

//- good
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float v = o[i]; for (uint m = 16; m; m >>= 1) v += simd_shuffle_xor(v, ushort(m)); if (simd_is_first()) o[i] = v; uint b = uint((simd_vote::vote_t)simd_ballot(v > 0)); o[i] += popcount(b) + quad_sum(v) + simd_prefix_inclusive_sum(v) + simd_broadcast(v, 3) + simd_shuffle_up(v, 1); }

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_shuffle_xor(o[i]); }

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = warp_sum(o[i]); }

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { __syncthreads(); o[i] = 1; }

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { threadgroup_barrier(); o[i] = 1; }

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { threadgroup_barrier(mem_flags::mem_all); o[i] = 1; }

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float x = rsqrt(o[i], 2); o[i] = x; }

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = fmaf(1, 2, 3); }

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = expf(o[i]); }

//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = float4(o[i]); }

//- bad
kernel void k(device float3 *o, uint i [[thread_position_in_grid]]) { o[i] = {1, 2, 3, 4}; }

//- bad
kernel void k(device float *o) { int a[2] = {1, 2, 3}; o[0] = a[0]; }

//- bad
kernel void k(device float *o) { auto x; o[0] = x; }

//- bad
kernel void k(device float *o) { float x = 1.0.5; o[0] = x; }

//- bad
kernel void k(device float *o) { uint x = 08; o[0] = x; }

//- bad
struct A; 
kernel void k(device float *o) { A a; o[0] = sizeof(a); } // <-

//- bad
struct P { private: float x; };
kernel void k(device float *o) { P p; p.x = 1; o[0] = p.x; } // <-

//- bad
class Q { float x; };
kernel void k(device Q *q, device float *o) { o[0] = q->x; } // <-

//- bad
void f(const thread float &x) { x = 1; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
struct S { float v; void set(float x) const { v = x; } }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
template <typename T> T only_int(T x) { static_assert(is_integral_v<T>, "int"); return x; } // <-
kernel void k(device float *o) { o[0] = only_int(1.0f); }

//- bad
float f(float a, float b = 1, float c) { return a + b + c; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
int f(int x) { return x; }
float f(int x) { return x; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
int f(int x) { return x; }
int f(int y) { return y; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
struct S { int a; };
struct S { int b; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
using namespace undefined_namespace; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
typedef int myint;
kernel void k(device float *o) { myint myint2 = 1; myint3 x = 2; o[0] = x; } // <-

//- bad
enum E { A, B };
enum F { B, C }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- good
template <typename T> struct Box { T v; Box() thread = default; Box(const device T &x) thread { v = x; } Box(const constant T &x) thread { v = x; } Box(const device T &x) constant { v = x; } Box(const constant T &x) constant { v = x; } operator T() const thread { return v; } operator T() const constant { return v; } };
kernel void k(device float *o, constant float &c) { Box<float> a(o[1]), b(c); o[0] = float(a) + float(b); o[2] = sizeof(simdgroup_float8x8::storage_type) / sizeof(float); }

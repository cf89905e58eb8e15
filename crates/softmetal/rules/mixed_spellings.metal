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

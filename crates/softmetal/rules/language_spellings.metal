//# Spellings of rules on the language
//- bad
constant uint n [[function_constant(0)]];
kernel void k(device float *o) { threadgroup float a[n]; a[0] = 1; o[0] = a[0]; } // <-
//- bad
constant int n [[function_constant(0)]];
struct S { float a[n]; }; // <-
kernel void k(device float *o) { o[0] = sizeof(S); }
//- bad
constant int n [[function_constant(0)]];
kernel void k(device float *o) { constexpr int m = n + 1; o[0] = m; } // <-
//- bad
constant int n [[function_constant(0)]];
template <int N> struct A { int x[N]; };
kernel void k(device float *o) { A<n> a; o[0] = a.x[0]; } // <-
//- bad
constant bool n [[function_constant(0)]];
static_assert(n, "x"); // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
constant bool n [[function_constant(0)]];
kernel void k(device float *o) { if constexpr (n) o[0] = 1; } // <-
//- bad
constant bool n [[function_constant(0)]];
kernel void k(device float *o) { o[0] = conditional_t<n, int, float>(1); } // <-
//- bad
constant int n [[function_constant(0)]];
constant int m = n + 1;
kernel void k(device float *o) { switch (int(o[0])) { case m: o[0] = 2; break; } } // <-
//- bad
constant bool on [[function_constant(0)]] = true; // <-
kernel void k(device float *o) { if (on) o[0] = 1; }
//- bad
constant bool on [[function_constant(0)]] {true}; // <-
kernel void k(device float *o) { if (on) o[0] = 1; }
//- bad
struct P { int a; };
constant P p [[function_constant(1)]]; // <-
kernel void k(device float *o) { o[0] = p.a; }
//- bad
constant int a[2] [[function_constant(1)]]; // <-
kernel void k(device float *o) { o[0] = a[0]; }
//- good
constant int n [[function_constant(0)]];
constant bool has = is_function_constant_defined(n);
constant int m = has ? n : 4;
kernel void k(device float *o, device float *b [[buffer(1), function_constant(has)]]) { for (int i = 0; i < m; i++) o[i] = has ? b[i] : 0; }
//- good
static constant constexpr const bool x [[function_constant(0)]];
constant half h [[function_constant(1)]];
constant uchar4 c [[function_constant(2)]];
kernel void k(device float *o) { o[0] = x ? h : c.x; }
//- bad
kernel void k(device float *o) { unsigned long long x = 1; o[0] = x; }
//- bad
typedef long long i64; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *o) { long long int x = 1; o[0] = x; }
//- bad
kernel void k(device float *o) { long unsigned long x = 1; o[0] = x; }
//- bad
kernel void k(device float *o) { o[0] = sizeof(signed long long); }
//- bad
kernel void k(device float *o) { long double x = 1; o[0] = x; }
//- bad
kernel void k(device float *o) { goto end; end: o[0] = 1; }
//- bad
kernel void k(device float *o) { for (int i = 0; i < 2; i++) { outer: o[i] = 1; } }
//- bad
kernel void k(device float *o) { o[0] = 1; done:; }
//- bad
kernel void k(device float *o) { __asm__("nop"); o[0] = 1; }
//- bad
kernel void k(device float *o) { __asm__ volatile("" ::: "memory"); o[0] = 1; }
//- bad
ulong2 copy(threadgroup void *dst, ulong n) __asm("air.simdgroup_async_copy_1d.p3i8.p1i8"); // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
void f(register int x) {} // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *o) { for (register int i = 0; i < 2; i++) o[i] = 1; }
//- bad
constant bool b = noexcept(1); // <-
kernel void k(device float *o) { o[0] = b; }
//- bad
kernel void k(device float *o) { static int n = 0; o[0] = n++; }
//- bad
kernel void k(device float *o) { constexpr static float x = 1; o[0] = x; }
//- bad
float f() { static const int t[2] = {1, 2}; return t[0]; } // <-
kernel void k(device float *o) { o[0] = f(); }
//- good
float f() { static constant int t[2] = {1, 2}; return t[0]; }
float g() { constexpr int n = 2; const int m = 3; return n + m; }
kernel void k(device float *o) { o[0] = f() + g(); }
//- bad
float f(int n) { float a[n]; return a[0]; } // <-
kernel void k(device float *o) { o[0] = f(3); }
//- bad
kernel void k(device float *o, constant int &n) { float a[n + 1]; a[0] = 0; o[0] = a[0]; }
//- bad
struct S { float x; float tail[0]; }; // <-
kernel void k(device S *o) { o[0].x = 1; }
//- bad
kernel void k(device float *o) { threadgroup float a[0]; o[0] = sizeof(a); }
//- bad
kernel void k(device float *o) { float x = 1.5; int2 v = int2{int(x), 1}; int y = {x}; o[0] = v.x + y; }
//- bad
kernel void k(device float *o) { int i = 300; uchar c{i}; o[0] = c; }
//- bad
struct S { int a; uint b; };
kernel void k(device float *o) { int i = int(o[0]); S s = {i, i}; o[0] = s.b; } // <-
//- bad
kernel void k(device float *o) { float x = o[0]; int a[2] = {x, 1}; o[0] = a[0]; }
//- good
kernel void k(device float *o) { float a[2] = {1, 2}; half h = {1}; uchar c{7}; int i{3}; float f{2}; o[0] = a[0] + h + c + i + f; }
//- bad
kernel void k(device float *o) { float half = 1; o[0] = half; }
//- bad
void f(int half) {} // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
struct S { int kernel; }; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *o) { float vertex = 1, fragment = 2; o[0] = vertex + fragment; }
//- bad
kernel void k(device float *o) { uint thread = 1; o[0] = thread; }
//- bad
kernel void k(device float *o) { int bfloat = 1; o[0] = bfloat; }
//- bad
kernel void k(device float *o) { int kernel = 1; o[0] = kernel; }
//- bad 310
kernel void k(device float *o) { o[0] = [](float x) { return x; }(1); }
//- bad 310
kernel void k(device float *o) { float y = 2; auto f = [&](float x) { return x + y; }; o[0] = f(1); }
//- bad 300
kernel void k(device float *o) { auto f = [=]() { return 1; }; o[0] = f(); }
//- good 320
kernel void k(device float *o) { float y = 2; auto f = [&](float x) { return x + y; }; o[0] = f(1); }
//- bad 320
template <typename T> struct A { T x; A(T v) : x(v) {} };
kernel void k(device float *o) { A a(1.0f); o[0] = a.x; } // <-
//- good 400
template <typename T> struct A { T x; A(T v) : x(v) {} };
kernel void k(device float *o) { A a(1.0f); o[0] = a.x; }
//- bad
template <typename T, int N> kernel void k(device T *o, constant int &n) { o[0] = T(N); }
template [[host_name("k1")]] kernel void k<float, 1>(device float *o, constant uint &n); // <-
//- bad
template <typename T> kernel void k(device T *o, uint i [[thread_position_in_grid]]) { o[i] = T(1); }
template [[host_name("k1")]] kernel void k<float>(device half *o, uint i [[thread_position_in_grid]]); // <-
//- bad
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
template [[host_name("k1")]] kernel void k<float>(device float *o, device float *p); // <-
//- bad
kernel void a [[host_name("x")]] (device float *o) { o[0] = 1; }
[[host_name("x")]] kernel void b(device float *o) { o[0] = 1; } // <-
//- bad
class A { public: virtual int f() { return 1; } }; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *o) { try { o[0] = 1; } catch (...) {} }
//- bad
kernel void k(device float *o) { o[0] = sizeof(double); }
//- bad
kernel void k(device float *o) { auto p = new float[3]; o[0] = p[0]; }
//- bad
thread_local int x; // <-
kernel void k(device float *o) { o[0] = 1; }
//- good
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
kernel void k(device int *o) { o[0] = fib(5); }
//- good 320
static_assert(__cplusplus == 201402L, "");
kernel void k(device int *o) { o[0] = 1; }
//- good 310
static_assert(__cplusplus == 201402L, "");
kernel void k(device int *o) { o[0] = 1; }
//- good 400
static_assert(__cplusplus == 201703L, "");
kernel void k(device int *o) { o[0] = 1; }
//- good
#ifdef __METAL_MACOS__
#error defined
#endif
#if !defined(__HAVE_SIMDGROUP_MATRIX__) || !defined(__HAVE_ATOMIC_FLOAT__) || !defined(__HAVE_BFLOAT__) || !defined(__clang__) || !defined(__METAL__)
#error missing
#endif
kernel void k(device int *o) { o[0] = __clang_major__; }
//- good
#if __METAL_VERSION__ < 320
#error
#endif
#ifndef __HAVE_SIMDGROUP_REDUCTION__
#error
#endif
kernel void k(device int *o) { o[0] = 1; }
//- good
#include <metal_texture>
#include <metal_graphics>
#include <metal_visible_function_table>
#include <metal_atomic>
#include <metal_math>
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>
#include <metal_logging>
#include <metal_compute>
#include <metal_integer>
#include <metal_pack>
#include <metal_array>
#include <metal_matrix>
#include <metal_geometric>
#include <metal_common>
#include <metal_relational>
#include <metal_numeric>
#include <metal_limits>
#include <metal_type_traits>
#include <metal_utility>
#include <metal_uniform>
#include <metal_quadgroup>
#include <metal_types>
#include <metal_extended_vector>
#include <metal_config>
#include <metal_initializer_list>
#include <metal_command_buffer>
#include <metal_interpolate>
#include <metal_tessellation>
#include <simd/simd.h>
kernel void k(device int *o) { o[0] = 1; }
//- good
#include <metal_mesh>
#include <metal_raytracing>
kernel void k(device int *o) { o[0] = 1; }
//- good 400
#include <metal_tensor>
kernel void k(device int *o) { o[0] = 1; }
//- good 400
#include <metal_tensor>
kernel void k(tensor<device half, dextents<int, 2>> t [[buffer(0)]], device int *o [[buffer(1)]]) { o[0] = 1; }
//- good 400
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
kernel void k(device int *o) { o[0] = 1; }
//- good
float total(std::initializer_list<float> l) { float s = 0; for (auto x : l) s += x; return s; }
kernel void k(device float *o) { o[0] = total({1.0f, 2.0f}); }
//- good
float total(initializer_list<float> l) { return l.size(); }
kernel void k(device float *o) { o[0] = total({1.0f, 2.0f}); }
//- good
[[visible]] float f(float x) { return x; }
kernel void k(visible_function_table<float(float)> t [[buffer(0)]], device float *o [[buffer(1)]]) { o[0] = t[0](1.0f); }
//- bad
constant int n [[function_constant(0)]](3); // <-
kernel void k(device float *o) { o[0] = n; }
//- bad
constant float4x4 m [[function_constant(0)]]; // <-
kernel void k(device float *o) { o[0] = m[0][0]; }
//- bad
constant array<float, 4> a [[function_constant(0)]]; // <-
kernel void k(device float *o) { o[0] = a[0]; }
//- bad
struct S { float x; };
typedef S T;
constant T s [[function_constant(0)]]; // <-
kernel void k(device float *o) { o[0] = s.x; }
//- bad
kernel void k(device float *o) { switch (int(o[0])) { case 1: label: o[0] = 1; } }
//- bad 310
constant auto f = [](float x) { return x; };
//- bad
float half(float x) { return x / 2; } // <-
kernel void k(device float *o) { o[0] = half(1); }
//- bad
enum { half, full };
//- bad
namespace half { constant int x = 1; }
//- bad
struct fragment { int x; };
//- bad
enum { vertex, edge };
//- bad
kernel void k(device float *o) { int vertex = 0; vertex++; o[vertex] = 1; }
//- bad
kernel void k(device float *o) { float4 fragment(1); o[0] = fragment.x; }
//- bad
kernel void k(device float *o, uint thread [[thread_position_in_grid]]) { o[thread] = 1; }
//- good
[[kernel]] void a(device half *o) { o[0] = half(1) + half{2}; }
template <typename T> kernel void b(device T *o) { o[0] = T(1); }
template [[host_name("bh")]] [[kernel]] void b<half>(device half *);
[[vertex]] float4 v(uint i [[vertex_id]]) { return float4(i); }
[[host_name("c"), kernel]] void c(device half *o, constant vec<half, 2> &x) { o[0] = x.y; }
//- good
#include <metal_raytracing>
using namespace raytracing;
kernel void k(device float *o) { o[0] = 1'000 + 0x1'0 + 1'0.5f; }

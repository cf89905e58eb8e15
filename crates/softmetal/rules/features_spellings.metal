//# Spellings of rules on language versions and GPU families
//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_max(o[i]); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_product(o[i]); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = float(simd_xor(i)); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_prefix_inclusive_sum(o[i]); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_shuffle_rotate_up(o[i], 1); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_broadcast_first(o[i]); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = float(simd_is_first()); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = float(simd_all(i > 3)); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = quad_broadcast(o[i], 1); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = quad_shuffle_xor(o[i], 1); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = median3(o[i], 1.0f, 2.0f); }

//- good 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_broadcast(o[i], 0) + simd_shuffle_xor(o[i], 1) + simd_shuffle_down(o[i], 1); }

//- good 210
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_max(o[i]) + simd_prefix_exclusive_product(o[i]) + quad_sum(o[i]) + simd_broadcast_first(o[i]) + float(simd_any(i > 3)) + min3(i, 1u, 2u) + mul24(3, 4); }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]], uint q [[thread_index_in_quadgroup]]) { o[i] = q; }

//- bad 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = metal::simd_min(o[i]); }

//- bad 200
#define REDUCE simd_sum
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = REDUCE(o[i]); } // <-

//- bad 210
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { long x = 1; o[i] = x; }

//- bad 210
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = ulong(i); }

//- bad 210
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { long2 x = long2(1); o[i] = x.x; }

//- bad 210
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { int64_t x = 1; o[i] = x; }

//- good 220
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { long x = 1; ulong2 y = ulong2(2); uint64_t z = 3; o[i] = x + y.x + z; }

//- good 210
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { size_t n = sizeof(float); o[i] = n; }

//- bad 220
kernel void k(device int64_t *o) { o[0] = 1; }

//- bad 220
kernel void k(device long2 *o) { o[0] = long2(1); }

//- bad 220
kernel void k(device float *o, constant ulong &c) { o[0] = c; }

//- bad 220
kernel void k(long device *o) { o[0] = 1; }

//- bad 220
struct S { int a; long b; };
kernel void k(device S *o) { o[0].b = 1; } // <-

//- bad 220
typedef ulong word;
kernel void k(device word *o) { o[0] = 1; } // <-

//- bad 220
using word = vec<long, 2>;
struct S { word w; };
kernel void k(device float *o, constant S &c) { o[0] = c.w.x; } // <-

//- good 220
struct S { int a; long b; };
kernel void k(device float *o) { S s = {1, 2}; o[0] = s.b; }

//- good 230
struct S { int a; long b; };
kernel void k(device S *o) { o[0].b = 1; }

//- bad 220
kernel void k(device half *o) { simdgroup_half8x8 m; simdgroup_load(m, o, 8); simdgroup_store(m, o, 8); }

//- good 230
kernel void k(device half *o) { simdgroup_half8x8 m; simdgroup_load(m, o, 8); simdgroup_store(m, o, 8); }

//- bad 220
kernel void k(device float *o) { auto m = make_filled_simdgroup_matrix<float, 8, 8>(1.0f); simdgroup_store(m, o, 8); }

//- bad 220
[[visible]] float f(float x) { return x; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- good 230
[[visible]] float f(float x) { return x; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad 230
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_shuffle_and_fill_up(o[i], 0.0f, 1); }

//- good 240
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_shuffle_and_fill_up(o[i], 0.0f, 1); }

//- bad 230
kernel void k(device atomic_bool *b) { atomic_store_explicit(b, true, memory_order_relaxed); }

//- good 240
kernel void k(device atomic_bool *b) { atomic_store_explicit(b, true, memory_order_relaxed); }

//- bad 230
kernel void k(device atomic<bool> *b) { atomic_store_explicit(b, true, memory_order_relaxed); }

//- good 240
kernel void k(device atomic<bool> *b) { atomic_store_explicit(b, true, memory_order_relaxed); }

//- bad 230
kernel void k(device atomic<unsigned long> *b) { atomic_min_explicit(b, 1ul, memory_order_relaxed); }

//- bad 240
kernel void k(device atomic_float *b) { atomic_fetch_add_explicit(b, 1.0f, memory_order_relaxed); }

//- good 300
kernel void k(device atomic_float *b) { atomic_fetch_add_explicit(b, 1.0f, memory_order_relaxed); }

//- bad 300
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { bfloat4 v = bfloat4(1.0bf); o[i] = v.x; }

//- bad 300
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = float(1.5bf); }

//- bad 300
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { vec<bfloat, 2> v; o[i] = float(v.x); }

//- bad 300
kernel void k(device packed_bfloat2 *o) { o[0] = o[1]; }

//- bad 300
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = nextafter(o[i], 2.0f); }

//- bad 300
kernel void k(texture2d<uint, access::read_write> t [[texture(0)]]) { t.atomic_fetch_add(uint2(0), 1u); }

//- good 310
kernel void k(texture2d<uint, access::read_write> t [[texture(0)]]) { t.atomic_fetch_add(uint2(0), 1u); }

//- bad 310
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst); o[i] = 1; }

//- good 320
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst); o[i] = 1; }

//- bad 310
kernel void k(coherent(device) device float *o, uint i [[thread_position_in_grid]]) { o[i] = 1; }

//- good 320
kernel void k(coherent(device) device float *o, uint i [[thread_position_in_grid]]) { o[i] = 1; }

//- bad 310
#include <metal_logging>
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { os_log_default.log_debug("%u", i); o[i] = 1; } // <-

//- good 320
#include <metal_logging>
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { os_log_default.log_debug("%u", i); o[i] = 1; } // <-

//- bad 320
#include <metal_tensor>
kernel void k(tensor<device half, dextents<int, 2>> t [[buffer(0)]], device int *o [[buffer(1)]]) { o[0] = 1; } // <-

//- good 400
#include <metal_tensor>
kernel void k(tensor<device half, dextents<int, 2>> t [[buffer(0)]], device int *o [[buffer(1)]]) { o[0] = 1; } // <-

//- good 200
namespace my { float min3(float a, float b, float c) { return min(a, min(b, c)); } }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = my::min3(o[i], 1.0f, 2.0f); }

//- good 200
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { float simd_sum = o[i]; o[i] = simd_sum + 1; }

//- good 200
struct S { float quad_sum; };
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { S s = {1}; o[i] = s.quad_sum; }

//- bad 320 mac2
kernel void k(device float *o) { auto m = make_filled_simdgroup_matrix<float, 8, 8>(1.0f); simdgroup_store(m, o, 8); }

//- bad 320 mac2
typedef simdgroup_half8x8 tile; // <-
kernel void k(device half *o) { tile t; simdgroup_store(t, o, 8); }

//- bad 320 mac2
template <typename T> void f(device T *o) { simdgroup_matrix<T, 8, 8> m; simdgroup_load(m, o, 8); simdgroup_store(m, o, 8); } // <-
kernel void k(device float *o) { f(o); }

//- bad 320 mac2
kernel void k(device packed_bfloat2 *o) { o[0] = o[1]; }

//- bad 320 mac2
kernel void k(device float *o) { o[0] = float(1.0bf); }

//- bad 320 mac2
template <typename T> kernel void k(device T *o) { o[0] = o[1]; }
template [[host_name("kb")]] kernel void k<bfloat>(device bfloat *o); // <-

//- bad 320 mac2
template <typename T> kernel void k(device T *o) { o[0] = o[1]; }
template [[host_name("kb")]] kernel decltype(k<vec<bfloat, 4>>) k<vec<bfloat, 4>>; // <-

//- bad 320 mac2
kernel void k(device atomic<ulong> *o) { atomic_max_explicit(o, 1ul, memory_order_relaxed); }

//- bad 320 apple7
kernel void k(device atomic<unsigned long> *o) { atomic_min_explicit(o, 1ul, memory_order_relaxed); }

//- good 320 mac2
kernel void unused(device half *o) { o[0] = o[1]; }
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_max(o[i]); }

//- good 320 mac2
kernel void k(device atomic<uint> *o) { atomic_fetch_max_explicit(o, 1u, memory_order_relaxed); }

//- good 320 apple7
kernel void k(device bfloat *o) { simdgroup_bfloat8x8 m; simdgroup_load(m, o, 8); simdgroup_store(m, o, 8); }

//- good 320 mac2
template <typename T> kernel void k(device T *o) { o[0] = o[1]; }
template [[host_name("kh")]] kernel void k<half>(device half *o);

//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_sum(o[i] > 0.0f); }

//- bad
kernel void k(device uint *o, uint i [[thread_index_in_simdgroup]]) { bool2 b = bool2(true); o[i] = simd_or(b).x; }

//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { size_t n = i; o[i] = simd_max(n); }

//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { int64_t n = i; n = simd_prefix_exclusive_sum(n); o[i] = n; }

//- bad
kernel void k(device ulong *o, uint i [[thread_index_in_simdgroup]]) { auto x = o[i]; x += simd_shuffle_up(x, 1); o[i] = x; }

//- bad
template <typename T> T total(T x) { return simd_sum(x); } // <-
kernel void k(device long *o, uint i [[thread_index_in_simdgroup]]) { o[i] = total(o[i]); }

//- good
template <typename T> T total(T x) { return simd_sum(x); }
kernel void k(device float *o, device int4 *v, device char2 *c, uint i [[thread_index_in_simdgroup]]) { o[i] = total(o[i]); v[i] = total(v[i]); c[i] = total(c[i]); }

//- bad
kernel void k(device bfloat4 *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_sum(o[i]); }

//- good
kernel void k(device bfloat *o, uint i [[thread_index_in_simdgroup]]) { o[i] = bfloat(simd_sum(float(o[i]))); o[i] = as_type<bfloat>(simd_shuffle_xor(as_type<ushort>(o[i]), 1)); }

//- bad
kernel void k(device half *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_xor(o[i]); }

//- bad
struct Pair { float v; int i; };
kernel void k(device Pair *o, uint i [[thread_index_in_simdgroup]]) { Pair p = o[i]; p = simd_shuffle_xor(p, 4); o[i] = p; } // <-

//- good
struct Pair { float v; int i; };
kernel void k(device Pair *o, uint i [[thread_index_in_simdgroup]]) { Pair p = o[i]; p.v = simd_shuffle_xor(p.v, 4); p.i = simd_shuffle_xor(p.i, 4); o[i] = p; }

//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_shuffle(o, 1)[0]; }

//- bad
kernel void k(device float3x3 *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_broadcast(o[i], 0); }

//- good
kernel void k(device uint *o, uint i [[thread_index_in_simdgroup]]) { simd_vote v = simd_ballot(o[i] > 3); ulong m = (simd_vote::vote_t)v; bool a = simd_all(i < 3) || simd_any(i > 4); o[i] = uint(m) + a + simd_is_first() + popcount(uint(m)) + simd_shuffle_and_fill_up(o[i], 7u, 2) + simd_shuffle_rotate_down(o[i], 1); }

//- bad
kernel void k(device float *o) { simdgroup_matrix<char, 8, 8> m; simdgroup_load(m, (device char *)o, 8); }

//- bad
kernel void k(device float *o) { simdgroup_matrix<float, 8, 16> m; simdgroup_load(m, o, 8); }

//- bad
kernel void k(device half *o, threadgroup float *t) { simdgroup_half8x8 m(0); simdgroup_store(m, t, 8); simdgroup_store(m, o, 8); }

//- bad
kernel void k(device float *o) { thread float tile[64] = {0}; simdgroup_float8x8 m; simdgroup_load(m, &tile[0], 8); simdgroup_store(m, o, 8); }

//- bad
using Acc = simdgroup_matrix<int, 8, 8>;
kernel void k(device int *o) { Acc a; simdgroup_store(a, o, 8); } // <-

//- good
kernel void k(device float *o, device half *h, threadgroup half *t) { simdgroup_matrix<float, 8, 8> acc[2][2]; simdgroup_half8x8 a, b; simdgroup_load(a, h, 64, 0, true); simdgroup_load(b, t, 8, ulong2(1, 2)); for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) { acc[i][j] = simdgroup_float8x8(0.0f); simdgroup_multiply_accumulate(acc[i][j], a, b, acc[i][j]); simdgroup_store(acc[i][j], o, 8); } acc[0][0].thread_elements()[0] = 1; }

//- good
kernel void k(device bfloat *o) { simdgroup_bfloat8x8 a; simdgroup_load(a, o, 8); simdgroup_matrix<bfloat, 8, 8> b(a); simdgroup_float8x8 c(0); simdgroup_multiply_accumulate(c, a, b, c); simdgroup_multiply(c, a, b); }

//- bad
kernel void k(device atomic_uint *o, device uint *u) { u[0] = o[0]; }

//- bad
kernel void k(device atomic_int *o) { o[0]++; }

//- bad
kernel void k(device atomic_int *o) { o[0] += 1; }

//- bad
kernel void k(device atomic_int *o, device int *p) { if (o[0] == 1) p[0] = 1; }

//- bad
kernel void k(device atomic_uint *o) { atomic_fetch_add_explicit(o, 1u); }

//- bad
kernel void k(device atomic_uint *o) { threadgroup uint e; atomic_compare_exchange_weak_explicit(o, &e, 1u, memory_order_relaxed, memory_order_relaxed); }

//- bad
kernel void k(device atomic_uint *o) { uint e = 0; atomic_compare_exchange_weak_explicit(o, e, 1u, memory_order_relaxed, memory_order_relaxed); }

//- bad
kernel void k(device atomic_uint *o) { uint e = 0; atomic_compare_exchange_strong_explicit(o, &e, 1u, memory_order_relaxed, memory_order_relaxed); }

//- bad
kernel void k(device atomic<uint2> *o) { atomic_store_explicit(o, uint2(1), memory_order_relaxed); }

//- bad
kernel void k(device const atomic_uint *o) { atomic_store_explicit(o, 1u, memory_order_relaxed); }

//- bad
struct Counter { atomic_uint n; };
kernel void k(device float *o) { Counter c; atomic_fetch_add_explicit(&c.n, 1u, memory_order_relaxed); o[0] = 1; } // <-

//- bad
kernel void k(device float *o) { atomic_int a[4]; atomic_store_explicit(&a[1], 1, memory_order_relaxed); o[0] = 1; }

//- bad
kernel void k(threadgroup atomic_float &t) { atomic_fetch_add_explicit(&t, 1.0f, memory_order_relaxed); }

//- bad
void add(volatile threadgroup atomic<float> *t, float x) { atomic_fetch_add_explicit(t, x, memory_order_relaxed); } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device atomic_float *o) { atomic_fetch_or_explicit(o, 1, memory_order_relaxed); }

//- bad
kernel void k(device atomic_ulong *o, device ulong *p) { ulong x = atomic_exchange_explicit(o, p[0], memory_order_relaxed); p[1] = x; }

//- bad
kernel void k(device atomic_int *o) { atomic_max_explicit(o, 1, memory_order_relaxed); }

//- bad
kernel void k(device atomic_uint *o) { constexpr auto order = memory_order_seq_cst; atomic_fetch_add_explicit(o, 1u, order); }

//- bad
typedef atomic<int64_t> counter;
kernel void k(device counter *o) { atomic_fetch_add_explicit(o, 1l, memory_order_relaxed); } // <-

//- good
kernel void k(device atomic_uint *o, threadgroup atomic_int *t, device atomic_float *f, device atomic<uint> &r, const device atomic_uint *c, device uint *p) { uint e = 0; p[0] = atomic_load_explicit(c, memory_order_relaxed) + atomic_load_explicit(&o[1], memory_order::memory_order_relaxed); atomic_fetch_max_explicit(t, -1, memory_order_relaxed); atomic_fetch_add_explicit(&r, 1, memory_order_relaxed); float x = atomic_exchange_explicit(f, 2.0f, memory_order_relaxed); atomic_fetch_sub_explicit(f, x, memory_order_relaxed); p[1] = atomic_compare_exchange_weak_explicit(o + 2, &e, 1u, memory_order_relaxed, memory_order_relaxed); }

//- good
kernel void k(device atomic_ulong *o, device atomic<ulong> &p) { atomic_max_explicit(o, 1ul, memory_order_relaxed); atomic_min_explicit(&p, 2ul, memory_order_relaxed); }

//- bad 230
kernel void k(device atomic_bool *o) { atomic_store_explicit(o, true, memory_order_relaxed); }

//- bad 220
[[visible]] float f(float x) { return x; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad 300
kernel void k(texture2d<uint, access::read_write> t) { t.atomic_fetch_add(uint2(0), 1u); }

//- bad 310
template <typename F> float apply(F f) { return f(2.0f); }
kernel void k(device float *o) { o[0] = apply([](float x) { return x * x; }); } // <-

//- good 320
template <typename F> float apply(F f) { return f(2.0f); }
kernel void k(device float *o) { o[0] = apply([](float x) { return x * x; }) + apply([](auto x) { return x; }); float a = 1; auto add = [a](float b) { return a + b; }; o[1] = add(2); }

//- bad 220
struct Big { int n; ulong address; };
kernel void k(device Big *b) { b->address = 1; } // <-

//- bad 320
template <auto N> struct A { int x[N]; }; // <-
kernel void k(device float *o) { A<4> a; a.x[0] = 1; o[0] = a.x[0]; }

//- good
namespace a::b { constant int n = 3; }
template <typename... T> int count(T...) { return sizeof...(T); }
template <typename... T> float sum(T... x) { return (x + ...); }
struct P { int x; float y; };
kernel void k(device float *o) { if constexpr (sizeof(float) == 4) o[0] = a::b::n; if (int n = count(1, 2); n > 1) o[1] = n; P p = {.x = 1, .y = 2}; auto [x, y] = p; o[2] = x + y + sum(1, 2, 3); static_assert(true); [[maybe_unused]] int u = 1'000 + 0b101; o[3] = 0x1p3f; }

//- bad
template <typename T> requires(sizeof(T) == 4) T f(T x) { return x; } // <-
kernel void k(device float *o) { o[0] = f(1.0f); }

//- bad
#include <vector> // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
#include "not_there.h" // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
#error "not on this machine" // <-
kernel void k(device float *o) { o[0] = 1; }

//- good
#include <simd/simd.h>
#include <metal_atomic>
#include <metal_simdgroup_matrix>
#include <metal_compute>
struct U { vector_float4 a; matrix_float4x4 m; simd_float2 s; vector_uint2 n; };
kernel void k(device float *o, constant U &u) { o[0] = u.a.x + u.m.columns[0].x + u.s.y + u.n.x; }

//- good
#include <metal_integer>
#include <metal_math>
#include <metal_matrix>
#include <metal_geometric>
#include <metal_common>
#include <metal_relational>
#include <metal_pack>
#include <metal_array>
#include <metal_types>
#include <metal_limits>
#include <metal_type_traits>
#include <metal_utility>
#include <metal_logging>
#include <metal_uniform>
#include <metal_quadgroup>
#include <metal_simdgroup>
#include <metal_extended_vector>
#include <metal_imageblocks>
#include <metal_initializer_list>
#include <metal_command_buffer>
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { const int n = 4; n = 5; o[0] = n; }

//- bad
kernel void k(device float *o) { switch (int(o[0])) { case 1: o[0] = 1; break; case 1: o[0] = 2; } }

//- bad
kernel void k(device float *o) { break; }

//- bad
float f() { return; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { double x = 1.0; o[0] = x; }

//- bad
typedef double real; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { int a[3]; int n = 3; int (*p)[n] = nullptr; o[0] = a[0] + (p == nullptr); }

//- bad
kernel void k(device float *o) { float empty[0] = {}; o[0] = sizeof(empty); }

//- bad
struct Empty { int pad[0]; }; // <-
kernel void k(device float *o) { o[0] = sizeof(Empty); }

//- bad
kernel void k(device float *o) { void *table[] = {&&a}; a: o[0] = 1; }

//- bad
kernel void k(device float *o) { if (o[0] > 0) goto done; o[0] = 1; done: return; }

//- bad
kernel void k(device float *o) { try { o[0] = 1; } catch (...) { } }

//- bad
struct S { virtual float f() { return 1; } }; // <-
kernel void k(device float *o) { S s; o[0] = s.f(); }

//- bad
thread_local int x = 1; // <-
kernel void k(device float *o) { o[0] = x; }

//- good
struct Base { float v; float twice() const { return v * 2; } };
struct Derived : Base { explicit Derived(float x) { v = x; } explicit operator float() const { return v; } friend float peek(thread const Derived &d); mutable int count = 0; };
float peek(thread const Derived &d) { return d.v; }
kernel void k(device float *o) { Derived d(2); o[0] = d.twice() + float(d) + peek(d); d.count++; }

//- good
__attribute__((always_inline)) float a(float x) { return x; }
__attribute__((noinline)) float b(float x) { return x; }
[[clang::always_inline]] inline float c(float x) { return x; }
[[gnu::always_inline]] [[nodiscard]] static inline float d(float x) { return x; }
decltype(auto) e(float x) { return x; }
constexpr int fact(int n) { int r = 1; for (int i = 2; i <= n; i++) r *= i; return r; }
kernel void k(device float *o) { float t[fact(3)]; t[0] = a(1) + b(2) + c(3) + d(4) + e(5); o[0] = t[0]; }

//- bad
constant bool flag [[function_constant(0)]];
kernel void k(device float *o) { float a[flag ? 4 : 8]; a[0] = 1; o[0] = a[0]; } // <-

//- bad
constant int n [[function_constant(0)]];
enum { size = n }; // <-
kernel void k(device float *o) { o[0] = size; }

//- bad
constant int n [[function_constant(0)]];
struct S { uint x : n; }; // <-
kernel void k(device float *o) { S s; s.x = 1; o[0] = s.x; }

//- bad
constant int n [[function_constant(0)]];
template <int N = n> float f() { return N; } // <-
kernel void k(device float *o) { o[0] = f(); }

//- bad
constant int n [[function_constant(0)]];
constant int doubled = n * 2;
kernel void k(device float *o) { threadgroup float t[doubled]; t[0] = 1; o[0] = t[0]; } // <-

//- bad
constant float4x4 m [[function_constant(0)]]; // <-
kernel void k(device float *o) { o[0] = m[0][0]; }

//- bad
constant int n [[function_constant(65536)]]; // <-
kernel void k(device float *o) { o[0] = n; }

//- bad
constant int n [[function_constant(-1)]]; // <-
kernel void k(device float *o) { o[0] = n; }

//- bad
bool flag [[function_constant(0)]]; // <-
kernel void k(device float *o) { o[0] = flag; }

//- bad
kernel void k(device float *o) { constant int n [[function_constant(0)]]; o[0] = n; }

//- bad
kernel void k(device float *o, device float *b [[buffer(1), function_constant(nothing)]]) { o[0] = b[0]; }

//- good
constant bool has_t [[function_constant(0)]];
constant bool lacks_t = !has_t;
constant float4 tint [[function_constant(1)]];
constant float2 fallback = is_function_constant_defined(tint) ? tint.xy : float2(1);
kernel void k(device float4 *o, texture2d<float> t [[texture(0), function_constant(has_t)]], device float4 *b [[buffer(1), function_constant(lacks_t)]]) { o[0] = has_t ? t.read(uint2(0)) : b[0]; o[1] = float4(fallback, 0, 0); }

//- bad
kernel void k(texture2d<float> t, device float4 *o) { o[0] = t.read(float2(0)); }

//- bad
kernel void k(texture2d<float> t, sampler s, device float4 *o) { o[0] = t.sample(s, uint2(0)); }

//- bad
kernel void k(texture2d<float> t, device float4 *o) { o[0] = t.sample(float2(0)); }

//- bad
kernel void k(texture2d<float, access::write> t) { t.write(half4(1), uint2(0)); }

//- bad
kernel void k(texture2d<float> t, device float4 *o) { o[0] = t.read(uint3(0)); }

//- bad
kernel void k(texture2d<float4> t, device float4 *o) { o[0] = 1; }

//- bad
kernel void k(texture2d<uchar> t, device float4 *o) { o[0] = 1; }

//- bad
kernel void k(depth2d<uint> t, device float4 *o) { o[0] = 1; }

//- bad
kernel void k(texture2d<float> t, device float *o) { o[0] = t.get_depth(); }

//- bad
kernel void k(texture2d<float> t, device float *o) { o[0] = t.get_array_size(); }

//- bad
kernel void k(texture2d<float> t, device float *o) { o[0] = t.get_num_samples(); }

//- bad
kernel void k(texturecube<float> t, sampler s, device float4 *o) { o[0] = t.sample(s, float2(0)); }

//- bad
kernel void k(texture2d_array<float> t, sampler s, device float4 *o) { o[0] = t.sample(s, float2(0)); }

//- bad
kernel void k(texture2d<float> t, sampler s, device float *o) { o[0] = t.sample_compare(s, float2(0), 0.5f); }

//- bad
kernel void k(texture2d_ms<float, access::write> t, device float *o) { o[0] = 1; }

//- bad
kernel void k(depth2d<float, access::read_write> t, device float *o) { o[0] = 1; }

//- bad
kernel void k(texture2d<float> t, device float4 *o) { o[0] = t[0]; }

//- bad
kernel void k(texture2d<float> t, device float4 *o) { sampler s(filter::linear); o[0] = t.sample(s, float2(0)); }

//- bad
kernel void k(texture2d<float, access::read> t, device float4 *o) { t.fence(); o[0] = t.read(uint2(0)); }

//- good
kernel void k(texture2d<float, access::read_write> t, texture2d<int> u, texture2d_array<half> a, texturecube<float> c, depth2d<float> d, texture2d_ms<float> m, texture1d<float> l, texture3d<float> v, sampler s, device float4 *o, uint2 p [[thread_position_in_grid]]) {
  t.write(float4(1), p); t.fence(); o[0] = t.read(p); o[1] = float4(u.read(p)) + float4(a.sample(s, float2(0), 1)) + c.sample(s, float3(1));
  o[2] = d.sample_compare(s, float2(0), 0.5f) + m.read(p, 1) + l.sample(s, 0.5f) + v.read(uint3(0)) + v.sample(s, float3(0), level(1));
  o[3] = t.get_width() + a.get_array_size() + v.get_depth() + m.get_num_samples() + u.get_num_mip_levels(); }

//- good
float4 fetch(texture2d<float> t, sampler s, float2 p) { return t.sample(s, p); }
half4 fetch(texture2d<half, access::read> t, uint2 p) { return t.read(p); }
constexpr sampler nearest(coord::pixel, filter::nearest, address::clamp_to_zero);
kernel void k(texture2d<float> t [[texture(0)]], texture2d<half, access::read> h [[texture(1)]], texture2d<float, access::write> w [[texture(2)]], uint2 p [[thread_position_in_grid]]) { if (p.x >= w.get_width() || p.y >= w.get_height()) return; w.write(fetch(t, nearest, float2(p)) + float4(fetch(h, p)), p); }

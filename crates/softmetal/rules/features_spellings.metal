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

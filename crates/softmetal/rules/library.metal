//# Dot products
//# Geometric functions take floating-point vectors.
//! dot
//- bad
kernel void k(device int *o) { o[0] = dot(int2(1), int2(2)); }
//- bad
kernel void k(device uint *o) { uint4 v = uint4(1); o[0] = dot(v, v); }
//- good
kernel void k(device float *o, device half *h) { o[0] = dot(float3(1), float3(2)); h[0] = dot(half2(1), half2(2)); }

//# Types of simd functions
//# Simd and quad functions take 8-, 16- and 32-bit integers, half and float, and vectors of them; not bool, 64-bit integers, bfloat, or structs.
//! simd and quad functions take integers | this simd function takes integers
//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_sum(i > 3); }
//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { bool b = simd_broadcast(i > 3, 0); o[i] = b; }
//- bad
kernel void k(device long *o, uint i [[thread_position_in_grid]]) { o[i] = simd_sum(o[i]); }
//- bad
kernel void k(device ulong *o, uint i [[thread_position_in_grid]]) { o[i] = simd_shuffle_xor(o[i], 1); }
//- bad
kernel void k(device bfloat *o, uint i [[thread_position_in_grid]]) { o[i] = simd_max(o[i]); }
//- bad
struct S { float x, y; };
kernel void k(device S *o, uint i [[thread_position_in_grid]]) { o[i] = simd_shuffle_down(o[i], 1); } // <-
//- bad
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_xor(o[i]); }
//- bad
kernel void k(device long *o, uint i [[thread_position_in_grid]]) { o[i] = quad_sum(o[i]); }
//- good
kernel void k(device float *o, device uint2 *u, uint i [[thread_position_in_grid]]) { o[i] = simd_sum(o[i]) + simd_xor(i); u[i] = simd_shuffle_xor(u[i], 1); if (simd_any(i > 3)) o[i] = 0; }

//# Simdgroup matrices
//# A simdgroup matrix is of half, bfloat or float, and is loaded from device or threadgroup memory of that type.
//! simdgroup matri | address spaces do not match
//- bad
kernel void k(device int *o) { simdgroup_matrix<int, 8, 8> m; simdgroup_load(m, o, 8); simdgroup_store(m, o, 8); }
//- bad
kernel void k(device half *o) { simdgroup_float8x8 m; simdgroup_load(m, o, 8); }
//- bad
kernel void k(device float *o) { float a[64]; simdgroup_float8x8 m; simdgroup_load(m, a, 8); simdgroup_store(m, o, 8); }
//- good
kernel void k(device float *o, device half *h) { simdgroup_float8x8 m; simdgroup_half8x8 n; simdgroup_load(m, o, 8); simdgroup_load(n, h, 8); simdgroup_multiply_accumulate(m, n, n, m); simdgroup_store(m, o, 8); }

//# Types of atomics
//# Atomics are int, uint, bool, float and ulong. fetch_min, fetch_max and the bitwise operations are for int and uint, fetch_add and fetch_sub also for float in device memory; ulong has only min and max without a result; bool has no arithmetic.
//! atomic
//- bad
kernel void k(device float *o) { threadgroup atomic_float t; atomic_fetch_add_explicit(&t, 1.0f, memory_order_relaxed); o[0] = 1; }
//- bad
kernel void k(device atomic_float *o) { atomic_fetch_min_explicit(o, 1.0f, memory_order_relaxed); }
//- bad
kernel void k(device atomic_ulong *o) { atomic_fetch_add_explicit(o, 1ul, memory_order_relaxed); }
//- bad
kernel void k(device atomic_ulong *o) { atomic_fetch_max_explicit(o, 1ul, memory_order_relaxed); }
//- bad
kernel void k(device atomic_uint *o) { atomic_max_explicit(o, 1u, memory_order_relaxed); }
//- bad
kernel void k(device atomic<uchar> *o) { atomic_store_explicit(o, uchar(1), memory_order_relaxed); }
//- bad
kernel void k(device atomic<long> *o) { atomic_store_explicit(o, 1l, memory_order_relaxed); }
//- bad
kernel void k(device atomic_bool *o) { atomic_fetch_add_explicit(o, true, memory_order_relaxed); }
//- bad
kernel void k(device uint *o) { atomic_uint a; atomic_store_explicit(&a, 1u, memory_order_relaxed); o[0] = 1; }
//- good
kernel void k(device atomic_float *f, device atomic_uint *u, device atomic_ulong *l) { threadgroup atomic_uint t; atomic_store_explicit(&t, 0u, memory_order_relaxed); atomic_fetch_add_explicit(f, 1.0f, memory_order_relaxed); atomic_fetch_max_explicit(u, 1u, memory_order_relaxed); atomic_max_explicit(l, 1ul, memory_order_relaxed); atomic_fetch_or_explicit(&t, 1u, memory_order_relaxed); }

//# Memory order
//# Atomic operations are relaxed; use fences and barriers for ordering.
//! memory_order
//- bad
kernel void k(device atomic_uint *o) { atomic_fetch_add_explicit(o, 1u, memory_order_acquire); }
//- bad
kernel void k(device atomic_uint *o) { atomic_fetch_add_explicit(o, 1u, memory_order_acq_rel); }
//- bad
kernel void k(device atomic_uint *o) { atomic_store_explicit(o, 1u, memory_order_seq_cst); }
//- good
kernel void k(device atomic_uint *o) { atomic_store_explicit(o, 1u, memory_order_relaxed); atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst); }

//# Language versions
//# Features need their language version: simd reductions, quad functions and min3 2.1, 64-bit integers and host_name 2.2, 64-bit integers in buffers and simdgroup matrices 2.3, 64-bit atomics 2.4, atomic<float> 3.0, bfloat and texture atomics 3.1, logging and fences 3.2, tensors 4.0.
//! needs Metal
//- bad 200
kernel void k(device float *o) { o[0] = min3(o[0], o[1], o[2]); }
//- bad 210
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
template [[host_name("k_float")]] kernel void k<float>(device float *o); // <-
//- bad 220
kernel void k(device ulong *o) { o[0] = 1; }
//- bad 240
kernel void k(device atomic<float> *o) { atomic_store_explicit(o, 1.0f, memory_order_relaxed); }
//- bad 300
kernel void k(device bfloat *o) { o[0] = 1; }
//- good 300
kernel void k(device atomic<float> *o, device ulong *u) { atomic_store_explicit(o, 1.0f, memory_order_relaxed); u[0] = 1; }

//# GPU families
//# A pipeline that uses what its GPU lacks cannot be made: Intel Macs have no simdgroup matrices, no bfloat and no 64-bit atomics, and the M1 has no 64-bit atomics.
//! GPU family
//- bad 320 mac2
kernel void k(device float *o) { simdgroup_float8x8 m; simdgroup_load(m, o, 8); simdgroup_store(m, o, 8); }
//- bad 320 mac2
kernel void k(device bfloat *o) { o[0] = o[1]; }
//- bad 320 apple7
kernel void k(device atomic_ulong *o) { atomic_max_explicit(o, 1ul, memory_order_relaxed); }
//- good 320 mac2
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = simd_sum(o[i]) + quad_sum(o[i]); }
//- good 320 apple8
kernel void k(device atomic_ulong *o) { atomic_max_explicit(o, 1ul, memory_order_relaxed); }

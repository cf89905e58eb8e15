//# Positions of one width
//# Position attributes of a kernel (thread, threadgroup and grid positions and sizes) are all scalars or all vectors of one width.
//! both vectors of one width
//- bad
kernel void k(device float *o, uint row [[threadgroup_position_in_grid]], uint3 size [[threads_per_threadgroup]]) { o[row] = size.x; }
//- bad
kernel void k(device float *o, uint2 a [[thread_position_in_grid]], uint3 b [[threads_per_grid]]) { o[a.x] = b.x; }
//- bad
typedef uint3 where; typedef ushort lane;
kernel void k(device float *o, where a [[thread_position_in_grid]],
              lane b [[thread_position_in_threadgroup]]) { o[a.x] = b; } // <-
//- bad
template <typename P> kernel void k(device float *o, P a [[thread_position_in_grid]], uint2 b [[threadgroups_per_grid]]) { o[b.x] = 1; } // <-
template [[host_name("one")]] kernel void k<uint>(device float *o, uint a, uint2 b);
//- good
kernel void k(device float *o, uint3 a [[thread_position_in_grid]], ushort3 b [[threads_per_threadgroup]], uint i [[thread_index_in_threadgroup]]) { o[a.x] = b.x + i; }
//- good
kernel void k(device float *o, uint a [[thread_position_in_grid]], ushort b [[threads_per_threadgroup]]) { o[a] = b; }

//# Types of positions
//# Positions are ushort, uint, or vectors of two or three of them; indices and counts are ushort or uint.
//! must be ushort
//- bad
kernel void k(device float *o, int i [[thread_position_in_grid]]) { o[i] = 1; }
//- bad
kernel void k(device float *o, uint4 i [[thread_position_in_grid]]) { o[i.x] = 1; }
//- bad
kernel void k(device float *o, float i [[thread_position_in_grid]]) { o[0] = i; }
//- bad
kernel void k(device float *o, int i [[thread_index_in_simdgroup]]) { o[i] = 1; }
//- bad
kernel void k(device float *o, uint2 i [[thread_index_in_threadgroup]]) { o[i.x] = 1; }
//- bad
kernel void k(device float *o, ulong i [[thread_position_in_grid]]) { o[i] = 1; }
//- good
kernel void k(device float *o, const ushort i [[thread_index_in_simdgroup]], const uint2 p [[thread_position_in_grid]]) { o[i + p.x] = 1; }

//# Builtins by value
//# Builtins are passed by value.
//! is passed by value
//- bad
kernel void k(device float *o, thread uint &i [[thread_position_in_grid]]) { o[i] = 1; }
//- bad
kernel void k(device float *o, constant uint &i [[thread_index_in_threadgroup]]) { o[i] = 1; }
//- good
kernel void k(device float *o, const uint i [[thread_position_in_grid]]) { o[i] = 1; }

//# Attributes of functions
//# Function attributes precede the function; after the parameters, an attribute applies to the type.
//! write it in front of the function
//- bad
kernel void k(device float *o) [[max_total_threads_per_threadgroup(64)]] { o[0] = 1; }
//- bad
kernel void k(device float *o)
    [[max_total_threads_per_threadgroup(32 * 4)]] // <-
{ o[0] = 1; }
//- good
[[max_total_threads_per_threadgroup(64)]] kernel void k(device float *o) { o[0] = 1; }
//- good
[[kernel, max_total_threads_per_threadgroup(64)]] void k(device float *o) { o[0] = 1; }

//# One index, one parameter
//# No two parameters of a kernel share an index or a builtin.
//! needs another
//- bad
kernel void k(device float *a [[buffer(0)]], device float *b [[buffer(0)]]) { a[0] = b[0]; }
//- bad
kernel void k(device float *a [[buffer(1)]], constant float &b [[buffer(0 + 1)]]) { a[0] = b; }
//- bad
kernel void k(device float *o, threadgroup float *a [[threadgroup(0)]], threadgroup float *b [[threadgroup(0)]]) { o[0] = a[0] + b[0]; }
//- bad
kernel void k(device float *o, uint a [[thread_position_in_grid]], uint b [[thread_position_in_grid]]) { o[a] = b; }
//- good
kernel void k(device float *a [[buffer(0)]], threadgroup float *b [[threadgroup(0)]]) { a[0] = b[0]; }

//# Buffers are pointers
//# A [[buffer]] parameter is a pointer or reference to device or constant memory; a [[threadgroup]] parameter is one to threadgroup memory.
//! must be a pointer or a reference | must point to device or constant memory
//- bad
kernel void k(device float *o, float x [[buffer(1)]]) { o[0] = x; }
//- bad
kernel void k(device float *o, threadgroup float *x [[buffer(1)]]) { o[0] = *x; }
//- bad
kernel void k(device float *o, thread float *x [[buffer(1)]]) { o[0] = *x; }
//- bad
kernel void k(device float *o, device float *x [[threadgroup(0)]]) { o[0] = *x; }
//- bad
kernel void k(device float *o, uint x [[threadgroup(0)]]) { o[0] = x; }
//- good
kernel void k(device float *o [[buffer(0)]], constant float &x [[buffer(1)]], threadgroup float *t [[threadgroup(0)]]) { o[0] = x + *t; }

//# No pointers to pointers
//# Kernel parameters cannot be pointers to pointers.
//! put the pointer into a struct
//- bad
kernel void k(device float * device *o [[buffer(0)]]) { o[0][0] = 1; }
//- good
struct Rows { device float *row; };
kernel void k(constant Rows &r [[buffer(0)]]) { r.row[0] = 1; }

//# Kernels return nothing
//# A kernel returns void.
//! a kernel returns void
//- bad
kernel int k(device float *o) { o[0] = 1; return 0; }
//- bad
[[kernel]] float k(device float *o) { return o[0]; }
//- good
[[kernel]] void k(device float *o) { o[0] = 1; }

//# Names of entry points
//# No ordinary function is called main, no two entry points have the same name, and nothing calls an entry point.
//! cannot be called `main` | another function has the host name | put the common code into a function
//- bad
float main(float x) { return x; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *o) { o[0] = 1; }
kernel void k(device int *o) { o[0] = 1; } // <-
//- bad
template <typename T> kernel void f(device T *o) { o[0] = T(1); }
template [[host_name("same")]] kernel void f<float>(device float *o);
template [[host_name("same")]] kernel void f<int>(device int *o); // <-
//- bad
kernel void a(device float *o) { o[0] = 1; }
kernel void b(device float *o) { a(o); } // <-
//- bad
kernel void a(device float *o) { o[0] = 1; }
inline void helper(device float *o) { a(o); } // <-
kernel void b(device float *o) { helper(o); }
//- good
inline void fill(device float *o) { o[0] = 1; }
kernel void a(device float *o) { fill(o); }
kernel void b(device float *o) { fill(o); }

//# The whole file
//# Errors count even in files without kernels, in graphics functions and in kernels that are not used.
//! use of undeclared identifier
//- bad
float f(float x) { return y; }
//- bad
kernel void k(device float *o) { o[0] = 1; }
vertex float4 v(uint i [[vertex_id]]) { return float4(missing); } // <-
//- good
kernel void k(device float *o) { o[0] = 1; }
vertex float4 v(uint i [[vertex_id]]) { return float4(i); }

//# Instantiations
//# An explicit instantiation must match the parameters of its template.
//! must be those of its template
//- bad
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
template [[host_name("k_float")]] kernel void k<float>(device int *o); // <-
//- bad
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
template [[host_name("k_float")]] kernel void k<float>(constant float *o); // <-
//- good
template <typename T> kernel void k(device T *o) { o[0] = T(1); }
template [[host_name("k_float")]] kernel void k<float>(device float *o);
typedef decltype(k<float>) k_t;
template [[host_name("k_int")]] kernel decltype(k<int>) k<int>;

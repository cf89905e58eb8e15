//# Spellings of rules on conversions, vectors and the library
//- bad
kernel void k(device bfloat *o) { bfloat x = 1.0f; o[0] = x; }
//- bad
kernel void k(device bfloat *o) { o[0] = 1.0f; }
//- bad
kernel void k(device bfloat *o) { bfloat x{1.0f}; o[0] = x; }
//- bad
kernel void k(device bfloat *o) { bfloat x = 1.0h; o[0] = x; }
//- bad
kernel void k(device bfloat *o, device half *h) { bfloat x = h[0]; o[0] = x; }
//- bad
kernel void k(device bfloat *o, device half *h) { h[0] = o[0]; }
//- bad
void f(bfloat x) {}
kernel void k(device bfloat *o) { f(1.0f); } // <-
//- bad
bfloat f() { return 1.0f; } // <-
kernel void k(device bfloat *o) { o[0] = f(); }
//- bad
kernel void k(device bfloat *o) { o[0] *= 2.0f; }
//- bad
kernel void k(device bfloat *o) { o[0] = o[1] * 2.0f; }
//- bad
kernel void k(device bfloat *o) { o[0] = o[1] > 0 ? o[1] : 0.0f; }
//- bad
kernel void k(device bfloat *o, device half *h) { float x = o[0] * h[0]; o[1] = bfloat(x); }
//- bad
kernel void k(device bfloat *o) { o[0] = sqrt(o[1]); }
//- bad
kernel void k(device bfloat *o) { o[0] = metal::exp(o[1]); }
//- bad
kernel void k(device bfloat *o) { bfloat a[2] = {1.0f, 2.0f}; o[0] = a[0]; }
//- bad
struct S { bfloat x; };
kernel void k(device S *o) { o[0].x = 2.5f; } // <-
//- bad
kernel void k(device bfloat *o, device float *f) { o[0] = o[1] + f[0]; }
//- bad
template <typename T> void g(device T *o, float x) { o[0] = x; } // <-
kernel void k(device bfloat *o) { g(o, 1); }
//- good
kernel void k(device bfloat *o, device float *f, device half *h) { bfloat a = bfloat(1.0f); bfloat b = bfloat(f[0]); bfloat c = static_cast<bfloat>(f[0]); bfloat d = (bfloat)h[0]; bfloat e = bfloat(h[1]); h[2] = half(a); f[0] = a; float x = a + 1.0f; o[0] = a + b * c - d / e; o[1] = bfloat(x); o[2] = 1.0bf; o[3] = -o[4]; if (a > b) o[5] = a < b ? a : b; }
//- good
kernel void k(device bfloat *o) { o[0] = bfloat(1); bfloat x = 0; int i = 3; x = bfloat(i); o[1] = x + bfloat(i); o[2] += o[3]; o[2] *= 2.0bf; }
//- good
namespace metal { METAL_FUNC bfloat abs(bfloat x) { return x < bfloat(0.0f) ? -x : x; } METAL_FUNC bfloat exp(bfloat x) { return static_cast<bfloat>(__metal_exp(static_cast<float>(x), __METAL_MAYBE_FAST_MATH__)); } }
kernel void k(device bfloat *o) { o[0] = metal::abs(o[1]); o[2] = metal::exp(o[1]); }
//- good
kernel void k(device bfloat4 *o, device float4 *f) { o[0] = bfloat4(f[0]); f[1] = float4(o[1]); o[2] = o[0] + o[1]; }
//- bad
kernel void k(device bfloat4 *o, device float4 *f) { o[0] = f[0]; }
//- bad
kernel void k(device float *o) { float3 v = float3(1); thread auto *p = &v.y; o[0] = *p; }
//- bad
void f(thread float *x) { *x = 1; }
kernel void k(device float *o) { float4 v; f(&v.w); o[0] = v.w; } // <-
//- bad
void f(device float &x) { x = 1; }
kernel void k(device float4 *o) { f(o[0].x); } // <-
//- bad
void f(thread float &x, thread float &y) { x = y; }
kernel void k(device float *o) { float2 v = float2(1); f(v.x, v[1]); o[0] = v.x; } // <-
//- bad
kernel void k(device float4 *o) { device float &x = o[0].y; x = 1; }
//- bad
kernel void k(device float *o) { half4 v; thread half *p = &v[2]; o[0] = *p; }
//- bad
kernel void k(device float *o) { float4 v = float4(1); for (thread float &x : {v.x}) x = 1; o[0] = v.x; }
//- bad
kernel void k(device float *o) { float x; float2 v = float2(0.5); v.x = modf(1.5f, v.y); o[0] = v.x; }
//- good
kernel void k(device packed_float3 *o, device float *q) { device float *p = &q[1]; float4x4 m = float4x4(1); thread float4 &c = m[0]; c.x = 2; q[0] = m[0][0] + *p; o[0].x = 1; }
//- bad
kernel void k(device float4x4 *o) { o[0] = o[1] * 2; }
//- bad
kernel void k(device float3x3 *o, constant int &i) { o[0] = i * o[1]; }
//- bad
kernel void k(device float4 *o) { float4 v = o[0]; float3x3 m = float3x3(1); v.xyz *= m; o[0] = v; }
//- good
kernel void k(device float4x4 *o, device float4 *v) { o[0] = o[1] * o[2]; o[0] *= o[1]; o[0] = o[1] * 2.0f + 0.5f * o[2]; v[0] = v[1] * o[0]; v[0].xy = float2x2(1) * v[0].zw; o[1] = transpose(o[2]); v[0] *= 2; }
//- bad
kernel void k(device int *o) { o[0] = dot(int3(1), int3(2)); }
//- bad
kernel void k(device uint *o) { o[0] = length(uint2(3, 4)); }
//- bad
kernel void k(device int3 *o) { o[0] = cross(int3(1), int3(2)); }
//- bad
kernel void k(device int2 *o) { o[0] = normalize(int2(1)); }
//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { bool b = i > 2; o[i] = simd_shuffle(b, 0); }
//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_max(i == 0); }
//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_and(i == 0); }
//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_broadcast_first(i == 0); }
//- bad
kernel void k(device long *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_broadcast(o[i], 0); }
//- bad
kernel void k(device ulong *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_prefix_inclusive_sum(o[i]); }
//- bad
kernel void k(device long *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_min(o[i]); }
//- bad
kernel void k(device ulong2 *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_shuffle_down(o[i], 1); }
//- bad
kernel void k(device bfloat *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_sum(o[i]); }
//- bad
kernel void k(device bfloat *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_shuffle_xor(o[i], 1); }
//- bad
kernel void k(device bfloat *o, uint i [[thread_index_in_simdgroup]]) { o[i] = quad_max(o[i]); }
//- bad
struct S { int x; };
kernel void k(device S *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_broadcast(o[i], 0); } // <-
//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_or(o[i]); }
//- bad
kernel void k(device float4x4 *o, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_sum(o[i]); }
//- bad
kernel void k(device long *o, uint i [[thread_index_in_simdgroup]]) { o[i] = quad_shuffle_xor(o[i], 1); }
//- bad
kernel void k(device uint *o, uint i [[thread_index_in_simdgroup]]) { threadgroup float t[4]; o[i] = simd_sum(&t[0]); }
//- good
kernel void k(device float *o, device half4 *h, device short *s, device uchar *c, device int3 *v, uint i [[thread_index_in_simdgroup]]) { o[i] = simd_sum(o[i]) + simd_product(o[i]); h[i] = simd_max(h[i]); s[i] = simd_min(s[i]); c[i] = simd_shuffle_down(c[i], 1); v[i] = simd_xor(v[i]); bool b = simd_all(i > 2); simd_vote w = simd_ballot(b); if (w.any()) o[i] = simd_shuffle_and_fill_up(o[i], 1.0f, 1); c[i] = quad_broadcast(c[i], 0); o[i] = simd_is_first() ? 1 : 0; }
//- bad
kernel void k(device uint *o) { simdgroup_matrix<uint, 8, 8> m; simdgroup_load(m, o, 8); }
//- bad
kernel void k(device float *o) { simdgroup_matrix<float, 4, 4> m; simdgroup_load(m, o, 8); }
//- bad
kernel void k(device float *o) { simdgroup_matrix<float, 16, 16> m = simdgroup_matrix<float, 16, 16>(0); simdgroup_store(m, o, 8); }
//- bad
kernel void k(device float *o) { simdgroup_half8x8 m; simdgroup_load(m, o, 8); }
//- bad
kernel void k(device float *o, device half *h) { simdgroup_float8x8 m(0); simdgroup_store(m, h, 8); }
//- bad
kernel void k(device float *o) { float a[64]; simdgroup_float8x8 m(0); simdgroup_store(m, a, 8); o[0] = a[0]; }
//- bad
kernel void k(constant float *c, device float *o) { simdgroup_float8x8 m(0); simdgroup_store(m, c, 8); }
//- good
kernel void k(device float *o, threadgroup half *t, device const float *c) { simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(0); simdgroup_half8x8 a; simdgroup_float8x8 b; simdgroup_load(a, t, 8, ulong2(0, 0), true); simdgroup_load(b, c, 8); simdgroup_multiply_accumulate(m, a, b, m); simdgroup_multiply(m, b, b); thread auto &e = m.thread_elements(); e[0] = 1; simdgroup_store(m, o, 8, 0); }
//- bad
kernel void k(constant float *c, device float *o) { simdgroup_float8x8 m; simdgroup_load(m, c, 8); simdgroup_store(m, o, 8); }
//- bad
kernel void k(threadgroup atomic_float *t, device float *o) { atomic_fetch_sub_explicit(t, 1.0f, memory_order_relaxed); o[0] = 1; }
//- bad
kernel void k(device float *o) { threadgroup atomic<float> t; atomic_fetch_add_explicit(&t, 1.0f, memory_order_relaxed); o[0] = 1; }
//- bad
kernel void k(device atomic_float *o) { atomic_fetch_max_explicit(o, 1.0f, memory_order_relaxed); }
//- bad
kernel void k(device atomic<float> *o) { atomic_fetch_and_explicit(o, 1.0f, memory_order_relaxed); }
//- bad
kernel void k(device atomic_ulong *o) { atomic_store_explicit(o, 1ul, memory_order_relaxed); }
//- bad
kernel void k(device atomic<ulong> *o, device ulong *p) { p[0] = atomic_load_explicit(o, memory_order_relaxed); }
//- bad
kernel void k(device atomic_ulong *o, device ulong *p) { p[0] = atomic_max_explicit(o, 1ul, memory_order_relaxed); }
//- bad
kernel void k(device atomic_int *o) { atomic_min_explicit(o, 1, memory_order_relaxed); }
//- bad
kernel void k(device atomic_long *o) { atomic_store_explicit(o, 1l, memory_order_relaxed); }
//- bad
kernel void k(device atomic<short> *o) { atomic_fetch_add_explicit(o, short(1), memory_order_relaxed); }
//- bad
kernel void k(device atomic<half> *o) { atomic_store_explicit(o, half(1), memory_order_relaxed); }
//- bad
kernel void k(device atomic_bool *o) { atomic_fetch_or_explicit(o, true, memory_order_relaxed); }
//- bad
kernel void k(device atomic_int *o, device int *p) { p[0] = atomic_load_explicit(o, memory_order_acquire); }
//- bad
kernel void k(device atomic_int *o) { atomic_store_explicit(o, 1, memory_order_release); }
//- bad
kernel void k(device atomic_int *o) { int e = 0; atomic_compare_exchange_weak_explicit(o, &e, 1, memory_order_acq_rel, memory_order_relaxed); }
//- bad
kernel void k(device atomic_int *o) { int e = 0; atomic_compare_exchange_weak_explicit(o, &e, 1, memory_order_relaxed, memory_order_seq_cst); }
//- bad
kernel void k(device uint *o) { thread atomic_uint a; atomic_fetch_add_explicit(&a, 1u, memory_order_relaxed); o[0] = 1; }
//- bad
kernel void k(device uint *o) { atomic_fetch_add_explicit(o, 1u, memory_order_relaxed); }
//- bad
kernel void k(device atomic_uint *o) { o[0] = 1; }
//- bad
kernel void k(device atomic_uint *o) { atomic_fetch_add(o, 1u); }
//- bad
kernel void k(constant atomic_uint *o) { atomic_fetch_add_explicit(o, 1u, memory_order_relaxed); }
//- good
kernel void k(device atomic_uint *o, device atomic_int *i, device atomic_bool *b, volatile device atomic_uint *v, device atomic_float *f) { uint e = 0; while (!atomic_compare_exchange_weak_explicit(o, &e, 2u, memory_order_relaxed, memory_order_relaxed)) {} atomic_fetch_sub_explicit(i, 1, memory_order_relaxed); atomic_store_explicit(b, true, memory_order_relaxed); atomic_fetch_add_explicit(v, 1, memory_order_relaxed); atomic_fetch_add_explicit(&o[1], 1, memory_order_relaxed); atomic_exchange_explicit(f, 1.0f, memory_order_relaxed); device atomic_uint *c = (device atomic_uint *)i; atomic_fetch_xor_explicit(c, 1u, memory_order_relaxed); }
//- bad 220
kernel void k(device long *o) { o[0] = 1; }
//- bad 220
kernel void k(device const int64_t *o, device float *p) { p[0] = o[0]; }
//- bad 210
[[host_name("x")]] kernel void k(device float *o) { o[0] = 1; }
//- bad 200
kernel void k(device float *o) { o[0] = max3(o[0], o[1], o[2]); }
//- bad 200
kernel void k(device float *o) { o[0] = metal::median3(o[0], o[1], o[2]); }
//- bad 240
kernel void k(device atomic_float *o) { atomic_fetch_add_explicit(o, 1.0f, memory_order_relaxed); }
//- bad 220
kernel void k(device float *o) { simdgroup_float8x8 m; simdgroup_load(m, o, 8); }
//- bad 300
kernel void k(device float *o) { bfloat x = bfloat(1.0f); o[0] = x; }
//- good 200
kernel void k(device float *o) { o[0] = min(o[0], o[1]); }
//- good
kernel void k(device float *o) { static_assert(sizeof(atomic_bool) == 4, ""); vec<float, 4> v = 1; o[0] = v.x; }
//- good
kernel void k(device float4 *o) { o[0] = clamp(o[1], 0.0f, 1.0f); o[1] = max(o[1], 0.0f); o[2] = mix(o[0], o[1], 0.5f); o[3] = pow(o[0], 2.0f); o[4] = min(1.0f, o[3]); o[5] = fma(o[0], o[1], o[2]); o[6] = smoothstep(0.0f, 1.0f, o[2]); o[7] = step(0.5f, o[2]); o[8] = fmod(o[1], 2.0f); }
//- good
kernel void k(device float4 *o) { o[0] = numeric_limits<float4>::max(); o[1] = numeric_limits<float>::infinity(); }
//- good
kernel void k(device int2 *o, device uint2 *u) { o[0] = o[1] << u[0]; o[1] = o[1] >> u[1]; o[2] = o[1] << 2; }
//- good
kernel void k(device packed_char4 *a, device float4 *o) { packed_char4 b = a[0] & a[1]; packed_char4 c = b >> 4; o[0] = float4(packed_float4(c)); packed_float4 d = packed_float4(a[2]); o[1] = float4(d); }
//- good
static_assert(is_floating_point_v<float2>, "");
static_assert(is_floating_point<half>::value, "");
kernel void k(device float *o) { o[0] = precise::log(10) + fast::exp(2) + precise::sqrt(2); }
//- good
namespace detail { constant int x = 1; }
template <typename T> struct is_empty { static constant constexpr bool value = false; };
template <class...> using void_t = void;
template <typename T> T forward(T x) { return x; }
kernel void k(device float *o) { o[0] = detail::x + forward(2.0f) + is_empty<int>::value; }
//- good
kernel void k(device uint4 *o) { uint4 v = {1, 2, 3}; uint a = 1, b = 2, c = 3; uint4 w = {a, b, c}; float4 z = {0}; o[0] = v + w + uint4(z); }
//- good
kernel void k(device int *o, constant int &n) { metal::uniform<int> u = make_uniform(n); for (metal::uniform<int> i = make_uniform(0); i < u; i++) o[i] = 1; remove_addrspace_t<device int> x = 1; assert(x == 1); o[0] = x; }
//- good
template <int N> struct A { float x[N * 2]; };
struct B { float y[2 * 2]; };
kernel void k(device float *o) { A<2> a; B b; a.x[0] = 1; b.y[3] = 2; o[0] = a.x[0] + b.y[3]; }
//- good
kernel void k(device MTLDrawPrimitivesIndirectArguments &a, device float *o) { a.vertexCount = 1; o[0] = a.instanceCount; }
//- good
kernel void k(device float *o) { o[0] = __metal_abs(o[1], __METAL_MAYBE_FAST_MATH__); o[1] = __metal_pow(o[1], 2.0f, __METAL_MAYBE_FAST_MATH__); }
//- good
constexpr sampler s(coord::normalized, address::clamp_to_edge, filter::linear);
kernel void k(texture2d<float, access::sample> a [[texture(0)]], texture2d<float, access::write> b [[texture(1)]], uint2 p [[thread_position_in_grid]]) { b.write(a.sample(s, float2(p) / 16), p); }
//- good
kernel void k(texture2d<half, access::read> a [[texture(0)]], texture2d<half, access::read_write> b [[texture(1)]], sampler s [[sampler(0)]], ushort2 p [[thread_position_in_grid]]) { half4 v = a.read(p); b.write(v, p); if (p.x >= a.get_width() || p.y >= b.get_height()) return; }
//- good
kernel void k(texture_buffer<float, access::read> a [[texture(0)]], device float4 *o, uint i [[thread_position_in_grid]]) { o[i] = a.read(i); }
//- good
kernel void k(texture3d<float> a [[texture(0)]], texture2d_array<float> b [[texture(1)]], texturecube<float> c [[texture(2)]], depth2d<float> d [[texture(3)]], texture1d<uint> e [[texture(4)]], device float4 *o) { constexpr sampler s; o[0] = a.sample(s, float3(0)) + b.sample(s, float2(0), 1) + c.sample(s, float3(1)); o[1] = d.sample(s, float2(0)) + e.read(1u).x; }
//- good
struct Args { device float *a [[id(0)]]; texture2d<float> t [[id(1)]]; sampler s [[id(2)]]; int n [[id(3)]]; };
kernel void k(constant Args &args [[buffer(0)]], device float *o [[buffer(1)]]) { o[0] = args.a[0] + args.n + args.t.sample(args.s, float2(0)).x; }
//- good
kernel void k(array<texture2d<float>, 4> t [[texture(0)]], device float4 *o) { o[0] = t[1].read(uint2(0)); }
//- bad
kernel void k(texture2d<float, access::read> t [[texture(0)]]) { t.write(float4(1), uint2(0)); }
//- bad
kernel void k(texture2d<float, access::write> t [[texture(0)]], device float4 *o) { o[0] = t.read(uint2(0)); }
//- bad
kernel void k(texture2d<float, access::read> t [[texture(0)]], device float4 *o) { constexpr sampler s; o[0] = t.sample(s, float2(0)); }
//- bad
kernel void k(texture2d<double> t [[texture(0)]], device float4 *o) { o[0] = 1; }
//- bad
kernel void k(texture2d<float> t [[buffer(0)]], device float4 *o [[buffer(1)]]) { o[0] = t.read(uint2(0)); }
//- bad
kernel void k(device float *t [[texture(0)]]) { t[0] = 1; }
//- bad
kernel void k(sampler s [[buffer(0)]], device float4 *o [[buffer(1)]]) { o[0] = 1; }
//- bad
kernel void k(uint s [[sampler(0)]], device float4 *o) { o[0] = s; }
//- bad
kernel void k(texture2d<float> a [[texture(0)]], texture2d<float> b [[texture(0)]], device float4 *o) { o[0] = a.read(uint2(0)) + b.read(uint2(0)); }
//- bad
kernel void k(texture2d<float> a [[texture(128)]], device float4 *o) { o[0] = a.read(uint2(0)); }
//- bad
kernel void k(depth2d<half> a [[texture(0)]], device float4 *o) { o[0] = a.read(uint2(0)); }
//- good
kernel void k(texture2d<uint, access::read_write> t [[texture(0)]], texture2d<float, access::write, memory_coherence_device> u [[texture(1)]]) { t.atomic_fetch_add(uint2(0), 1u); u.write(float4(1), uint2(0)); }
//- good
kernel void k(depth2d<float> d [[texture(0)]], texturecube_array<half> c [[texture(1)]], texture2d_ms<float> m [[texture(2)]], device float4 *o) { constexpr sampler s(compare_func::less, mag_filter::linear, s_address::repeat, t_address::mirrored_repeat, lod_clamp(0.0f, 4.0f), max_anisotropy(4)); o[0] = d.sample_compare(s, float2(0.5), 0.5f) + float4(c.sample(s, float3(1), 2, level(1))) + m.read(uint2(0), 3); }
//- good
kernel void k(texture2d<float> t, sampler s, texture2d<float, access::write> u, device float4 *o) { o[0] = t.gather(s, float2(0), int2(1, 0), component::y) + t.sample(s, float2(0), bias(1), int2(1)) + t.sample(s, float2(0), gradient2d(float2(0.1), float2(0.1))); u.write(1, uint2(0)); }
//- bad
kernel void k(device bfloat4 *o) { o[0] = o[1] * 2.0f; }
//- bad
kernel void k(device float4x4 *o) { int i = 2; o[0] *= i; }
//- bad
kernel void k(device float4 *o) { float2x2 m = float2x2(1); o[0].xy *= m; }
//- bad
void f(threadgroup atomic_ulong *t) { atomic_max_explicit(t, 1ul, memory_order_relaxed); }
//- bad 220
kernel void k(device ulong const *o, device float *p) { p[0] = o[0]; }
//- bad 220
kernel void k(ulong device *o) { o[0] = 1; }
//- bad 220
kernel void k(device size_t *o) { o[0] = 1; }
//- good
kernel void k(device float *o, device int2 *i, device uint2 *u) { i[0] <<= u[0]; i[1] >>= u[1]; i[2] = mad24(i[0], i[1], i[2]); vec<float, 8> v = vec<float, 8>(1); v[3] = 2; v += v; o[0] = v[3]; vec<half, 16> w(0.5h); o[1] = w[15]; }

//- bad
kernel void k(device float *o) { int x = float4(1); o[0] = x; }

//- bad
kernel void k(device float *o) { float x = float2(1); o[0] = x; }

//- good
kernel void k(device float4 *o, device half4 *h) { float4 v = 1; int4 w = 2; h[0] = half4(o[0]); o[1] = (float4)h[1]; o[2] = static_cast<float4>(w); v.xy++; o[3] = v; }

//- bad
float f(float4 v) { return v.x; }
kernel void k(device float *o, device half4 *h) { o[0] = f(h[0]); } // <-

//- bad
float3 f(float4 v) { return v; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- good
float4 f() { return 1.0f; }
float g(float4 v) { return v.y; }
kernel void k(device float *o) { o[0] = f().x + g(2.0f); }

//- bad
kernel void k(device uint2 *o) { o[0] = o[1] + int2(1); }

//- bad
kernel void k(device int4 *o, device uint4 *u) { o[0] = o[1] * u[0]; }

//- bad
kernel void k(device float *o) { uint2 p = uint2(3); float2 uv = p / 16.0f; o[0] = uv.x; }

//- good
kernel void k(device float *o) { uint2 p = uint2(3); float2 uv = float2(p) / 16.0f; half4 h = half4(1) * 2.0f; char4 c = char4(1) + 2; o[0] = uv.x + h.x + c.x + (float4(1) * 3).x; }

//- bad
kernel void k(device float4 *o) { int4 m = o[0] == o[1]; o[2] = float4(m); }

//- bad
kernel void k(device float4 *o) { if (o[0] == o[1]) o[2] = 1; }

//- good
kernel void k(device float4 *o) { bool4 b = o[0] == o[1]; if (all(b) || any(!b)) o[2] = select(o[0], o[1], b); bool3 c = b.xyz; o[3] = float4(float3(c), 1); }

//- bad
kernel void k(device float *o) { bool4 b = int4(1); o[0] = b.x; }

//- bad
kernel void k(device float *o) { o[0] = o[1] % 2; }

//- bad
kernel void k(device float4 *o) { o[0] = o[1] & o[2]; }

//- bad
kernel void k(device float *o) { o[0] = ~o[1]; }

//- bad
kernel void k(device float *o) { o[0] = as_type<float2>(1.0f).x; }

//- good
kernel void k(device uint *o) { o[0] = as_type<uint>(half2(1)) + as_type<uint>(1.0f) + as_type<ushort>(half(1)) + as_type<uint2>(1ul).x + as_type<uint>(char4(1)); }

//- bad
enum class E { a = 1 };
kernel void k(device float *o) { int x = E::a; o[0] = x; } // <-

//- bad
enum E { A, B };
kernel void k(device float *o) { E e = 1; o[0] = e; } // <-

//- bad
kernel void k(device float *o) { device float *p = 1; o[0] = p == o; }

//- bad
kernel void k(device float *o) { device int *p = o; p[0] = 1; }

//- bad
kernel void k(device float *o) { float x = o[0]; half h{x}; o[0] = h; }

//- bad
kernel void k(device float *o) { uint u{-1}; o[0] = u; }

//- bad
kernel void k(device float *o) { short s[2] = {70000, 1}; o[0] = s[0]; }

//- bad
struct S { uint a; };
S f(int i) { return {i}; } // <-
kernel void k(device float *o) { o[0] = f(1).a; }

//- bad
struct S { half h; float f; };
kernel void k(device float *o) { o[0] = S{o[1], 2.0f}.h; } // <-

//- good
struct S { half h; float f; };
kernel void k(device float *o) { o[0] = S{half(o[1]), 2.0f}.h; S s = {1.0h, 2}; uint u{1}; half g{1.5}; o[1] = s.f + u + g; }

//- bad
bfloat f() { return 1.0f; } // <-
kernel void k(device float *o) { o[0] = f(); }

//- bad
float f(bfloat x) { return x; }
kernel void k(device float *o) { o[0] = f(o[1]); } // <-

//- bad
struct S { bfloat b; };
kernel void k(device float *o) { S s; s.b = o[0]; o[1] = s.b; } // <-

//- bad
kernel void k(device bfloat *o) { o[0] = o[1] * 2.0f; }

//- bad
kernel void k(device bfloat *o) { bfloat a[2] = {1.0f, 2.0f}; o[0] = a[0]; }

//- bad
constant bfloat c = 1.0f; // <-
kernel void k(device bfloat *o) { o[0] = c; }

//- bad
kernel void k(device bfloat *o, device half *h) { o[0] = h[0]; }

//- bad
kernel void k(device bfloat *o, device half *h) { h[0] = o[0]; }

//- bad
kernel void k(device bfloat *o, device float *f) { o[0] -= f[0]; }

//- bad
kernel void k(device bfloat *o, device float *f) { o[0] = f[0] > 0 ? f[0] : f[1]; }

//- good
kernel void k(device bfloat *o, device float *f) { bfloat a = 1.0bf; o[0] = a + o[1]; f[0] = o[2]; o[3] = o[4] > 1.0f ? o[4] : bfloat(0.0f); o[5] = -o[6]; o[7] = bfloat(f[1] * o[8]); o[9] += a; o[10] = static_cast<bfloat>(f[2]); }

//- bad
kernel void k(device float *o) { float4 v = float4(1); o[0] = v.xyzwx.x; }

//- bad
kernel void k(device float *o) { float4 v = float4(1); o[0] = v.q; }

//- bad
kernel void k(device float *o) { float4 v = float4(1); v.xyx = float3(1); o[0] = v.x; }

//- bad
kernel void k(device float *o) { float2 v; float s = sincos(1.0f, v.x); o[0] = s; }

//- bad
kernel void k(device float *o) { float3 v = float3(0); int2 e; v.x = frexp(3.0f, e.x); o[0] = v.x; }

//- bad
kernel void k(device float4 *o) { device float *p = &o[0].z; *p = 1; }

//- bad
kernel void k(device float4 *o) { threadgroup float4 t[4]; threadgroup float *p = &t[1].x; *p = 1; o[0] = t[1]; }

//- bad
kernel void k(constant float4 *c, device float *o) { constant float *p = &c->x; o[0] = *p; }

//- bad
kernel void k(constant float4 *c, device float *o) { constant float &p = c[0].w; o[0] = p; }

//- bad
struct S { float4 v; };
kernel void k(device S *s) { device float &r = s->v.x; r = 1; } // <-

//- bad
struct S { float3 v; };
void add(device float *p, float x) { *p += x; }
kernel void k(device S *s) { add(&s[1].v.y, 2); } // <-

//- bad
kernel void k(device float4x4 *o) { device float *p = &o[0][1][2]; *p = 1; }

//- bad
kernel void k(device float *o) { float4 v = 1; auto &&r = v.x; auto p = &v.xy; o[0] = r; }

//- good
kernel void k(device float *o) { float4 v = 1; thread const float &r = v.x; thread float4 *p = &v; thread float *q = (thread float *)p; q[1] = 2; o[0] = r + (*p).y + p->z; }

//- good
struct S { float4 v; float a[4]; };
kernel void k(device S *s) { device float &r = s->a[1]; r = 1; device float4 *p = &s->v; p->x = 2; device float *q = &s->a[0]; *q = (*p)[2]; s[0].v.x += 1; s[0].v[1]++; }

//- good
static_assert(sizeof(float3) == 16 && sizeof(packed_float3) == 12 && sizeof(half3) == 8 && alignof(float4) == 16, "");
static_assert(sizeof(bool3) == 4 && sizeof(float3x3) == 48 && sizeof(size_t) == 8 && sizeof(long) == 8 && sizeof(bool) == 1, "");
static_assert(sizeof(half2x4) == 16 && alignof(packed_float3) == 4 && sizeof(char3) == 4 && sizeof(float2x2) == 16, "");
kernel void k(device float *o) { o[0] = 1; }

//- good
kernel void k(device packed_float3 *p, device float3 *v) { v[0] = p[0]; p[1] = v[1]; p[2] = p[0] * 2.0f; p[3].x = 1; p[4][1] = 2; v[2] = p[0] + p[1]; v[3] = v[0] * p[2]; }

//- bad
kernel void k(device float4x4 *o, constant uint &n) { o[0] = o[1] * n; }

//- bad
kernel void k(device float2x2 *o) { o[0] = 3 * o[1]; }

//- good
kernel void k(device float4x4 *o, constant uint &n) { o[0] = o[1] * float(n); o[2] = float(n) * o[3]; o[4] = o[5] + o[6] - o[7]; o[8] = -o[9]; }

//- bad
kernel void k(device float4x3 *m, device float3 *v) { v[0] = m[0] * v[1]; }

//- good
kernel void k(device float4x3 *m, device float4 *v, device float3 *w) { w[0] = m[0] * v[1]; v[2] = w[1] * m[1]; float3x3 p = float2x3(1) * float3x2(1); w[2] = p[0]; float3x2 q = transpose(float2x3(1)); w[3] = float3(q[0], 1); }

//- bad
kernel void k(device float *o) { float2x3 a = float2x3(1); float2x3 b = a * a; o[0] = b[0][0]; }

//- bad
kernel void k(device float *o) { o[0] = determinant(float2x3(1)); }

//- bad
kernel void k(device float4x4 *o) { o[0] = inverse(o[1]); }

//- bad
kernel void k(device float *o) { o[0] = dot(float3(1), float4(1)); }

//- bad
kernel void k(device float *o) { o[0] = cross(float4(1), float4(2)).x; }

//- bad
kernel void k(device uint *o) { o[0] = distance(uint3(1), uint3(2)); }

//- bad
kernel void k(device int *o) { int3 a = int3(o[0]); o[1] = dot(a, a); }

//- bad
kernel void k(device float *o) { short2 a = short2(1); o[0] = metal::dot(a, short2(2)); }

//- good
kernel void k(device float *o, device half *h) { o[0] = dot(float3(1), float3(2)) + length(float2(3, 4)); h[0] = dot(half4(1), half4(2)); o[1] = distance(float2(0), float2(1)) + length_squared(float3(1)) + normalize(float3(1)).x + cross(float3(1), float3(2)).y; }

//- bad
kernel void k(device uint *o) { int n = 3; o[0] = max(o[1], n); }

//- bad
kernel void k(device uint *o) { o[0] = min(o[1], 3); }

//- bad
kernel void k(device float *o) { o[0] = clamp(o[1], 0, 1); }

//- bad
kernel void k(device float *o) { o[0] = max(0, o[1]); }

//- bad
kernel void k(device float *o, device half *h) { o[0] = max(h[0], o[1]); }

//- bad
kernel void k(device ulong *o, constant uint &n) { o[0] = min(o[1], n); }

//- good
kernel void k(device float *o, device uint *u, device half *h, device short *s) { o[0] = max(0.0f, o[1]); u[0] = min(u[1], 3u); h[0] = max(h[1], 0.0h); s[0] = max(s[1], s[2]); o[2] = clamp(o[1], 0.0f, 1.0f); u[1] = clamp(u[2], 0u, 9u); o[3] = abs(-1) + abs(o[1]); }

//- bad
kernel void k(device float *o) { o[0] = saturate(3); }

//- bad
kernel void k(device float *o) { o[0] = erf(o[1]); }

//- bad
kernel void k(device float *o) { o[0] = log1p(o[1]); }

//- bad
kernel void k(device float *o) { o[0] = hypot(o[1], o[2]); }

//- bad
kernel void k(device float *o) { o[0] = atan(o[1], o[2]); }

//- bad
kernel void k(device float *o) { o[0] = lgamma(o[1]); }

//- bad
kernel void k(device float *o) { o[0] = M_PI; }

//- bad
kernel void k(device float *o) { o[0] = DBL_MAX; }

//- bad
kernel void k(device float *o) { printf("%f", o[0]); }

//- bad
kernel void k(device float *o) { o[0] = popcount(1.5f); }

//- bad
kernel void k(device float *o) { o[0] = clz(o[1]); }

//- good
kernel void k(device float *o, device uint *u) { o[0] = M_PI_F + M_PI_H + M_E_F + FLT_EPSILON + HALF_MAX + HUGE_VALF + NAN + MAXFLOAT + MAXHALF + M_SQRT2_F; u[0] = popcount(u[1]) + clz(u[2]) + ctz(u[3]) + rotate(u[4], 3u) + reverse_bits(u[5]) + extract_bits(u[6], 1, 3) + insert_bits(u[7], u[8], 1, 3) + mulhi(u[0], u[1]) + hadd(u[2], u[3]) + rhadd(u[4], u[5]) + absdiff(u[6], u[7]) + addsat(u[0], u[1]) + subsat(u[0], u[1]) + madhi(u[0], u[1], u[2]); }

//- good
kernel void k(device float *o) { o[0] = exp10(o[1]) + sinpi(o[1]) + cospi(o[2]) + tanpi(o[3]) + powr(o[1], o[2]) + fdim(o[1], o[2]) + copysign(o[1], o[2]) + ldexp(o[1], 3) + fract(o[1]) + rint(o[2]) + trunc(o[3]) + sign(o[4]) + step(o[1], o[2]) + smoothstep(0.0f, 1.0f, o[3]) + saturate(o[4]) + fmod(o[1], o[2]) + isnormal(o[1]) + signbit(o[2]) + nextafter(o[1], o[2]) + asinh(o[1]) + ilogb(o[2]); }

//- bad
kernel void k(device float *o) { float4 v(float2(1), 2); o[0] = v.x; }

//- bad
kernel void k(device float *o) { o[0] = float2(1, 2, 3).x; }

//- good
kernel void k(device float *o) { float4 v(1, float2(2), 3); float3 w(v.xy, 1); float4 x{1, 2, 3, 4}; float2 y = {1}; int3 z = int3(w); o[0] = v.x + w.y + x.z + y.x + z.z; }

//- good
template <typename T, int N> T total(vec<T, N> v) { T s = 0; for (int i = 0; i < N; i++) s += v[i]; return s; }
template <typename T> struct Lanes { static constant constexpr int n = 1; };
template <typename T, int N> struct Lanes<vec<T, N>> { static constant constexpr int n = N; };
kernel void k(device float *o) { o[0] = total(float3(1)) + total(vec<half, 2>(1)) + Lanes<float4>::n + Lanes<int>::n; }

//- good
struct S { float4 v; S(float2 a) : v(a, 1, 2) {} };
kernel void k(device float *o) { float4 v(float2(1), 2, 3); float3 w(1, 2, 3); uint2 u(3); const half2 h(1, 2); float2 g(w.xy); vec<int, 3> n(int2(1), 2); o[0] = v.x + u.y + h.x + g.y + n.z + S(g).v.w; }

//- bad
kernel void k(device float *o) { float3 w(1, 2); o[0] = w.x; }

//- bad
kernel void k(device float *o) { float3 v(1); float2 w(v); o[0] = w.x; }

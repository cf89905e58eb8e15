// The runtime library of kernels that Apple compiled: what their intrinsics need beyond instructions. It is made of the same functions
// as metal_stdlib here, so that a kernel from a metallib and one from source meet, shuffle and multiply alike.
#include "softmetal.h"

const softmetal::Runtime *softmetal_runtime;
unsigned softmetal::softmetal_static_memory = 0;

#define SOFTMETAL_EXPORT __attribute__((visibility("hidden"), no_sanitize("thread")))
#define SOFTMETAL_PLACE const char *file, unsigned site

using namespace metal;

extern "C" {
__attribute__((visibility("default"), no_sanitize("thread"))) void softmetal_attach(const softmetal::Runtime *r) { softmetal_runtime = r; }

// Memory and positions.
SOFTMETAL_EXPORT char *softmetal_air_group_memory() { return softmetal::current_lane()->group->group_memory; }
SOFTMETAL_EXPORT uint softmetal_air_width() { return _impl::width(); }
SOFTMETAL_EXPORT uint softmetal_air_matrix_row() { return _impl::matrix_row(softmetal::current_lane()->lane); }
SOFTMETAL_EXPORT uint softmetal_air_matrix_column() { return _impl::matrix_column(softmetal::current_lane()->lane); }

// Maths that the C library lacks.
SOFTMETAL_EXPORT float softmetal_exp10(float x) { return exp10(x); }
SOFTMETAL_EXPORT float softmetal_fract(float x) { return fract(x); }
SOFTMETAL_EXPORT float softmetal_sinpi(float x) { return sinpi(x); }
SOFTMETAL_EXPORT float softmetal_cospi(float x) { return cospi(x); }
SOFTMETAL_EXPORT float softmetal_tanpi(float x) { return tanpi(x); }

// Meeting points.
SOFTMETAL_EXPORT void softmetal_air_barrier(uint flags, SOFTMETAL_PLACE) { threadgroup_barrier(mem_flags(flags), file, site); }
SOFTMETAL_EXPORT void softmetal_air_simd_barrier(SOFTMETAL_PLACE) { simdgroup_barrier(mem_flags::mem_none, file, site); }
SOFTMETAL_EXPORT void softmetal_air_matrix_memory(SOFTMETAL_PLACE) { _impl::meet(file, site); }
SOFTMETAL_EXPORT uint softmetal_air_simd_all(uint v, SOFTMETAL_PLACE) { return simd_all(v, file, site); }
SOFTMETAL_EXPORT uint softmetal_air_simd_any(uint v, SOFTMETAL_PLACE) { return simd_any(v, file, site); }
SOFTMETAL_EXPORT uint softmetal_air_quad_all(uint v, SOFTMETAL_PLACE) { return quad_all(v, file, site); }
SOFTMETAL_EXPORT uint softmetal_air_quad_any(uint v, SOFTMETAL_PLACE) { return quad_any(v, file, site); }
SOFTMETAL_EXPORT uint softmetal_air_simd_is_first(SOFTMETAL_PLACE) { return simd_is_first(file, site); }
SOFTMETAL_EXPORT uint softmetal_air_quad_is_first(SOFTMETAL_PLACE) { return quad_is_first(file, site); }
SOFTMETAL_EXPORT ulong softmetal_air_simd_ballot(uint v, SOFTMETAL_PLACE) { return ulong(simd_ballot(v, file, site)); }
SOFTMETAL_EXPORT ulong softmetal_air_simd_active(SOFTMETAL_PLACE) { return ulong(simd_active_threads_mask(file, site)); }

// Small integers travel as int: no calling convention leaves its upper bits open.
#define SOFTMETAL_AIR_ONE(group, name, suffix, T, R) \
  SOFTMETAL_EXPORT R softmetal_air_##group##_##name##_##suffix(R v, SOFTMETAL_PLACE) { return R(group##_##name(T(v), file, site)); }
#define SOFTMETAL_AIR_TWO(group, name, suffix, T, R) \
  SOFTMETAL_EXPORT R softmetal_air_##group##_##name##_##suffix(R v, uint k, SOFTMETAL_PLACE) { return R(group##_##name(T(v), ushort(k), file, site)); }
#define SOFTMETAL_AIR_FILL(group, name, suffix, T, R)                                                                     \
  SOFTMETAL_EXPORT R softmetal_air_##group##_##name##_##suffix(R v, R filling, uint k, uint modulo, SOFTMETAL_PLACE) {    \
    return R(group##_##name(T(v), T(filling), ushort(k), ushort(modulo), file, site));                                    \
  }
#define SOFTMETAL_AIR_BITS(group, suffix, T, R) \
  SOFTMETAL_AIR_ONE(group, and, suffix, T, R) SOFTMETAL_AIR_ONE(group, or, suffix, T, R) SOFTMETAL_AIR_ONE(group, xor, suffix, T, R)
#define SOFTMETAL_AIR_GROUP(group, suffix, T, R)                                                                          \
  SOFTMETAL_AIR_ONE(group, sum, suffix, T, R) SOFTMETAL_AIR_ONE(group, product, suffix, T, R)                             \
  SOFTMETAL_AIR_ONE(group, min, suffix, T, R) SOFTMETAL_AIR_ONE(group, max, suffix, T, R)                                 \
  SOFTMETAL_AIR_ONE(group, prefix_exclusive_sum, suffix, T, R) SOFTMETAL_AIR_ONE(group, prefix_exclusive_product, suffix, T, R) \
  SOFTMETAL_AIR_ONE(group, prefix_inclusive_sum, suffix, T, R) SOFTMETAL_AIR_ONE(group, prefix_inclusive_product, suffix, T, R) \
  SOFTMETAL_AIR_ONE(group, broadcast_first, suffix, T, R) SOFTMETAL_AIR_TWO(group, broadcast, suffix, T, R)               \
  SOFTMETAL_AIR_TWO(group, shuffle, suffix, T, R) SOFTMETAL_AIR_TWO(group, shuffle_up, suffix, T, R)                      \
  SOFTMETAL_AIR_TWO(group, shuffle_down, suffix, T, R) SOFTMETAL_AIR_TWO(group, shuffle_xor, suffix, T, R)                \
  SOFTMETAL_AIR_TWO(group, shuffle_rotate_up, suffix, T, R) SOFTMETAL_AIR_TWO(group, shuffle_rotate_down, suffix, T, R)   \
  SOFTMETAL_AIR_FILL(group, shuffle_and_fill_up, suffix, T, R) SOFTMETAL_AIR_FILL(group, shuffle_and_fill_down, suffix, T, R)
#define SOFTMETAL_AIR_TYPE(suffix, T, R) SOFTMETAL_AIR_GROUP(simd, suffix, T, R) SOFTMETAL_AIR_GROUP(quad, suffix, T, R)
#define SOFTMETAL_AIR_INTEGER(suffix, T, R) \
  SOFTMETAL_AIR_TYPE(suffix, T, R) SOFTMETAL_AIR_BITS(simd, suffix, T, R) SOFTMETAL_AIR_BITS(quad, suffix, T, R)
SOFTMETAL_AIR_INTEGER(i8, char, int) SOFTMETAL_AIR_INTEGER(u8, uchar, uint) SOFTMETAL_AIR_INTEGER(i16, short, int)
SOFTMETAL_AIR_INTEGER(u16, ushort, uint) SOFTMETAL_AIR_INTEGER(i32, int, int) SOFTMETAL_AIR_INTEGER(u32, uint, uint)
SOFTMETAL_AIR_TYPE(f16, half, half) SOFTMETAL_AIR_TYPE(f32, float, float)
}

#ifndef SOFTMETAL_NO_SIMDGROUP_MATRIX
namespace {
// What a lane gives and gets: two elements of each factor, of the addend, and of the result.
struct Elements {
  float a[2], b[2], c[2], d[2];
};

template <bool Accumulate> ulong product(void **slots, ulong active) {
  float a[64] = {}, b[64] = {}, c[64] = {}, d[64];
  _impl::each(active, [&](int l) {
    const Elements &e = *static_cast<const Elements *>(slots[l]);
    unsigned at = _impl::matrix_row(l) * 8 + _impl::matrix_column(l);
    for (unsigned i = 0; i < 2; i++) a[at + i] = e.a[i], b[at + i] = e.b[i], c[at + i] = e.c[i];
  });
  _impl::product<Accumulate>(d, a, b, c);
  _impl::each(active, [&](int l) {
    unsigned at = _impl::matrix_row(l) * 8 + _impl::matrix_column(l);
    Elements &e = *static_cast<Elements *>(slots[l]);
    e.d[0] = d[at], e.d[1] = d[at + 1];
  });
  return 0;
}

template <bool Accumulate> void multiply(Elements *e, const char *file, unsigned site) {
  if (!Accumulate) e->c[0] = e->c[1] = 0;
  softmetal_runtime->collective(softmetal::current_lane(), e, &product<Accumulate>, file, site, softmetal::all_lanes);
#ifdef SOFTMETAL_CHECK
  if (_impl::leads()) softmetal_runtime->count(softmetal::current_lane(), _impl::counts_matrix_product, 1);
#endif
}
} // namespace

extern "C" {
SOFTMETAL_EXPORT void softmetal_air_multiply_accumulate(Elements *e, SOFTMETAL_PLACE) { multiply<true>(e, file, site); }
SOFTMETAL_EXPORT void softmetal_air_multiply(Elements *e, SOFTMETAL_PLACE) { multiply<false>(e, file, site); }
}
#endif

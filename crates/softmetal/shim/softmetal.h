// Everything a kernel sees, precompiled once per set of compiler flags.
#pragma once
#ifdef SOFTMETAL_HARDWARE
// Only a kernel's own variables begin with garbage: ours are set before they are read.
#pragma clang attribute push(__attribute__((uninitialized)), apply_to = variable(is_local))
#endif
#include "abi.h"
#include "types.h"
#include "indirect.h"
#ifdef SOFTMETAL_CHECK
extern "C" void softmetal_note_atomic(void *p, unsigned long size, unsigned kind);
#endif
#include "traits.h"
#include "limits.h"
#include "wide.h"
#include "vec.h"
#include "matrix.h"
#include "approximate.h"
#include "math.h"
#include "integer.h"
#include "sync.h"
#include "simd.h"
#ifndef SOFTMETAL_NO_SIMDGROUP_MATRIX
#include "simdgroup_matrix.h"
#include "lane_matrix.h"
#endif
#include "internals.h"
#include "atomic.h"
#include "pack.h"
#include "log.h"
#include "sampler.h"
#include "texel.h"
#include "sampling.h"
#include "texture.h"
#include "tensor.h"
#include "entry.h"
#ifdef SOFTMETAL_CHECK
#include "check.h"
#endif

// Instantiated here so that every kernel finds them in the precompiled header.
namespace softmetal {
template struct argument<float *>;
inline void instantiate() {
  metal::float2 a(0); metal::float3 b(0); metal::float4 c(0); metal::half2 d(0); metal::half4 e(0);
  metal::uint2 f(0); metal::uint3 g(0); metal::int4 h(0); metal::uchar4 i(0); metal::ushort3 j(0); metal::bfloat4 k(0);
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j, (void)k;
}
} // namespace softmetal
#ifdef SOFTMETAL_HARDWARE
#pragma clang attribute pop
#endif

// <simd/simd.h> as Metal sees it: other names of vectors and matrices, which headers that hosts read too use.
#pragma once
#define SOFTMETAL_SIMD(T, n)      \
  typedef T##n vector_##T##n;     \
  typedef T##n simd_##T##n;       \
  namespace simd { using ::T##n; }
#define SOFTMETAL_SIMD_VECTORS(T) SOFTMETAL_SIMD(T, 2) SOFTMETAL_SIMD(T, 3) SOFTMETAL_SIMD(T, 4)
SOFTMETAL_SIMD_VECTORS(char) SOFTMETAL_SIMD_VECTORS(uchar) SOFTMETAL_SIMD_VECTORS(short) SOFTMETAL_SIMD_VECTORS(ushort)
SOFTMETAL_SIMD_VECTORS(int) SOFTMETAL_SIMD_VECTORS(uint) SOFTMETAL_SIMD_VECTORS(half) SOFTMETAL_SIMD_VECTORS(float)
#if __METAL_VERSION__ >= 220
SOFTMETAL_SIMD_VECTORS(long) SOFTMETAL_SIMD_VECTORS(ulong)
#endif
#undef SOFTMETAL_SIMD_VECTORS
#undef SOFTMETAL_SIMD
#define SOFTMETAL_SIMD(T, c, r)                   \
  typedef metal::T##c##x##r matrix_##T##c##x##r;  \
  typedef metal::T##c##x##r simd_##T##c##x##r;    \
  namespace simd { using metal::T##c##x##r; }
#define SOFTMETAL_SIMD_ROWS(T, c) SOFTMETAL_SIMD(T, c, 2) SOFTMETAL_SIMD(T, c, 3) SOFTMETAL_SIMD(T, c, 4)
SOFTMETAL_SIMD_ROWS(float, 2) SOFTMETAL_SIMD_ROWS(float, 3) SOFTMETAL_SIMD_ROWS(float, 4)
SOFTMETAL_SIMD_ROWS(half, 2) SOFTMETAL_SIMD_ROWS(half, 3) SOFTMETAL_SIMD_ROWS(half, 4)
#undef SOFTMETAL_SIMD_ROWS
#undef SOFTMETAL_SIMD

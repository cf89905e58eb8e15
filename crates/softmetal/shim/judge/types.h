// Scalars and vectors.
#pragma once
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;
typedef __bf16 bfloat;

bfloat operator""bf(long double v);
bfloat operator""BF(long double v);

namespace metal {
template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));
template <class T, int N> using packed_vec = T __attribute__((ext_vector_type(N)));
using ::uchar; using ::ushort; using ::uint; using ::ulong; using ::bfloat; using ::size_t; using ::ptrdiff_t;
using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t; using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t;
} // namespace metal

// A packed vector is a type of its own only where it is overloaded on, which is rare; its components have addresses.
#define SOFTMETAL_VEC_NAMES(T)                                                                       \
  typedef T T##2 __attribute__((ext_vector_type(2)));                                                \
  typedef T T##3 __attribute__((ext_vector_type(3)));                                                \
  typedef T T##4 __attribute__((ext_vector_type(4)));                                                \
  typedef T packed_##T##2 __attribute__((ext_vector_type(2)));                                       \
  typedef T packed_##T##3 __attribute__((ext_vector_type(3)));                                       \
  typedef T packed_##T##4 __attribute__((ext_vector_type(4)));                                       \
  namespace metal {                                                                                  \
  using ::T##2; using ::T##3; using ::T##4;                                                          \
  using ::packed_##T##2; using ::packed_##T##3; using ::packed_##T##4;                               \
  }
SOFTMETAL_VEC_NAMES(char) SOFTMETAL_VEC_NAMES(uchar) SOFTMETAL_VEC_NAMES(short)
SOFTMETAL_VEC_NAMES(ushort) SOFTMETAL_VEC_NAMES(int) SOFTMETAL_VEC_NAMES(uint) SOFTMETAL_VEC_NAMES(long)
SOFTMETAL_VEC_NAMES(ulong) SOFTMETAL_VEC_NAMES(half) SOFTMETAL_VEC_NAMES(bfloat) SOFTMETAL_VEC_NAMES(float)
#undef SOFTMETAL_VEC_NAMES
// Comparisons of vectors give integers here.
typedef int2 bool2;
typedef int3 bool3;
typedef int4 bool4;
namespace metal { using ::bool2; using ::bool3; using ::bool4; }

// float4(a, b, c): the rewriter calls this where it sees a vector type called.
template <class T> struct softmetal_lanes { static constexpr int value = 1; };
template <class T, int N> struct softmetal_lanes<T __attribute__((ext_vector_type(N)))> { static constexpr int value = N; };
template <class V, class... A> constexpr V softmetal_make(A...) {
  static_assert(sizeof...(A) < 2 || (softmetal_lanes<A>::value + ... + 0) == softmetal_lanes<V>::value,
                "metal: a vector is made from one scalar, one vector, or as many values as it has components");
  return V{};
}
template <class To, class From> constexpr To as_type(From) { return To{}; }
namespace metal { using ::as_type; }

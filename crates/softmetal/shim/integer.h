// metal_integer, metal_geometric.
#pragma once

namespace metal {

typedef __int128 _wide;
typedef unsigned __int128 _uwide;
#define SOFTMETAL_ONE(T, U, W)                                                                                         \
  SOFTMETAL_INLINE T clz(T x) { return U(x) == 0 ? sizeof(T) * 8 : __builtin_clzll(U(x)) - (64 - int(sizeof(T)) * 8); } \
  SOFTMETAL_INLINE T ctz(T x) { return U(x) == 0 ? sizeof(T) * 8 : __builtin_ctzll(U(x)); }                            \
  SOFTMETAL_INLINE T popcount(T x) { return __builtin_popcountll(U(x)); }                                              \
  SOFTMETAL_INLINE T reverse_bits(T x) {                                                                               \
    return T(U(__builtin_bitreverse64(ulong(U(x))) >> (64 - sizeof(T) * 8)));                                          \
  }                                                                                                                    \
  SOFTMETAL_INLINE T rotate(T x, T n) {                                                                                \
    uint b = sizeof(T) * 8, k = uint(U(n)) & (b - 1);                                                                  \
    return k == 0 ? x : T(U(U(x) << k) | U(U(x) >> (b - k)));                                                          \
  }                                                                                                                    \
  SOFTMETAL_INLINE T mulhi(T a, T b) { return T((W(a) * W(b)) >> (sizeof(T) * 8)); }                                   \
  SOFTMETAL_INLINE T madhi(T a, T b, T c) { return T(U(mulhi(a, b)) + U(c)); }                                         \
  SOFTMETAL_INLINE T addsat(T a, T b) {                                                                                \
    W s = W(a) + W(b);                                                                                                 \
    return s > W(numeric_limits<T>::max()) ? numeric_limits<T>::max() : s < W(numeric_limits<T>::min()) ? numeric_limits<T>::min() : T(s); \
  }                                                                                                                    \
  SOFTMETAL_INLINE T subsat(T a, T b) {                                                                                \
    W s = W(a) - W(b);                                                                                                 \
    return (T(-1) > T(0) && a < b) ? T(0) : s > W(numeric_limits<T>::max()) ? numeric_limits<T>::max()                 \
         : (T(-1) < T(0) && s < W(numeric_limits<T>::min())) ? numeric_limits<T>::min() : T(s);                        \
  }                                                                                                                    \
  SOFTMETAL_INLINE T madsat(T a, T b, T c) {                                                                           \
    W s = W(a) * W(b) + W(c);                                                                                          \
    return s > W(numeric_limits<T>::max()) ? numeric_limits<T>::max() : s < W(numeric_limits<T>::min()) ? numeric_limits<T>::min() : T(s); \
  }                                                                                                                    \
  SOFTMETAL_INLINE T hadd(T a, T b) { return T((W(a) + W(b)) >> 1); }                                                  \
  SOFTMETAL_INLINE T rhadd(T a, T b) { return T((W(a) + W(b) + 1) >> 1); }                                             \
  SOFTMETAL_INLINE U absdiff(T a, T b) { return a < b ? U(U(b) - U(a)) : U(U(a) - U(b)); }                             \
  SOFTMETAL_INLINE T extract_bits(T x, uint offset, uint bits) {                                                       \
    if (bits == 0) return 0;                                                                                           \
    uint up = sizeof(T) * 8 - bits;                                                                                    \
    return T(T(U(U(x) >> offset) << up) >> up);                                                                        \
  }                                                                                                                    \
  SOFTMETAL_INLINE T insert_bits(T base, T insert, uint offset, uint bits) {                                           \
    U m = bits >= sizeof(T) * 8 ? U(~U(0)) : U(U(U(1) << bits) - 1);                                                   \
    return T((U(base) & U(~U(m << offset))) | U((U(insert) & m) << offset));                                           \
  }
SOFTMETAL_ONE(char, uchar, int) SOFTMETAL_ONE(int8_t, uchar, int) SOFTMETAL_ONE(uchar, uchar, int) SOFTMETAL_ONE(short, ushort, int) SOFTMETAL_ONE(ushort, ushort, long)
SOFTMETAL_ONE(int, uint, long) SOFTMETAL_ONE(uint, uint, ulong) SOFTMETAL_ONE(long, ulong, _wide) SOFTMETAL_ONE(ulong, ulong, _uwide)
#undef SOFTMETAL_ONE
SOFTMETAL_INLINE int mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
SOFTMETAL_INLINE uint mul24(uint a, uint b) { return (a & 0xffffff) * (b & 0xffffff); }
SOFTMETAL_INLINE int mad24(int a, int b, int c) { return mul24(a, b) + c; }
SOFTMETAL_INLINE uint mad24(uint a, uint b, uint c) { return mul24(a, b) + c; }
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> mul24(vec<T, N> a, vec<T, N> b) { return _map([](T x, T y) { return mul24(x, y); }, a, b); }
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> mad24(vec<T, N> a, vec<T, N> b, vec<T, N> c) { return mul24(a, b) + c; }

SOFTMETAL_VEC1(clz) SOFTMETAL_VEC1(ctz) SOFTMETAL_VEC1(popcount) SOFTMETAL_VEC1(reverse_bits)
SOFTMETAL_VEC2(rotate) SOFTMETAL_VEC2(mulhi) SOFTMETAL_VEC2(addsat) SOFTMETAL_VEC2(subsat) SOFTMETAL_VEC2(hadd) SOFTMETAL_VEC2(rhadd)
SOFTMETAL_VEC3(madsat) SOFTMETAL_VEC3(madhi)
template <class T, unsigned N> SOFTMETAL_INLINE auto absdiff(vec<T, N> x, vec<T, N> y) {
  return _map([](T a, T b) { return absdiff(a, b); }, x, y);
}
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> extract_bits(vec<T, N> x, uint offset, uint bits) {
  for (unsigned i = 0; i < N; i++) x[i] = extract_bits(x[i], offset, bits);
  return x;
}
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> insert_bits(vec<T, N> x, vec<T, N> y, uint offset, uint bits) {
  for (unsigned i = 0; i < N; i++) x[i] = insert_bits(x[i], y[i], offset, bits);
  return x;
}

// Geometry is for floating-point vectors.
template <class T> using _if_floating = enable_if_t<is_floating_point<T>::value>;
template <class T, class = _if_floating<T>> SOFTMETAL_INLINE T dot(vec<T, 2> a, vec<T, 2> b) { return a.x * b.x + a.y * b.y; }
template <class T, class = _if_floating<T>> SOFTMETAL_INLINE T dot(vec<T, 3> a, vec<T, 3> b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
template <class T, class = _if_floating<T>> SOFTMETAL_INLINE T dot(vec<T, 4> a, vec<T, 4> b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
template <class T, class = _if_floating<T>> SOFTMETAL_INLINE vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {
  return vec<T, 3>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
template <class T, unsigned N> SOFTMETAL_INLINE T length_squared(vec<T, N> a) { return dot(a, a); }
template <class T, unsigned N> SOFTMETAL_INLINE T length(vec<T, N> a) { return sqrt(dot(a, a)); }
template <class T, unsigned N> SOFTMETAL_INLINE T distance(vec<T, N> a, vec<T, N> b) { return length(a - b); }
template <class T, unsigned N> SOFTMETAL_INLINE T distance_squared(vec<T, N> a, vec<T, N> b) { return length_squared(a - b); }
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> normalize(vec<T, N> a) { return a * vec<T, N>(rsqrt(dot(a, a))); }
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> faceforward(vec<T, N> n, vec<T, N> i, vec<T, N> ref) { return dot(ref, i) < T(0) ? n : -n; }
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> reflect(vec<T, N> i, vec<T, N> n) { return i - n * vec<T, N>(T(2) * dot(n, i)); }
template <class T, unsigned N> SOFTMETAL_INLINE vec<T, N> refract(vec<T, N> i, vec<T, N> n, T eta) {
  T d = dot(n, i), k = T(1) - eta * eta * (T(1) - d * d);
  return k < T(0) ? vec<T, N>(T(0)) : i * vec<T, N>(eta) - n * vec<T, N>(eta * d + sqrt(k));
}
namespace precise { using metal::length; using metal::normalize; using metal::distance; }
namespace fast { using metal::length; using metal::normalize; using metal::distance; }
} // namespace metal

// metal_simdgroup and metal_quadgroup. A slot is the lane's own struct; the last lane to arrive computes for all.
#pragma once

namespace metal {
namespace _impl {
template <class T> struct Exchange {
  T in, out;
  uint a, b;
};
template <class T> SOFTMETAL_INLINE Exchange<T> &at(void **slots, int lane) { return *static_cast<Exchange<T> *>(slots[lane]); }

// Calls body(lane) for each active lane.
template <class F> SOFTMETAL_INLINE void each(ulong active, F body) {
  for (ulong m = active; m; m &= m - 1) body(__builtin_ctzl(m));
}

template <class T> SOFTMETAL_INLINE T run(T value, softmetal::Compute compute, uint a, uint b, const char *file, unsigned site) {
  Exchange<T> x;
  x.in = value;
  x.out = value;
  x.a = a;
  x.b = b;
  softmetal_runtime->collective(softmetal::current_lane(), &x, compute, file, site, softmetal::any_lanes);
  return x.out;
}

struct Sum { template <class T> static T apply(T a, T b) { return T(a + b); } template <class T> static T zero(T) { return T(0); } };
struct Product { template <class T> static T apply(T a, T b) { return T(a * b); } template <class T> static T zero(T) { return T(1); } };
struct Min { template <class T> static T apply(T a, T b) { return min(a, b); } };
struct Max { template <class T> static T apply(T a, T b) { return max(a, b); } };
struct And { template <class T> static T apply(T a, T b) { return T(a & b); } };
struct Or { template <class T> static T apply(T a, T b) { return T(a | b); } };
struct Xor { template <class T> static T apply(T a, T b) { return T(a ^ b); } };

// Reduces runs of `Width` lanes (the simdgroup, or quads) in a tree, as hardware does.
template <class Op, class T, int Width> ulong reduce(void **slots, ulong active) {
  for (int base = 0; base < 64; base += Width) {
    ulong part = Width == 64 ? active : (active >> base) & ((1ul << (Width & 63)) - 1);
    if (!part) continue;
    T value[Width];
    int n = 0;
    each(part, [&](int l) { value[n++] = at<T>(slots, base + l).in; });
    while (n > 1) {
      int half_n = n / 2;
      for (int i = 0; i < half_n; i++) value[i] = Op::apply(value[i], value[n - 1 - i]);
      n -= half_n;
    }
    each(part, [&](int l) { at<T>(slots, base + l).out = value[0]; });
  }
  return 0;
}
template <class Op, class T, int Width, bool Inclusive> ulong prefix(void **slots, ulong active) {
  for (int base = 0; base < 64; base += Width) {
    ulong part = Width == 64 ? active : (active >> base) & ((1ul << (Width & 63)) - 1);
    T sum = Op::zero(T());
    each(part, [&](int l) {
      Exchange<T> &x = at<T>(slots, base + l);
      T before = sum;
      sum = Op::apply(sum, x.in);
      x.out = Inclusive ? sum : before;
    });
  }
  return 0;
}

// How a shuffle finds its source: from the lane and the two arguments.
struct Direct { static int source(int, int a, int, int base, int) { return base + a; } };
struct Up { static int source(int l, int a, int, int base, int) { return l - a < base ? l : l - a; } };
struct Down { static int source(int l, int a, int, int base, int width) { return l + a >= base + width ? l : l + a; } };
struct XorLane { static int source(int l, int a, int, int base, int) { return base + ((l - base) ^ a); } };
struct RotateUp { static int source(int l, int a, int, int base, int width) { return base + (l - base + width - a % width) % width; } };
struct RotateDown { static int source(int l, int a, int, int base, int width) { return base + (l - base + a) % width; } };

// `Width` 0 means the whole simdgroup, whose width the lane stored in `b`.
template <class Where, class T, int Width> ulong shuffle(void **slots, ulong active) {
  ulong undefined = 0;
  each(active, [&](int l) {
    Exchange<T> &x = at<T>(slots, l);
    int width = Width ? Width : int(x.b), base = l / width * width;
    int from = Where::source(l, int(x.a), int(x.b), base, width);
    if (from >= 0 && from < 64 && (active >> from & 1)) x.out = at<T>(slots, from).in;
    else undefined |= 1ul << l;
  });
  return undefined;
}
template <class T> ulong ballot(void **slots, ulong active) {
  ulong votes = 0;
  each(active, [&](int l) { votes |= ulong(at<T>(slots, l).in != 0) << l; });
  each(active, [&](int l) { at<T>(slots, l).out = T(votes); });
  return 0;
}
inline ulong active_mask(void **slots, ulong active) {
  each(active, [&](int l) { at<ulong>(slots, l).out = active; });
  return 0;
}

// Shift a lane in from another value: lanes past the end take `filling`.
template <class T> struct Fill { T data, filling; };
template <class T> SOFTMETAL_INLINE Exchange<Fill<T>> &fill_at(void **slots, int lane) { return at<Fill<T>>(slots, lane); }
template <class T, bool IsUp> ulong fill_shift(void **slots, ulong active) {
  ulong undefined = 0;
  each(active, [&](int l) {
    auto &x = fill_at<T>(slots, l);
    int modulo = int(x.b), base = l / modulo * modulo, at_lane = l - base;
    int from = IsUp ? at_lane - int(x.a) : at_lane + int(x.a);
    bool filled = from < 0 || from >= modulo;
    int source = base + (from % modulo + modulo) % modulo;
    if (!(active >> source & 1)) undefined |= 1ul << l;
    else x.out.data = filled ? fill_at<T>(slots, source).in.filling : fill_at<T>(slots, source).in.data;
  });
  return undefined;
}
SOFTMETAL_INLINE uint width() { return softmetal::current_lane()->group->simd_width; }
} // namespace _impl

// What a simd or quad function may be given.
#define SOFTMETAL_SIMD_TYPE(T) \
  static_assert(__is_valid_simdgroup_type<T>::value, "simd and quad functions take integers of 8, 16 or 32 bits, half and float, and vectors of them")
#define SOFTMETAL_ANY_TYPE(T) SOFTMETAL_SIMD_TYPE(T)
#define SOFTMETAL_BIT_TYPE(T) \
  SOFTMETAL_SIMD_TYPE(T);     \
  static_assert(is_integral<make_scalar_t<T>>::value, "this simd function takes integers")
#define SOFTMETAL_REDUCE(name, Op, CHECK)                                                                                     \
  template <class T> inline T simd_##name(T v, SOFTMETAL_SITE) {                                                       \
    CHECK(T);                                                                                                          \
    return _impl::run<T>(v, &_impl::reduce<_impl::Op, T, 64>, 0, 0, SOFTMETAL_HERE);                                \
  }                                                                                                                    \
  template <class T> inline T quad_##name(T v, SOFTMETAL_SITE) {                                                       \
    CHECK(T);                                                                                                          \
    return _impl::run<T>(v, &_impl::reduce<_impl::Op, T, 4>, 0, 0, SOFTMETAL_HERE);                                 \
  }
SOFTMETAL_REDUCE(sum, Sum, SOFTMETAL_ANY_TYPE) SOFTMETAL_REDUCE(product, Product, SOFTMETAL_ANY_TYPE) SOFTMETAL_REDUCE(min, Min, SOFTMETAL_ANY_TYPE) SOFTMETAL_REDUCE(max, Max, SOFTMETAL_ANY_TYPE)
SOFTMETAL_REDUCE(and, And, SOFTMETAL_BIT_TYPE) SOFTMETAL_REDUCE(or, Or, SOFTMETAL_BIT_TYPE) SOFTMETAL_REDUCE(xor, Xor, SOFTMETAL_BIT_TYPE)
#undef SOFTMETAL_REDUCE

#define SOFTMETAL_PREFIX(name, Op, inclusive)                                                                          \
  template <class T> inline T simd_prefix_##name(T v, SOFTMETAL_SITE) {                                                \
    SOFTMETAL_SIMD_TYPE(T);                                                                                            \
    return _impl::run<T>(v, &_impl::prefix<_impl::Op, T, 64, inclusive>, 0, 0, SOFTMETAL_HERE);                     \
  }                                                                                                                    \
  template <class T> inline T quad_prefix_##name(T v, SOFTMETAL_SITE) {                                                \
    SOFTMETAL_SIMD_TYPE(T);                                                                                            \
    return _impl::run<T>(v, &_impl::prefix<_impl::Op, T, 4, inclusive>, 0, 0, SOFTMETAL_HERE);                      \
  }
SOFTMETAL_PREFIX(exclusive_sum, Sum, false) SOFTMETAL_PREFIX(inclusive_sum, Sum, true)
SOFTMETAL_PREFIX(exclusive_product, Product, false) SOFTMETAL_PREFIX(inclusive_product, Product, true)
#undef SOFTMETAL_PREFIX

#define SOFTMETAL_SHUFFLE(name, Where)                                                                                 \
  template <class T> inline T simd_##name(T v, ushort k, SOFTMETAL_SITE) {                                             \
    SOFTMETAL_SIMD_TYPE(T);                                                                                            \
    return _impl::run<T>(v, &_impl::shuffle<_impl::Where, T, 0>, k, _impl::width(), SOFTMETAL_HERE);               \
  }                                                                                                                    \
  template <class T> inline T quad_##name(T v, ushort k, SOFTMETAL_SITE) {                                             \
    SOFTMETAL_SIMD_TYPE(T);                                                                                            \
    return _impl::run<T>(v, &_impl::shuffle<_impl::Where, T, 4>, k, 4, SOFTMETAL_HERE);                             \
  }
SOFTMETAL_SHUFFLE(shuffle, Direct) SOFTMETAL_SHUFFLE(broadcast, Direct) SOFTMETAL_SHUFFLE(shuffle_up, Up) SOFTMETAL_SHUFFLE(shuffle_down, Down)
SOFTMETAL_SHUFFLE(shuffle_xor, XorLane) SOFTMETAL_SHUFFLE(shuffle_rotate_up, RotateUp) SOFTMETAL_SHUFFLE(shuffle_rotate_down, RotateDown)
#undef SOFTMETAL_SHUFFLE

template <class T> inline T simd_broadcast_first(T v, SOFTMETAL_SITE) {
  SOFTMETAL_SIMD_TYPE(T);
  softmetal::Compute first = [](void **slots, ulong active) -> ulong {
    T value = _impl::at<T>(slots, __builtin_ctzl(active)).in;
    _impl::each(active, [&](int l) { _impl::at<T>(slots, l).out = value; });
    return 0;
  };
  return _impl::run<T>(v, first, 0, 0, SOFTMETAL_HERE);
}
template <class T> inline T quad_broadcast_first(T v, SOFTMETAL_SITE) {
  SOFTMETAL_SIMD_TYPE(T);
  softmetal::Compute first = [](void **slots, ulong active) -> ulong {
    _impl::each(active, [&](int l) {
      ulong quad = active >> (l & ~3) & 15;
      _impl::at<T>(slots, l).out = _impl::at<T>(slots, (l & ~3) + __builtin_ctzl(quad)).in;
    });
    return 0;
  };
  return _impl::run<T>(v, first, 0, 0, SOFTMETAL_HERE);
}

#define SOFTMETAL_FILL(name, is_up)                                                                                    \
  template <class T> inline T simd_##name(T data, T filling, ushort delta, ushort modulo, SOFTMETAL_SITE) {            \
    SOFTMETAL_SIMD_TYPE(T);                                                                                            \
    return _impl::run(_impl::Fill<T>{data, filling}, &_impl::fill_shift<T, is_up>, delta, modulo, SOFTMETAL_HERE).data; \
  }                                                                                                                    \
  template <class T> inline T simd_##name(T data, T filling, ushort delta, SOFTMETAL_SITE) {                           \
    return simd_##name(data, filling, delta, ushort(_impl::width()), SOFTMETAL_HERE);                                 \
  }                                                                                                                    \
  template <class T> inline T quad_##name(T data, T filling, ushort delta, ushort modulo, SOFTMETAL_SITE) {            \
    return simd_##name(data, filling, delta, modulo, SOFTMETAL_HERE);                                                  \
  }                                                                                                                    \
  template <class T> inline T quad_##name(T data, T filling, ushort delta, SOFTMETAL_SITE) {                           \
    return simd_##name(data, filling, delta, ushort(4), SOFTMETAL_HERE);                                               \
  }
SOFTMETAL_FILL(shuffle_and_fill_up, true) SOFTMETAL_FILL(shuffle_and_fill_down, false)
#undef SOFTMETAL_FILL

// The lanes that voted, as a value.
struct simd_vote {
  typedef ulong vote_t;
  vote_t bits;
  simd_vote() = default;
  explicit constexpr simd_vote(vote_t v) : bits(v) {}
  explicit constexpr operator vote_t() const { return bits; }
  bool all() const { return bits == (_impl::width() == 64 ? ~0ul : (1ul << _impl::width()) - 1); }
  bool any() const { return bits != 0; }
};
struct quad_vote {
  typedef uint vote_t;
  vote_t bits;
  explicit constexpr quad_vote(vote_t v) : bits(v) {}
  explicit constexpr operator vote_t() const { return bits; }
  bool all() const { return bits == 15; }
  bool any() const { return bits != 0; }
};
inline simd_vote simd_ballot(bool v, SOFTMETAL_SITE) { return simd_vote(_impl::run<ulong>(v, &_impl::ballot<ulong>, 0, 0, SOFTMETAL_HERE)); }
inline simd_vote simd_active_threads_mask(SOFTMETAL_SITE) { return simd_vote(_impl::run<ulong>(1, &_impl::active_mask, 0, 0, SOFTMETAL_HERE)); }
inline bool simd_all(bool v, SOFTMETAL_SITE) { return _impl::run<uint>(v, &_impl::reduce<_impl::And, uint, 64>, 0, 0, SOFTMETAL_HERE); }
inline bool simd_any(bool v, SOFTMETAL_SITE) { return _impl::run<uint>(v, &_impl::reduce<_impl::Or, uint, 64>, 0, 0, SOFTMETAL_HERE); }
inline bool simd_is_helper_thread() { return false; }
inline bool simd_is_first(SOFTMETAL_SITE) {
  ulong mask = ulong(simd_active_threads_mask(SOFTMETAL_HERE));
  return uint(__builtin_ctzl(mask)) == softmetal::current_lane()->lane;
}
inline quad_vote quad_ballot(bool v, SOFTMETAL_SITE) {
  ulong all = _impl::run<ulong>(v, &_impl::ballot<ulong>, 0, 0, SOFTMETAL_HERE);
  return quad_vote(uint(all >> (softmetal::current_lane()->lane & ~3u)) & 15);
}
inline quad_vote quad_active_threads_mask(SOFTMETAL_SITE) {
  ulong all = _impl::run<ulong>(1, &_impl::active_mask, 0, 0, SOFTMETAL_HERE);
  return quad_vote(uint(all >> (softmetal::current_lane()->lane & ~3u)) & 15);
}
inline bool quad_all(bool v, SOFTMETAL_SITE) { return _impl::run<uint>(v, &_impl::reduce<_impl::And, uint, 4>, 0, 0, SOFTMETAL_HERE); }
inline bool quad_any(bool v, SOFTMETAL_SITE) { return _impl::run<uint>(v, &_impl::reduce<_impl::Or, uint, 4>, 0, 0, SOFTMETAL_HERE); }
inline bool quad_is_first(SOFTMETAL_SITE) {
  uint mask = uint(quad_active_threads_mask(SOFTMETAL_HERE));
  return uint(__builtin_ctz(mask)) == (softmetal::current_lane()->lane & 3u);
}
} // namespace metal

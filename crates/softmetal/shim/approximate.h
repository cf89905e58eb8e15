// Fast maths as a GPU has it: results that differ from the exact ones by no more than Apple's specification allows, so that a program
// that leans on more than that fails here, and not on a Mac. The difference is a function of the result; exact values that hardware
// hits, 0 and 1, stay.
#pragma once

namespace metal {
#ifdef SOFTMETAL_HARDWARE
// From -1 to 1, by the bits of a number.
inline __attribute__((always_inline)) float _noise(uint bits) {
  uint h = (bits ^ (bits >> 15)) * 0x9e3779b1u;
  return float(int((h ^ (h >> 16)) & 0xffff) - 0x8000) / 32768.0f;
}
inline __attribute__((always_inline)) bool _stays(float r) {
  float a = __builtin_fabsf(r);
  return a == 1.0f || !(a >= 1.17549435e-38f && a < 3e38f);
}
// Off by at most this many units in the last place.
inline __attribute__((always_inline)) float _off(float r, float ulps) {
  uint bits = __builtin_bit_cast(uint, r);
  return _stays(r) ? r : __builtin_bit_cast(float, bits + uint(int(_noise(bits) * ulps)));
}
// Off by at most this much.
inline __attribute__((always_inline)) float _near(float r, float error) { return _stays(r) ? r : r + _noise(__builtin_bit_cast(uint, r)) * error; }
// pow is exp2(y * log2(x)), so its error grows with the exponent of the result.
inline __attribute__((always_inline)) float _power(float r) {
  int exponent = int(__builtin_bit_cast(uint, r) >> 23 & 255) - 127;
  return _off(r, 3.0f + 2.0f * float(exponent < 0 ? -exponent : exponent));
}
inline __attribute__((always_inline)) float _logarithm(float r, float x, float error, float ulps) {
  return x >= 0.5f && x <= 2.0f ? _near(r, error) : _off(r, ulps);
}
#endif
} // namespace metal

// The two readings of the table of functions. EXACT stands when fast maths is off, FAST when it is on.
#define SOFTMETAL_EXACT_OFF(r, ulps) (r)
#define SOFTMETAL_EXACT_NEAR(r, error) (r)
#define SOFTMETAL_EXACT_EXP(r) (r)
#define SOFTMETAL_EXACT_LOG(r, error, ulps) (r)
#define SOFTMETAL_EXACT_POW(r) (r)
#ifdef SOFTMETAL_HARDWARE
#define SOFTMETAL_FAST_OFF(r, ulps) _off(r, ulps)
#define SOFTMETAL_FAST_NEAR(r, error) _near(r, error)
#define SOFTMETAL_FAST_EXP(r) _off(r, 3.0f + __builtin_floorf(__builtin_fabsf(2.0f * x)))
#define SOFTMETAL_FAST_LOG(r, error, ulps) _logarithm(r, x, error, ulps)
#define SOFTMETAL_FAST_POW(r) _power(r)
#else
#define SOFTMETAL_FAST_OFF(r, ulps) (r)
#define SOFTMETAL_FAST_NEAR(r, error) (r)
#define SOFTMETAL_FAST_EXP(r) (r)
#define SOFTMETAL_FAST_LOG(r, error, ulps) (r)
#define SOFTMETAL_FAST_POW(r) (r)
#endif

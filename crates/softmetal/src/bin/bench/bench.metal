#include <metal_stdlib>
using namespace metal;

kernel void saxpy(device const float *x, device float *y, uint i [[thread_position_in_grid]]) { y[i] += 2 * x[i]; }

kernel void barriers(device float *o, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
  threadgroup float t[256];
  float v = o[i];
  for (int n = 0; n < 50; n++) {
    t[l] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    v = t[255 - l] * 0.5;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  o[i] = v;
}

kernel void simd_sums(device float *o, uint i [[thread_position_in_grid]]) {
  float v = o[i];
  for (int n = 0; n < 100; n++) v = simd_sum(v) * 0.03125;
  o[i] = v;
}

// C = A B for 256 x 256: a threadgroup makes a 32 x 32 tile, each of its four simdgroups a 16 x 16 quarter of it.
kernel void gemm(device const float *a, device const float *b, device float *c, uint2 g [[threadgroup_position_in_grid]],
                 uint l [[thread_index_in_threadgroup]], uint s [[simdgroup_index_in_threadgroup]]) {
  constexpr uint N = 256, K = 32;
  threadgroup float ta[32 * K], tb[K * 32];
  simdgroup_float8x8 acc[2][2];
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) acc[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0);
  uint row = s / 2 * 16, column = s % 2 * 16;
  for (uint k0 = 0; k0 < N; k0 += K) {
    for (uint i = l; i < 32 * K; i += 128) {
      ta[i] = a[(g.y * 32 + i / K) * N + k0 + i % K];
      tb[i] = b[(k0 + i / 32) * N + g.x * 32 + i % 32];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < K; k += 8) {
      simdgroup_float8x8 ma[2], mb[2];
      for (int i = 0; i < 2; i++) simdgroup_load(ma[i], ta + (row + 8 * i) * K + k, K);
      for (int j = 0; j < 2; j++) simdgroup_load(mb[j], tb + k * 32 + column + 8 * j, 32);
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) simdgroup_multiply_accumulate(acc[i][j], ma[i], mb[j], acc[i][j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) simdgroup_store(acc[i][j], c + (g.y * 32 + row + 8 * i) * N + g.x * 32 + column + 8 * j, N);
}

struct block_q4_K {
  half d, dmin;
  uchar scales[12];
  uchar qs[128];
};

// One row per simdgroup; lane l takes the sub-block l % 8 of every fourth block.
kernel void mul_mv_q4_K(device const block_q4_K *w, device const float *x, device float *y, uint g [[threadgroup_position_in_grid]],
                        uint l [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]]) {
  constexpr uint blocks = 2048 / 256;
  uint row = g * 4 + s, j = l % 8;
  float sum = 0;
  for (uint k = l / 8; k < blocks; k += 4) {
    device const block_q4_K &b = w[row * blocks + k];
    device const uchar *sc = b.scales;
    uint scale = j < 4 ? sc[j] & 63 : (sc[j + 4] & 15) | (sc[j - 4] >> 6 << 4);
    uint low = j < 4 ? sc[j + 4] & 63 : (sc[j + 4] >> 4) | (sc[j] >> 6 << 4);
    float dot = 0, total = 0;
    for (uint i = 0; i < 32; i++) {
      uint q = b.qs[j / 2 * 32 + i] >> (4 * (j % 2)) & 15;
      float v = x[k * 256 + j * 32 + i];
      dot += q * v;
      total += v;
    }
    sum += float(b.d) * scale * dot - float(b.dmin) * low * total;
  }
  sum = simd_sum(sum);
  if (l == 0) y[row] = sum;
}

//! The first things that must work.

mod common;
use common::*;

#[test]
fn elementwise() {
    let n = 1000usize;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let src = "kernel void saxpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant float &a [[buffer(2)]], uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }";
    let out = run(src, "saxpy", n as u32, 256, &[data(&a), data(&a), inline(2.0f32)]);
    assert_eq!(out.get::<f32>(1), a.iter().map(|v| v * 3.0).collect::<Vec<_>>());
}

#[test]
fn threadgroup_reduction_with_barriers() {
    let src = "
        kernel void total(device const float *x, device float *out, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]],
                          uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]]) {
            threadgroup float part[256];
            part[l] = x[i];
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for (uint s = n / 2; s > 0; s >>= 1) {
                if (l < s) part[l] += part[l + s];
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            if (l == 0) out[g] = part[0];
        }";
    let x: Vec<f32> = (0..1024).map(|i| (i % 7) as f32).collect();
    for r in [Run::default(), Run::checked()] {
        let out =
            r.run(src, "total", 1024, 256, &[data(&x), zeros::<f32>(4)]).unwrap_or_else(|e| panic!("{e}"));
        let want: Vec<f32> = x.chunks(256).map(|c| c.iter().sum()).collect();
        assert_eq!(out.get::<f32>(1), want);
    }
}

#[test]
fn simd_sum_and_divergence() {
    let src = "
        kernel void k(device uint *out, uint i [[thread_position_in_grid]]) {
            uint v = 0;
            if (i % 2 == 0) v = simd_sum(i); else v = simd_sum(1000 + i);
            out[i] = v;
        }";
    let out = run(src, "k", 64, 64, &[zeros::<u32>(64)]).get::<u32>(0);
    assert_eq!(out[0], (0..32).step_by(2).sum::<u32>());
    assert_eq!(out[1], (1..32).step_by(2).map(|i| i + 1000).sum::<u32>());
    assert_eq!(out[62], (32..64).step_by(2).sum::<u32>());
}

#[test]
fn simdgroup_matrix_product() {
    let src = "
        kernel void mm(device const float *a, device const float *b, device float *c) {
            simdgroup_float8x8 ma, mb, mc = simdgroup_float8x8(0);
            simdgroup_load(ma, a, 8);
            simdgroup_load(mb, b, 8);
            simdgroup_multiply_accumulate(mc, ma, mb, mc);
            mc.thread_elements()[0] *= 2;
            mc.thread_elements()[1] *= 2;
            simdgroup_store(mc, c, 8);
        }";
    let a: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..64).map(|i| ((i * 5) % 11) as f32).collect();
    let out = run(src, "mm", 32, 32, &[data(&a), data(&b), zeros::<f32>(64)]).get::<f32>(2);
    for r in 0..8 {
        for c in 0..8 {
            let want: f32 = (0..8).map(|k| a[r * 8 + k] * b[k * 8 + c]).sum();
            assert_eq!(out[r * 8 + c], 2.0 * want);
        }
    }
}

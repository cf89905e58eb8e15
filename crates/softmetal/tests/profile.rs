//! The profiler's counts are exact: kernels whose numbers can be worked out by hand.

mod common;
use common::*;
use softmetal::profile::{Counters, chip, svg, text};

fn counted(source: &str, grid: u32, threads: u32, args: &[Arg]) -> (Counters, Outcome) {
    let mut r = Run::default();
    r.device.profile = true;
    let out = r.run(source, "k", grid, threads, args).unwrap_or_else(|e| panic!("{e}"));
    (out.profiles[0].counters.clone(), out)
}

#[test]
fn bytes_flops_and_coalescing() {
    let src = "kernel void k(device const float *x, device float *y, uint i [[thread_position_in_grid]]) { y[i] = x[i STRIDE] * 2 + 1; }";
    let (c, out) = counted(&src.replace("STRIDE", ""), 256, 64, &[zeros::<f32>(256), zeros::<f32>(256)]);
    assert_eq!(
        (c.threads, c.threadgroups, c.device_bytes_read, c.device_bytes_written),
        (256, 4, 1024, 1024)
    );
    assert_eq!((c.flops_f32, c.flops_f16, c.barriers, c.atomics), (512, 0, 0, 0));
    // Eight simdgroups, one load and one store each, one line of 128 bytes per instruction.
    assert_eq!((c.memory_instructions, c.transactions), (16, 16));
    assert!(out.get::<f32>(1).iter().all(|&v| v == 1.0));
    let (c, _) =
        counted(&src.replace("STRIDE", "* 32"), 256, 64, &[zeros::<f32>(256 * 32), zeros::<f32>(256)]);
    assert_eq!((c.memory_instructions, c.transactions), (16, 8 * 32 + 8));
}

#[test]
fn half_arithmetic_and_vectors() {
    let src = "kernel void k(device const half4 *x, device half4 *y, uint i [[thread_position_in_grid]]) { y[i] = x[i] * x[i]; }";
    let (c, _) = counted(src, 32, 32, &[zeros::<u16>(128), zeros::<u16>(128)]);
    assert_eq!((c.flops_f16, c.flops_f32, c.device_bytes_read, c.device_bytes_written), (128, 0, 256, 256));
}

#[test]
fn threadgroup_memory_barriers_simd_and_atomics() {
    let src = "kernel void k(device atomic_uint *o, uint i [[thread_index_in_threadgroup]]) {
        threadgroup uint t[64];
        t[i] = i;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint s = simd_sum(t[63 - i]);
        if (simd_is_first()) atomic_fetch_add_explicit(o, s, memory_order_relaxed); }";
    let (c, out) = counted(src, 128, 64, &[zeros::<u32>(1)]);
    assert_eq!(
        (c.threadgroup_bytes_written, c.threadgroup_bytes_read, c.barriers, c.atomics),
        (512, 512, 2, 4)
    );
    // Two simd operations (the sum, and the mask behind simd_is_first) by four simdgroups.
    assert_eq!((c.simd_operations, c.divergent_simd_operations), (8, 0));
    assert_eq!(out.get::<u32>(0), [2 * 64 * 63 / 2]);
}

#[test]
fn matrix_products_are_counted_as_such() {
    let src = "kernel void k(device float *o) {
        simdgroup_float8x8 a, b = simdgroup_float8x8(1), c = simdgroup_float8x8(0);
        simdgroup_load(a, o, 8);
        for (int n = 0; n < 5; n++) simdgroup_multiply_accumulate(c, a, b, c);
        simdgroup_store(c, o, 8); }";
    let (c, _) = counted(src, 32, 32, &[zeros::<f32>(64)]);
    assert_eq!((c.matrix_products, c.matrix_memory, c.flops_f32), (5, 2, 0));
}

#[test]
fn text_and_picture_name_the_kernel() {
    let src = "kernel void k(device float *y, uint i [[thread_position_in_grid]]) { y[i] = y[i] + 1; }";
    let (_, out) = counted(src, 64, 32, &[zeros::<f32>(64)]);
    let m2 = chip("m2-max").unwrap();
    let lines = text(m2, &out.profiles[0]);
    assert!(
        lines.contains("kernel k: 64 threads in 2 threadgroups") && lines.contains("bound by memory"),
        "{lines}"
    );
    assert!(svg(m2, &out.profiles).contains(">k</text>"));
}

#[test]
fn constants_are_counted_apart() {
    let src = "kernel void k(device const float *x, constant uint &n, device float *y, uint i [[thread_position_in_grid]]) { if (i < n) y[i] = x[i]; }";
    let (c, _) = counted(src, 32, 32, &[zeros::<f32>(32), inline(32u32), zeros::<f32>(32)]);
    assert_eq!((c.device_bytes_read, c.constant_bytes_read, c.memory_instructions), (128, 128, 2));
}

#[test]
fn code_that_was_checked_before_is_counted_all_the_same() {
    let cache = tempfile::tempdir().unwrap();
    let src = "kernel void k(device float *y, uint i [[thread_position_in_grid]]) { y[i] = y[i] * 3.0f; }";
    let run = |mut r: Run| {
        r.device.cache_dir = Some(cache.path().into());
        r.run(src, "k", 32, 32, &[zeros::<f32>(32)]).unwrap().profiles
    };
    run(Run::checked());
    let mut counting = Run::default();
    counting.device.profile = true;
    assert_eq!(run(counting)[0].counters.flops_f32, 32);
}

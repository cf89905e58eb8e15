//! What a device does that behaves like hardware, and a kinder one does not.

mod common;
use common::*;
use softmetal::DeviceOptions;

fn run_on(hardware: bool, source: &str, args: &[Arg]) -> Outcome {
    let device = DeviceOptions { hardware, ..DeviceOptions::default() };
    Run { device, ..Run::default() }.run(source, "k", 32, 32, args).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn denormals_are_flushed() {
    let source = "kernel void k(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= 0.5f; }";
    let x = [f32::MIN_POSITIVE; 32];
    assert_eq!(run_on(true, source, &[data(&x)]).get::<f32>(0), [0.0; 32]);
    assert_eq!(run_on(false, source, &[data(&x)]).get::<f32>(0), [f32::MIN_POSITIVE / 2.0; 32]);
}

#[test]
fn threadgroup_memory_is_not_zero() {
    let source = "kernel void k(device uint *x, threadgroup uint *t [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {\n\
                  threadgroup_barrier(mem_flags::mem_threadgroup); x[i] = t[i]; }";
    let got = run_on(true, source, &[zeros::<u32>(32), Arg::Group(128)]).get::<u32>(0);
    assert_eq!(got, [u32::MAX; 32]);
}

/// Differences of a function of fast maths from the exact one, in units in the last place, over many arguments.
fn differences(function: &str) -> Vec<i64> {
    let source = format!(
        "kernel void k(device float *x, uint i [[thread_position_in_grid]]) {{ x[i] = {function}(x[i]); }}"
    );
    let x: Vec<f32> = (0..32).map(|i| 0.37 + 0.11 * i as f32).collect();
    let got = run_on(true, &source, &[data(&x)]).get::<f32>(0);
    let exact = run_on(false, &source, &[data(&x)]).get::<f32>(0);
    got.iter().zip(&exact).map(|(g, e)| i64::from(g.to_bits()) - i64::from(e.to_bits())).collect()
}

#[test]
fn fast_maths_is_off_within_what_apple_allows() {
    for (function, most) in
        [("exp", 12), ("atan", 5), ("rsqrt", 2), ("tanh", 5), ("log2", 10_000), ("sin", 100_000)]
    {
        let d = differences(function);
        assert!(d.iter().any(|n| *n != 0), "{function}: exact");
        assert!(d.iter().all(|n| n.abs() <= most), "{function}: {d:?}");
    }
    assert!(differences("precise::exp").iter().all(|n| *n == 0));
    assert!(differences("fast::exp").iter().any(|n| *n != 0));
    assert!(differences("floor").iter().all(|n| *n == 0));
}

#[test]
fn variables_without_a_value_hold_garbage() {
    let source = "kernel void k(device uint *x, uint i [[thread_position_in_grid]]) {\n\
                  uint a[4]; if (x[i] > 7) a[i % 4] = 1; x[i] = a[(i + 1) % 4]; }";
    let got = run_on(true, source, &[zeros::<u32>(32)]).get::<u32>(0);
    assert!(got.iter().all(|v| *v == 0xaaaa_aaaa), "{got:x?}");
}

//! How much memory evaluation takes, counted by the device's pool.

use std::sync::Arc;
use wootz::{DType, Device, Result, Tensor};
use wootz_cpu::CpuBackend;

#[test]
fn a_chain_needs_its_input_and_its_output() -> Result<()> {
    let device = Device::from_backend(Arc::new(CpuBackend::new()));
    let count = 1 << 22;
    let input = Tensor::full_on([count], 0.5, DType::F32, &device)?;
    input.eval()?;
    let mut x = input.clone();
    for i in 0..20 {
        x = if i % 2 == 0 { x.mul(1.01)?.add(&input)? } else { x.tanh()? };
    }
    x.eval()?;
    let bytes = 4 * count;
    let peak = device.memory().peak;
    assert!(peak as f64 <= 1.1 * (2 * bytes) as f64, "peak {peak}, input and output {}", 2 * bytes);
    Ok(())
}

#[test]
fn released_memory_is_used_again_and_can_be_given_back() -> Result<()> {
    let device = Device::from_backend(Arc::new(CpuBackend::new()));
    for _ in 0..10 {
        Tensor::full_on([1 << 16], 1.0, DType::F32, &device)?.add(1.0)?.eval()?;
    }
    let stats = device.memory();
    assert_eq!((stats.live, stats.misses), (0, 1), "{stats:?}");
    device.trim();
    assert_eq!(device.memory().cached, 0);
    Ok(())
}

#[test]
fn running_out_fails_one_evaluation_only() -> Result<()> {
    let device = Device::from_backend(Arc::new(CpuBackend::with_limit(1 << 20)));
    let kept = Tensor::full_on([1 << 10], 2.0, DType::F32, &device)?;
    kept.eval()?;
    let large = Tensor::full_on([1 << 20], 2.0, DType::F32, &device)?;
    let text = large.eval().unwrap_err().to_string();
    assert!(text.contains("cannot allocate") && text.contains("cpu"), "{text}");
    assert_eq!(kept.add(1.0)?.sum()?.to_f64()?, 3.0 * 1024.0);
    Ok(())
}

//! Automatic dispatch, tried with an artificial second device.

mod common;

use common::Artificial;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wootz::{CostModel, DType, Device, Result, Tensor};
use wootz_cpu::CpuBackend;
use wootz_plan::Kernel;

const CHEAP: CostModel = CostModel { submit: 1e-6, step: 1e-7, byte: 1e-10, flop: 1e-10, transfer: 1e-10 };
/// Slow to start, fast at work.
const LARGE: CostModel = CostModel { submit: 1e-3, step: 1e-6, byte: 1e-12, flop: 1e-13, transfer: 1e-11 };

fn pair(artificial: Artificial, costs: CostModel) -> (Device, Arc<Artificial>) {
    let cpu = Device::with_costs(Arc::new(CpuBackend::new()), CHEAP);
    let backend = Arc::new(artificial);
    let other = Device::with_costs(backend.clone(), costs);
    // The check at first use runs now, so that the tests can count what comes after.
    other.validation();
    backend.runs.store(0, Ordering::Relaxed);
    (Device::auto_over(vec![cpu, other]), backend)
}

fn runs(backend: &Artificial) -> usize {
    backend.runs.swap(0, Ordering::Relaxed)
}

#[test]
fn small_work_stays_and_large_work_goes() -> Result<()> {
    let (auto, other) = pair(Artificial::new("large"), LARGE);
    let small = Tensor::zeros([16], DType::F32)?.to_device(&auto)?;
    small.add(1.0)?.eval()?;
    assert_eq!(runs(&other), 0);
    let n = 512;
    let large = Tensor::zeros([n, n], DType::F32)?.to_device(&auto)?;
    let product = large.matmul(&large)?;
    assert_eq!(product.to_vec::<f32>()?, vec![0.0; n * n]);
    assert_eq!(runs(&other), 1);
    // The result lives there now; what is small but uses it pays no transfer either way, so it comes back.
    assert_eq!(product.narrow(0, 0, 1)?.narrow(1, 0, 4)?.add(2.0)?.to_vec::<f32>()?, [2.0; 4]);
    Ok(())
}

#[test]
fn a_family_that_fails_its_checks_is_never_used() -> Result<()> {
    let mut broken = Artificial::new("broken");
    broken.spoils = |plan| plan.steps.iter().any(|s| matches!(s.kernel, Kernel::Softmax { .. }));
    let free = CostModel { submit: 0.0, step: 0.0, byte: 0.0, flop: 0.0, transfer: 0.0 };
    let (auto, other) = pair(broken, free);
    let x = Tensor::zeros([4, 4], DType::F32)?.to_device(&auto)?;
    assert_eq!(x.softmax(-1)?.to_vec::<f32>()?, [0.25; 16]);
    assert_eq!(runs(&other), 0, "the cheapest device gives wrong results for softmax");
    assert_eq!(x.add(1.0)?.to_vec::<f32>()?, [1.0; 16]);
    assert!(runs(&other) > 0, "and right ones for everything else");
    Ok(())
}

#[test]
fn a_dtype_that_one_device_lacks_goes_to_the_other() -> Result<()> {
    let mut narrow = Artificial::new("narrow");
    narrow.refuses = |dtype| (dtype == DType::F64).then_some("no such registers");
    let free = CostModel { submit: 0.0, step: 0.0, byte: 0.0, flop: 0.0, transfer: 0.0 };
    let (auto, other) = pair(narrow, free);
    let x = Tensor::ones([8], DType::F64)?.to_device(&auto)?;
    assert_eq!(x.mul(3.0)?.sum()?.to_f64()?, 24.0);
    assert_eq!(runs(&other), 0);
    let refused = x.to_device(&Device::from_backend(other))?;
    let text = refused.add(1.0)?.eval().unwrap_err().to_string();
    assert!(text.contains("f64") && text.contains("narrow") && text.contains("no such registers"), "{text}");
    Ok(())
}

#[test]
fn measured_costs_are_positive_and_rank_sizes() -> Result<()> {
    let costs = CostModel::measure(&Device::cpu())?;
    assert!(costs.submit > 0.0 && costs.byte > 0.0 && costs.flop > 0.0, "{costs:?}");
    let plan = |n: usize| wootz::explain([&Tensor::zeros([n, n], DType::F32)?.copied()?.exp()?]);
    assert!(costs.estimate(&plan(512)?.plan) > costs.estimate(&plan(16)?.plan));
    Ok(())
}

#[test]
fn tensors_of_two_devices_do_not_mix_by_accident() -> Result<()> {
    let other = Artificial::new("other").device();
    let a = Tensor::zeros([2], DType::F32)?;
    let b = Tensor::zeros([2], DType::F32)?.to_device(&other)?;
    let text = a.add(&b).unwrap_err().to_string();
    assert!(text.contains("add") && text.contains("cpu") && text.contains("other"), "{text}");
    assert_eq!(a.add(b.to_device(a.device())?)?.to_vec::<f32>()?, [0.0, 0.0]);
    Ok(())
}

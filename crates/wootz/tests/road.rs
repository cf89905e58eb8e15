//! The one road from a graph to a device: compiled functions, `explain` and work that nobody waits for go the same way as
//! `eval`.

mod common;

use common::{Artificial, DEAR, FREE};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wootz::metal::{MetalBackend, SoftOptions};
use wootz::{DType, Device, Result, Tensor, compile, eval, eval_async};
use wootz_cpu::CpuBackend;
use wootz_plan::Kernel;

/// The CPU and an artificial device that costs nothing, and the choice between them.
fn auto(artificial: Artificial) -> (Device, Device, Arc<Artificial>) {
    let cpu = Device::with_costs(Arc::new(CpuBackend::new()), DEAR);
    let backend = Arc::new(artificial);
    let other = Device::with_costs(backend.clone(), FREE);
    other.validation();
    backend.runs.store(0, Ordering::Relaxed);
    (Device::auto_over(vec![cpu, other.clone()]), other, backend)
}

#[test]
fn a_compiled_function_on_auto_reaches_the_best_device() -> Result<()> {
    let (auto, other, backend) = auto(Artificial::new("gpu"));
    let weight = Tensor::ones([64, 64], DType::F32)?.to_device(&auto)?;
    let moved = other.traffic_stats();
    let function = compile(&auto, move |x| Ok(vec![x[0].matmul(&weight)?.add(1.0)?]));
    let x = Tensor::ones([2, 64], DType::F32)?.to_device(&auto)?;
    let y = function.call(&[&x])?.remove(0);
    assert_eq!(y.to_vec::<f32>()?, [65.0; 128]);
    assert_eq!(backend.runs.load(Ordering::Relaxed), 1, "it ran on the cheaper device");
    let first = other.traffic_stats() - moved;
    // What the function captured is there now; another call, and another signature, do not bring it again.
    function.call(&[&x])?;
    function.call(&[&Tensor::ones([3, 64], DType::F32)?.to_device(&auto)?])?;
    let later = other.traffic_stats() - moved;
    assert!(first.bytes_written >= 64 * 64 * 4, "{first:?}");
    assert!(later.bytes_written - first.bytes_written < 64 * 64 * 4, "{later:?} after {first:?}");
    assert!(function.explain(&[&x])?.to_string().starts_with("on gpu"));
    Ok(())
}

#[test]
fn explain_names_the_device_that_eval_would_take() -> Result<()> {
    let mut broken = Artificial::new("gpu");
    broken.spoils = |plan| plan.steps.iter().any(|s| matches!(s.kernel, Kernel::Softmax { .. }));
    let (auto, ..) = auto(broken);
    let x = Tensor::zeros([4, 4], DType::F32)?.to_device(&auto)?;
    assert_eq!(wootz::explain([&x.add(1.0)?])?.device.name(), "gpu");
    assert_eq!(wootz::explain([&x.softmax(-1)?])?.device.name(), "cpu");
    Ok(())
}

#[test]
fn a_compiled_function_has_the_dtypes_of_its_device_checked() -> Result<()> {
    let metal = Device::from_backend(Arc::new(MetalBackend::soft(SoftOptions::default())));
    let function = compile(&metal, |x| Ok(vec![x[0].cast(DType::F64)?.add(1.0)?]));
    let x = Tensor::ones([4], DType::F32)?.to_device(&metal)?;
    let text = function.call(&[&x]).unwrap_err().to_string();
    assert!(text.contains("f64") && text.contains("metal"), "{text}");
    Ok(())
}

#[test]
fn work_that_nobody_waits_for_is_waited_for_by_its_reader() -> Result<()> {
    let mut slow = Artificial::new("slow");
    slow.pending = true;
    let device = slow.device();
    let x = Tensor::ones([8], DType::F32)?.to_device(&device)?;
    let before = device.traffic_stats();
    let y = x.add(1.0)?;
    y.eval_async()?;
    let z = y.mul(3.0)?;
    eval_async([&z])?;
    let started = device.traffic_stats() - before;
    assert_eq!((started.submits, started.waits, started.bytes_read), (2, 0, 0));
    assert_eq!(z.to_vec::<f32>()?, [6.0; 8]);
    let read = device.traffic_stats() - before;
    assert_eq!((read.submits, read.waits, read.bytes_read), (2, 2, 32));
    eval([&y, &z])?;
    assert_eq!(device.traffic_stats() - before, read, "nothing is left to wait for");
    Ok(())
}

#[test]
fn a_run_that_fails_fails_all_who_read_from_it() -> Result<()> {
    let mut lost = Artificial::new("lost");
    (lost.pending, lost.fails) = (true, |number| number == 1);
    let device = lost.device();
    let x = Tensor::ones([8], DType::F32)?.copied()?.to_device(&device)?;
    let fine = x.add(1.0)?;
    eval_async([&fine])?;
    let failed = fine.mul(2.0)?;
    eval_async([&failed])?;
    let after = failed.add(5.0)?;
    eval_async([&after])?;
    for tensor in [&failed, &after] {
        let text = tensor.to_vec::<f32>().unwrap_err().to_string();
        assert!(text.contains("the device was lost"), "{text}");
        assert!(tensor.eval().is_err());
    }
    assert_eq!(fine.to_vec::<f32>()?, [2.0; 8], "what came before is there");
    assert_eq!(fine.add(1.0)?.to_vec::<f32>()?, [3.0; 8], "and the device goes on");
    Ok(())
}

#[test]
fn a_long_chain_of_unread_work_is_bounded() -> Result<()> {
    let mut slow = Artificial::new("slow");
    slow.pending = true;
    let device = slow.device();
    let mut x = Tensor::zeros([8], DType::F32)?.to_device(&device)?;
    for _ in 0..10_000 {
        x = x.add(1.0)?;
        x.eval_async()?;
    }
    assert_eq!(x.to_vec::<f32>()?, [10_000.0; 8]);
    Ok(())
}

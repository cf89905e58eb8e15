//! Failures on demand: whatever the system refuses, an operation ends in an error that can be told, leaves nothing behind, and the
//! next one is right. A sample of the operations by default; all of them with `WOOTZ_FULL=1`.

#![cfg(debug_assertions)]

use std::sync::Arc;
use wootz::check::{Level, bind, evaluate};
use wootz::metal::{MetalBackend, SoftOptions};
use wootz::{
    Backend, DType, Device, Error, Result, Tensor, load_npy, load_npz, load_safetensors, save_npy, save_npz,
    save_safetensors,
};
use wootz_backend::inject::{Point, arm, each_failure};
use wootz_conformance::{Case, cases};
use wootz_cpu::CpuBackend;

fn full() -> bool {
    std::env::var_os("WOOTZ_FULL").is_some_and(|v| v == "1")
}

/// Every `step`-th of the quick cases that the device takes, and the first of every family.
fn sample(device: &Device, step: usize) -> Vec<Case> {
    let mut seen = std::collections::HashSet::new();
    let mut wanted = |i: usize, case: &Case| i.is_multiple_of(step) | seen.insert(case.family);
    let list = cases(Level::Quick).into_iter().enumerate().filter(|(i, case)| wanted(*i, case));
    let possible = |case: &Case| matches!(run(device, case), Ok(got) if case.check(&got).is_ok());
    list.map(|(_, case)| case).filter(possible).collect()
}

fn run(device: &Device, case: &Case) -> Result<wootz_ir::reference::HostTensor> {
    let output = (case.build)(&bind(device, &case.leaves)?)?;
    Ok(evaluate(device, &[output])?.remove(0))
}

fn every_op_survives(backend: Arc<dyn Backend>, step: usize) {
    let device = Device::from_backend(backend.clone());
    let cases = sample(&device, if full() { 1 } else { step });
    assert!(cases.len() > 15, "{} cases", cases.len());
    // Without what the device keeps for the next run.
    device.trim();
    let before = backend.memory();
    let mut failures = 0;
    for case in &cases {
        for point in [Point::Memory, Point::Compile, Point::Submit, Point::Thread] {
            failures += each_failure(point, || -> Result<()> {
                if point == Point::Compile {
                    device.trim();
                }
                let got = run(&device, case)?;
                case.check(&got).unwrap_or_else(|e| panic!("{}: {e}", case.name));
                Ok(())
            });
        }
        device.trim();
        let after = backend.memory();
        assert!(
            after.live <= before.live && after.buffers <= before.buffers,
            "{} leaks: {after:?}, {before:?} before",
            case.name
        );
    }
    assert!(failures >= 3 * cases.len(), "{failures} failures in {} cases", cases.len());
}

#[test]
fn every_op_survives_every_failure_on_the_cpu() {
    every_op_survives(Arc::new(CpuBackend::with_limit(1 << 30)), 10);
}

#[test]
fn every_op_survives_every_failure_on_metal() {
    every_op_survives(Arc::new(MetalBackend::soft(SoftOptions::default())), 200);
}

#[cfg(feature = "webgpu")]
#[test]
fn every_op_survives_every_failure_on_webgpu() {
    match wootz_webgpu::WebGpuBackend::new() {
        Ok(backend) => every_op_survives(Arc::new(backend), 100),
        Err(error) => wootz_testkit::skipped(&error.to_string()),
    }
}

#[test]
fn working_memory_that_cannot_be_had_is_an_error_of_one_evaluation() -> Result<()> {
    let device = Device::from_backend(Arc::new(CpuBackend::with_limit(1 << 30)));
    let x = Tensor::ones_on([64, 64], DType::F32, &device)?;
    let failed = each_failure(Point::Memory, || -> Result<()> {
        let y = std::thread::scope(|scope| {
            // A thread of its own has no working memory yet.
            scope.spawn(|| x.exp()?.matmul(&x.sin()?)?.softmax(-1)?.to_vec::<f32>()).join().expect("no panic")
        })?;
        assert_eq!(y.len(), 4096);
        Ok(())
    });
    assert!(failed >= 3, "{failed}");
    Ok(())
}

#[test]
fn files_are_whole_or_absent() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let (old, new) = (Tensor::full([100], 1, DType::I32)?, Tensor::full([100], 2, DType::I32)?);
    let count = || std::fs::read_dir(folder.path()).expect("a folder").count();
    type Save = fn(&std::path::Path, &Tensor) -> Result<()>;
    type Load = fn(&std::path::Path) -> Result<Tensor>;
    let formats: [(&str, Save, Load); 3] = [
        ("x.npy", |p, t| save_npy(p, t), |p| load_npy(p)),
        ("x.npz", |p, t| save_npz(p, &[("t", t)]), |p| Ok(load_npz(p)?.remove(0).1)),
        ("x.safetensors", |p, t| save_safetensors(p, &[("t", t)]), |p| Ok(load_safetensors(p)?.remove(0).1)),
    ];
    for (files, (name, save, load)) in formats.into_iter().enumerate() {
        let path = folder.path().join(name);
        save(&path, &old)?;
        let failed = each_failure(Point::File, || -> Result<()> {
            let before = load(&path)?.to_vec::<i32>()?;
            let saved = save(&path, if before[0] == 1 { &new } else { &old });
            assert_eq!(count(), files + 1, "nothing is left beside {name}");
            let armed_again = load(&path).and_then(|t| t.to_vec::<i32>());
            if let Ok(after) = armed_again {
                assert!(after.iter().all(|v| *v == after[0]));
                assert_eq!(after[0] == before[0], saved.is_err(), "{name}: old or new, and as told");
            }
            saved
        });
        assert!(failed >= 5, "{name}: {failed}");
    }
    Ok(())
}

#[test]
fn a_failure_is_an_error_of_the_device_and_says_so() {
    let armed = arm(Point::Submit, 1);
    let x = Tensor::ones([4], DType::F32).and_then(|x| x.add(1.0)?.to_vec::<f32>());
    assert!(armed.fired());
    assert!(matches!(x, Err(Error::Device { .. })), "{x:?}");
}

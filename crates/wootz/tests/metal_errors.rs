//! What goes wrong on the Metal device is an error with the facts, and the device lives on.

use std::process::Command;
use std::sync::Arc;
use wootz::metal::{Argument, Grid, MetalBackend, SoftOptions, Storage};
use wootz::{Backend, CustomKernel, DType, Device, Error, GpuSource, Language, Result, Tensor};

fn metal(limit: usize) -> (Arc<MetalBackend>, Device) {
    let backend = Arc::new(MetalBackend::soft_with_limit(SoftOptions::default(), limit));
    (backend.clone(), Device::from_backend(backend))
}

fn msl(name: &str, text: &str, threads: usize) -> Arc<CustomKernel> {
    let source = GpuSource {
        language: Language::Msl,
        text: text.into(),
        entry: name.into(),
        grid: [threads, 1, 1],
        group: [threads.min(32), 1, 1],
        constants: vec![],
    };
    Arc::new(CustomKernel::new(name).with_source(source))
}

fn works(device: &Device) -> Result<()> {
    let x = Tensor::from_slice_on(&[1.0f32, 2.0, 3.0], device)?;
    assert_eq!(x.add(1.0)?.to_vec::<f32>()?, [2.0, 3.0, 4.0]);
    Ok(())
}

#[test]
fn a_kernel_that_does_not_compile_names_itself_and_the_line() -> Result<()> {
    let (_, device) = metal(1 << 30);
    let x = Tensor::from_slice_on(&[1.0f32], &device)?;
    let broken = "kernel void broken(device const float* x [[buffer(0)]], device float* y [[buffer(1)]]) {\n    y[0] = z;\n}";
    let y = Tensor::custom(&msl("broken", broken, 1), &[&x], [1], DType::F32)?;
    let message = y.to_vec::<f32>().unwrap_err().to_string();
    assert!(message.contains("broken") && message.contains(":2:") && message.contains("'z'"), "{message}");
    works(&device)
}

#[test]
fn a_command_buffer_that_fails_fails_alone() -> Result<()> {
    let (_, device) = metal(1 << 30);
    let x = Tensor::from_slice_on(&[0i32, 0], &device)?;
    let text = "#include <metal_stdlib>\nkernel void traps(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint i [[thread_position_in_grid]]) { y[i] = 7 / x[i]; }";
    let y = Tensor::custom(&msl("traps", text, 2), &[&x], [2], DType::I32)?;
    let message = y.to_vec::<i32>().unwrap_err().to_string();
    assert!(
        message.contains("metal") && message.contains("traps") && message.contains("faulted"),
        "{message}"
    );
    works(&device)
}

#[test]
fn out_of_memory_fails_one_evaluation() -> Result<()> {
    let (backend, device) = metal(1 << 20);
    let x = Tensor::full_on([1 << 20], 1.0, DType::F32, &device)?.add(1.0)?;
    match x.eval() {
        Err(Error::OutOfMemory { device, requested, limit, .. }) => {
            assert_eq!((device.as_str(), requested, limit), ("metal", 4 << 20, 1 << 20));
        }
        other => panic!("{other:?}"),
    }
    works(&device)?;
    assert!(backend.memory().live <= 1 << 20);
    Ok(())
}

#[test]
fn buffers_of_other_devices_are_refused() -> Result<()> {
    let (a, device) = metal(1 << 30);
    let (b, _) = metal(1 << 30);
    let foreign = [b.allocate(64)?, Device::cpu().backend().allocate(64)?];
    for buffer in foreign {
        let message = a.upload(&buffer, 0, &[1]).unwrap_err().to_string();
        assert!(message.contains("another device"), "{message}");
    }
    works(&device)
}

#[test]
fn sizes_beyond_limits_are_errors() -> Result<()> {
    let (backend, device) = metal(1 << 30);
    assert!(matches!(backend.allocate(1 << 45), Err(Error::OutOfMemory { .. })));
    let message = backend.upload(&backend.allocate(8)?, 4, &[0; 5]).unwrap_err().to_string();
    assert!(message.contains("5 bytes at offset 4"), "{message}");
    let low = wootz::metal::Device::soft(&SoftOptions::default())?;
    for bytes in [0, 1 << 45] {
        assert!(low.buffer(bytes, Storage::Shared).is_err());
    }
    works(&device)
}

#[test]
fn f64_is_refused_with_the_reason() -> Result<()> {
    let (_, device) = metal(1 << 30);
    let message = Tensor::full_on([2], 1.0, DType::F64, &device)?.exp()?.eval().unwrap_err().to_string();
    assert!(message.contains("f64") && message.contains("metal") && message.contains("f32"), "{message}");
    Ok(())
}

#[test]
fn raw_batches_check_what_they_are_given() -> Result<()> {
    let device = wootz::metal::Device::soft(&SoftOptions::default())?;
    let other = wootz::metal::Device::soft(&SoftOptions::default())?;
    let source = "#include <metal_stdlib>\nkernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
    let twice = device.kernel(source, "twice", &[])?;
    let x = device.buffer_from(&[1.0f32, 2.0])?;
    let go = |argument: Argument, threads: [u32; 3]| {
        device.batch().dispatch(&twice, &[argument], Grid::Threads([2, 1, 1]), threads)
    };
    let message =
        |outcome: Result<wootz::metal::Batch>| outcome.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(
        message(go(Argument::from(&other.buffer_from(&[1.0f32])?), [2, 1, 1])).contains("another device")
    );
    assert!(message(go(Argument::from(&x), [2000, 1, 1])).contains("1 to 1024"));
    assert!(message(go(Argument::Bytes(vec![0; 5000]), [2, 1, 1])).contains("4096"));
    assert!(message(go(Argument::Buffer(x.clone(), 8), [2, 1, 1])).contains("byte 8 of a buffer of 8"));
    let held = x.read::<f32>()?;
    let refused = go(Argument::from(&x), [2, 1, 1])?.run().unwrap_err().to_string();
    assert!(refused.contains("being read"), "{refused}");
    assert_eq!(&*held, [1.0, 2.0]);
    drop(held);
    go(Argument::from(&x), [2, 1, 1])?.run()?;
    assert_eq!(&*x.read::<f32>()?, [2.0, 4.0]);
    assert!(device.buffer(16, Storage::Private)?.read::<f32>().is_err());
    assert!(device.kernel(source, "thrice", &[]).err().is_some_and(|e| e.to_string().contains("twice")));
    Ok(())
}

/// Run by [`without_clang_the_error_says_what_to_install`] in a process of its own.
#[test]
#[ignore = "needs an environment that its caller makes"]
fn child_without_clang() {
    let message = works(&Device::from_name("metal").unwrap()).unwrap_err().to_string();
    assert!(message.contains("clang-19"), "{message}");
}

#[test]
fn without_clang_the_error_says_what_to_install() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_without_clang", "--ignored"])
        .env("SOFTMETAL_CLANG", "/nonexistent/clang")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Waits for nothing: a device that could not be opened is tried again at its next use.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs an environment that its caller makes"]
fn child_that_gets_its_tools_later() {
    let metal = Device::from_name("metal").unwrap();
    assert!(works(&metal).unwrap_err().to_string().contains("clang"));
    assert!(Device::from_name("webgpu").is_err());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |name: &str| std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.is_file());
    let clang = ["clang-19", "clang-20", "clang-21", "clang"].into_iter().find_map(find).expect("a clang");
    std::os::unix::fs::symlink(clang, std::env::var_os("SOFTMETAL_CLANG").unwrap()).unwrap();
    works(&metal).unwrap();
    let driver = std::fs::read_dir("/usr/share/vulkan/icd.d").into_iter().flatten().flatten();
    let Some(driver) = driver.map(|e| e.path()).find(|p| p.to_string_lossy().contains("lvp")) else {
        return wootz_testkit::skipped("there is no software Vulkan driver to appear");
    };
    std::fs::copy(driver, std::env::var_os("VK_DRIVER_FILES").unwrap()).unwrap();
    works(&Device::from_name("webgpu").unwrap()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_missing_at_first_is_found_when_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_gets_its_tools_later", "--ignored"])
        .env("SOFTMETAL_CLANG", folder.path().join("clang"))
        .env("VK_DRIVER_FILES", folder.path().join("driver.json"))
        .env("VK_ICD_FILENAMES", folder.path().join("driver.json"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

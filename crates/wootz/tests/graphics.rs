//! What the automatic device opens.
#![cfg(all(target_os = "linux", feature = "webgpu"))]

use wootz::{Device, Error, Result, Tensor};

/// Whether a Vulkan driver has been loaded into this process.
fn vulkan_is_loaded() -> bool {
    std::fs::read_to_string("/proc/self/maps").unwrap().contains("vulkan")
}

/// One test in a process of its own: nothing else may open a device before.
#[test]
fn without_a_gpu_no_driver_is_loaded_until_webgpu_is_asked_for() -> Result<()> {
    if std::path::Path::new("/dev/dri").exists() || std::env::var_os("WOOTZ_PRETEND_REAL").is_some() {
        return Ok(());
    }
    let tensor = Tensor::from_slice_on(&[1.0f32; 5000], &Device::auto())?;
    assert_eq!(tensor.exp()?.sum()?.to_f64()?.round(), 13591.0);
    assert!(!vulkan_is_loaded(), "the automatic device has loaded Vulkan");
    // By name it is opened, or said to be missing.
    let named = Device::from_name("webgpu");
    assert!(matches!(named, Ok(_) | Err(Error::Device { .. })), "{named:?}");
    assert!(vulkan_is_loaded() || named.is_err());
    Ok(())
}

//! A machine without any adapter: a clear error, and nothing else.

#![cfg(target_os = "linux")]

use wootz_webgpu::{Options, WebGpuBackend};

/// Set in the process that must not find an adapter: the loader of drivers reads its environment once.
const CHILD: &str = "WOOTZ_TEST_WITHOUT_ADAPTER";

#[test]
fn no_adapter_is_an_error_that_says_what_to_install() {
    if std::env::var_os(CHILD).is_some() {
        let error = WebGpuBackend::with_options(Options::default()).err().expect("no driver is to be found");
        let text = error.to_string();
        assert!(text.contains("no adapter") && text.contains("mesa-vulkan-drivers"), "{text}");
        let error = wootz_webgpu::Device::new().err().expect("no driver is to be found");
        assert!(error.to_string().contains("no adapter"), "{error}");
        return;
    }
    let own = std::env::current_exe().expect("a test knows its program");
    let output = std::process::Command::new(own)
        .args(["--exact", "no_adapter_is_an_error_that_says_what_to_install", "--nocapture"])
        .envs([("VK_DRIVER_FILES", "/nonexistent"), ("VK_ICD_FILENAMES", "/nonexistent"), (CHILD, "1")])
        .output()
        .expect("a test can be run again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

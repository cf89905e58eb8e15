//! The device itself: memory, a user's kernels, and everything that can go wrong with them. Skipped, with the reason, where
//! there is no adapter; a failure in CI.

use std::sync::Arc;
use wootz_backend::{Backend, Run};
use wootz_ir::custom::{GpuSource, Language};
use wootz_ir::graph::{Leaf, Node, Trace};
use wootz_ir::{CustomKernel, DType, ElementwiseOp, Error, Layout, build};
use wootz_plan::Plan;
use wootz_testkit::skipped;
use wootz_webgpu::raw::{Device, Result};
use wootz_webgpu::{Options, WebGpuBackend};

/// The raw device, or the reason why there is none.
fn device() -> Option<Device> {
    Device::new().inspect_err(|e| skipped(&e.to_string())).ok()
}

fn backend(options: Options) -> Option<WebGpuBackend> {
    WebGpuBackend::with_options(options).inspect_err(|e| skipped(&e.to_string())).ok()
}

const DOUBLE: &str = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) {
        x[id.x] = 2.0 * x[id.x];
    }
}";

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn kernels_run_singly_and_in_batches() -> Result<()> {
    let Some(device) = device() else { return Ok(()) };
    let kernel = device.kernel(DOUBLE, "double", &[])?;
    let x = device.buffer_with(&bytes(&[1.0, -2.5, 3.0]))?;
    device.run(&kernel, &[&x], [1, 1, 1])?;
    assert_eq!(x.read()?, bytes(&[2.0, -5.0, 6.0]));
    let mut batch = device.batch().timed();
    for _ in 0..5 {
        batch.add(&kernel, &[&x], [1, 1, 1])?;
    }
    let time = batch.run()?;
    assert_eq!(x.read()?, bytes(&[64.0, -160.0, 192.0]));
    let has_timestamps = device.info().facts.iter().any(|(name, _)| name == "timestamps");
    assert_eq!(time.is_some(), has_timestamps);
    assert!(device.memory().live > 0);
    Ok(())
}

#[test]
fn kernels_calculate_in_halves_where_the_adapter_has_them() -> Result<()> {
    let Some(device) = device() else { return Ok(()) };
    let text =
        format!("enable f16;\n{}", DOUBLE.replace("array<f32>", "array<f16>").replace("2.0 *", "2.0h *"));
    let kernel = device.kernel(&text, "double", &[]);
    if !device.info().facts.iter().any(|(name, _)| name == "f16") {
        assert!(kernel.err().is_some_and(|e| e.to_string().contains("f16")));
        return Ok(());
    }
    let x = device.buffer_with(&[0x00, 0x3c, 0x00, 0xc1])?; // 1 and -2.5
    device.run(&kernel?, &[&x], [1, 1, 1])?;
    assert_eq!(x.read()?, [0x00, 0x40, 0x00, 0xc5]);
    Ok(())
}

#[test]
fn bytes_are_written_and_read_at_any_offset() -> Result<()> {
    let Some(device) = device() else { return Ok(()) };
    let mut expected: Vec<u8> = (0..23).collect();
    let buffer = device.buffer_with(&expected)?;
    for (offset, count) in [(0, 1), (1, 2), (3, 7), (5, 3), (6, 17), (22, 1), (4, 8)] {
        let fresh: Vec<u8> = (0..count).map(|i| 100 + (offset + i) as u8).collect();
        buffer.write(offset, &fresh)?;
        expected[offset..offset + count].copy_from_slice(&fresh);
        assert_eq!(buffer.read()?, expected, "{count} bytes at {offset}");
        let mut part = vec![0; count];
        buffer.read_into(offset, &mut part)?;
        assert_eq!(part, fresh);
    }
    assert!(buffer.write(20, &[0; 4]).is_err());
    Ok(())
}

#[test]
fn what_is_wrong_with_a_kernel_is_said_with_its_line() -> Result<()> {
    let Some(device) = device() else { return Ok(()) };
    let broken = DOUBLE.replace("2.0 * x", "2.0 * y");
    let text = device.kernel(&broken, "double", &[]).err().expect("y is not defined").to_string();
    assert!(text.contains("line 5") && text.contains('y'), "{text}");
    let text = device.kernel(DOUBLE, "triple", &[]).err().expect("no such entry point").to_string();
    assert!(text.contains("triple"), "{text}");
    // Too few buffers, and too many workgroups.
    let kernel = device.kernel(DOUBLE, "double", &[])?;
    assert!(device.run(&kernel, &[], [1, 1, 1]).is_err());
    let x = device.buffer(4)?;
    assert!(device.run(&kernel, &[&x], [u32::MAX, 1, 1]).is_err());
    // After all this the device works.
    device.run(&kernel, &[&x], [1, 1, 1])
}

#[test]
fn a_buffer_smaller_than_a_kernel_declares_is_an_error() -> Result<()> {
    let Some(device) = device() else { return Ok(()) };
    let kernel = device.kernel(&DOUBLE.replace("array<f32>", "array<vec4<f32>>"), "double", &[])?;
    let small = device.buffer_with(&bytes(&[1.0]))?;
    let error = device.run(&kernel, &[&small], [1, 1, 1]).unwrap_err().to_string();
    assert!(error.contains("size"), "{error}");
    let x = device.buffer_with(&bytes(&[1.0, 2.0, 3.0, 4.0]))?;
    device.run(&kernel, &[&x], [1, 1, 1])?;
    assert_eq!(x.read()?, bytes(&[2.0, 4.0, 6.0, 8.0]));
    Ok(())
}

#[test]
fn memory_that_cannot_be_had_is_an_error_and_nothing_else() -> Result<()> {
    let Some(backend) = backend(Options { memory: Some(1 << 20), ..Options::default() }) else {
        return Ok(());
    };
    let held = backend.allocate(700_000)?;
    for bytes in [700_000, usize::MAX / 2, 1 << 50] {
        match backend.allocate(bytes) {
            Err(Error::OutOfMemory { device, requested, .. }) => {
                assert_eq!((device.as_str(), requested), ("webgpu", bytes as u128));
            }
            other => panic!("{bytes}: {other:?}"),
        }
    }
    drop(held);
    backend.allocate(700_000).map(|_| ())
}

#[test]
fn an_adapter_that_is_not_there_is_named() {
    let options = Options { adapter: Some("no such adapter".into()), ..Options::default() };
    let text = WebGpuBackend::with_options(options).err().expect("nobody names one so").to_string();
    assert!(text.contains("webgpu") && text.contains("adapter"), "{text}");
}

/// x + x on a backend.
fn doubled(backend: &WebGpuBackend, values: &[f32]) -> Result<Vec<u8>> {
    let buffer = backend.allocate(values.len() * 4)?;
    backend.upload(&buffer, 0, &bytes(values))?;
    let layout = Layout::contiguous(&[values.len()].into());
    let leaf = Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, DType::F32);
    let trace = Trace::of(&[build::elementwise(ElementwiseOp::Add, &[&leaf, &leaf])?]);
    let plan = Arc::new(Plan::new(&trace.graph, &backend.capabilities()));
    let executable = backend.compile(plan)?;
    let run = Run { leaves: &[buffer], params: &trace.constants };
    let results = backend.submit(&executable, run)?.wait()?;
    let mut out = vec![0; values.len() * 4];
    backend.download(&results[0], 0, &mut out)?;
    Ok(out)
}

#[test]
fn bind_groups_are_kept_while_their_memory_is() -> Result<()> {
    let Some(backend) = backend(Options::default()) else { return Ok(()) };
    let values = [1.0f32, 2.0, 3.0];
    let buffer = backend.allocate(12)?;
    backend.upload(&buffer, 0, &bytes(&values))?;
    let layout = Layout::contiguous(&[3].into());
    let x = Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, DType::F32);
    let trace = Trace::of(&[build::elementwise(ElementwiseOp::Add, &[&x, &x])?]);
    let executable = backend.compile(Arc::new(Plan::new(&trace.graph, &backend.capabilities())))?;
    let leaves = [buffer];
    for _ in 0..5 {
        let run = Run { leaves: &leaves, params: &trace.constants };
        let results = backend.submit(&executable, run)?.wait()?;
        let mut out = vec![0; 12];
        backend.download(&results[0], 0, &mut out)?;
        assert_eq!(out, bytes(&[2.0, 4.0, 6.0]));
        // The result went back to the pool, and the next run gets it again.
        assert_eq!(backend.bind_groups(), 1);
    }
    backend.trim();
    assert_eq!(backend.bind_groups(), 0, "groups would keep freed memory alive");
    Ok(())
}

#[test]
fn a_lost_device_is_an_error_and_the_next_evaluation_succeeds() -> Result<()> {
    let Some(backend) = backend(Options::default()) else { return Ok(()) };
    assert_eq!(doubled(&backend, &[1.0, 2.0])?, bytes(&[2.0, 4.0]));
    let old = backend.allocate(8)?;
    backend.lose();
    let mut out = [0; 8];
    let text = backend.download(&old, 0, &mut out).expect_err("its memory is gone").to_string();
    assert!(text.contains("lost"), "{text}");
    assert_eq!(doubled(&backend, &[3.0])?, bytes(&[6.0]));
    Ok(())
}

#[test]
fn bindings_larger_than_the_limit_are_split() -> Result<()> {
    let Some(backend) = backend(Options { binding: Some(1024), ..Options::default() }) else { return Ok(()) };
    let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let expected: Vec<f32> = values.iter().map(|v| 2.0 * v).collect();
    assert_eq!(doubled(&backend, &values)?, bytes(&expected));
    Ok(())
}

#[test]
fn a_users_kernel_is_a_node_between_others() -> Result<()> {
    let Some(backend) = backend(Options::default()) else { return Ok(()) };
    let source = GpuSource {
        language: Language::Wgsl,
        text: "override scale: f32;
            @group(0) @binding(0) var<storage, read> x: array<vec2<f32>>;
            @group(0) @binding(1) var<storage, read_write> y: array<vec2<f32>>;
            @compute @workgroup_size(4) fn scaled(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&y) { y[id.x] = scale * x[id.x]; }
            }"
        .into(),
        entry: "scaled".into(),
        grid: [3, 1, 1],
        group: [4, 1, 1],
        constants: vec![("scale".into(), 3.0.into())],
    };
    let kernel = Arc::new(CustomKernel::new("scaled").with_source(source));
    let values = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let buffer = backend.allocate(24)?;
    backend.upload(&buffer, 0, &bytes(&values))?;
    let layout = Layout::contiguous(&[6].into());
    let x = Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, DType::F32);
    // Code before and behind it, so that both of its operands are scratch memory.
    let before = build::elementwise(ElementwiseOp::Add, &[&x, &x])?;
    let own = build::custom(&kernel, &[&before], &[6].into(), DType::F32)?;
    let trace = Trace::of(&[build::elementwise(ElementwiseOp::Add, &[&own, &x])?]);
    let plan = Arc::new(Plan::new(&trace.graph, &backend.capabilities()));
    let executable = backend.compile(plan)?;
    let run = Run { leaves: &[buffer], params: &trace.constants };
    let results = backend.submit(&executable, run)?.wait()?;
    let mut out = vec![0; 24];
    backend.download(&results[0], 0, &mut out)?;
    assert_eq!(out, bytes(&values.map(|v| 7.0 * v)));
    Ok(())
}

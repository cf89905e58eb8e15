//! Metal by hand: a device, buffers that host and device share, pipelines from source, threadgroup sizes from the pipeline.
//!
//! It runs on SoftMetal, the software Metal device, so that it runs on any machine; every access of the kernels is checked.

use softmetal::check::CheckOptions;
use softmetal::{CompileOptions, Device, DeviceOptions, DispatchType, Pipeline, Result, StorageMode};

const SOURCE: &str = r#"
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float *a, device const float *b, device float *sum, constant uint &count,
                uint i [[thread_position_in_grid]]) {
    if (i < count) sum[i] = a[i] + b[i];
}

// One thread per element of c [m, n] = a [m, k] · b [k, n].
kernel void matmul(device const float *a, device const float *b, device float *c, constant uint3 &size,
                   uint2 at [[thread_position_in_grid]]) {
    const uint m = size.x, n = size.y, k = size.z;
    if (at.y >= m || at.x >= n) return;
    float sum = 0;
    for (uint i = 0; i < k; i++) sum = fma(a[at.y * k + i], b[i * n + at.x], sum);
    c[at.y * n + at.x] = sum;
}
"#;

/// As wide as a simdgroup, and as high as the pipeline allows.
fn threadgroup(pipeline: &Pipeline) -> (u32, u32) {
    let width = pipeline.thread_execution_width();
    (width, pipeline.max_total_threads_per_threadgroup() / width)
}

fn main() -> Result<()> {
    let device =
        Device::new(DeviceOptions { check: Some(CheckOptions::default()), ..DeviceOptions::default() })?;
    let library = device.new_library(SOURCE, &CompileOptions::default())?;
    let add = device.new_pipeline(&library.function("add")?)?;
    let matmul = device.new_pipeline(&library.function("matmul")?)?;

    let a = device.new_buffer_with_bytes(bytemuck::cast_slice(&[1.0f32, 2.0, 3.0, 4.0]))?;
    let b = device.new_buffer_with_bytes(bytemuck::cast_slice(&[5.0f32, 6.0, 7.0, 8.0]))?;
    let sum = device.new_buffer(16, StorageMode::Shared)?;
    let product = device.new_buffer(16, StorageMode::Shared)?;

    // Both kernels go to the device in one command buffer, and are waited for once.
    let command = device.new_queue().command_buffer();
    let mut encoder = command.compute_encoder(DispatchType::Serial);
    encoder.set_buffer(0, &a, 0)?;
    encoder.set_buffer(1, &b, 0)?;
    encoder.set_pipeline(&add);
    encoder.set_buffer(2, &sum, 0)?;
    encoder.set_bytes(3, bytemuck::bytes_of(&4u32))?;
    encoder.dispatch_threads(4, add.thread_execution_width())?;
    encoder.set_pipeline(&matmul);
    encoder.set_buffer(2, &product, 0)?;
    encoder.set_bytes(3, bytemuck::cast_slice(&[2u32, 2, 2, 0]))?;
    encoder.dispatch_threads((2, 2), threadgroup(&matmul))?;
    encoder.end_encoding();
    command.run()?;

    println!("sum: {:?}", sum.read::<f32>()?);
    println!("product: {:?}", product.read::<f32>()?);
    let (width, height) = threadgroup(&matmul);
    println!("threadgroups of {width} × {height}");
    println!("device: {}", device.name());
    Ok(())
}

//! The Metal API: a device, buffers shared by host and device, kernels from source, threadgroup sizes from the
//! kernel.
//!
//! It runs on a Mac's GPU, or on SoftMetal, the software Metal device, on any other machine.

use wootz::Result;
use wootz::metal::{Argument, Device, Grid, Storage};

const SOURCE: &str = r#"
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float *a, device const float *b, device float *sum, constant uint &count,
                uint i [[thread_position_in_grid]]) {
    if (i < count) sum[i] = a[i] + b[i];
}

// One thread per element of c [m, n] = a [m, k] · b [k, n], with size = (m, n, k).
kernel void matmul(device const float *a, device const float *b, device float *c, constant uint3 &size,
                   uint2 at [[thread_position_in_grid]]) {
    const uint m = size.x, n = size.y, k = size.z;
    if (at.y >= m || at.x >= n) return;
    float sum = 0;
    for (uint i = 0; i < k; i++) sum = fma(a[at.y * k + i], b[i * n + at.x], sum);
    c[at.y * n + at.x] = sum;
}
"#;

fn main() -> Result<()> {
    let device = Device::system_default()?;
    let add = device.kernel(SOURCE, "add", &[])?;
    let matmul = device.kernel(SOURCE, "matmul", &[])?;

    let a = device.buffer_from(&[1.0f32, 2.0, 3.0, 4.0])?;
    let b = device.buffer_from(&[5.0f32, 6.0, 7.0, 8.0])?;
    let sum = device.buffer(16, Storage::Shared)?;
    let product = device.buffer(16, Storage::Shared)?;
    let with = |out, size| [Argument::from(&a), Argument::from(&b), Argument::from(out), size];

    // Both kernels are submitted in one command buffer, with a single wait.
    let timing = device
        .batch()
        .dispatch(&add, &with(&sum, Argument::value(4u32)), Grid::Threads([4, 1, 1]), add.group_1d(4))?
        .dispatch(
            &matmul,
            &with(&product, Argument::value([2u32, 2, 2, 0])),
            Grid::Threads([2, 2, 1]),
            matmul.group_2d(2, 2),
        )?
        .run()?;

    println!("sum: {:?}", &*sum.read::<f32>()?);
    println!("product: {:?}", &*product.read::<f32>()?);
    println!("simdgroups of {}, at most {} threads in a group", matmul.simd_width(), matmul.max_threads());
    println!("one command buffer ran: {}", timing.seconds >= 0.0);
    let facts = device.facts();
    let software = if facts.software { ", in software" } else { "" };
    println!("device: {} ({}{software})", facts.name, facts.family);
    Ok(())
}

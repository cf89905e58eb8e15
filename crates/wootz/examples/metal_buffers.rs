//! Metal without tensors: devices, buffers, kernels and batches.
//!
//! `cargo run -p wootz --example metal_buffers` runs it on an Apple GPU, or on SoftMetal anywhere else.

use wootz::metal::{Argument, Buffer, Constant, ConstantKey, Device, Grid, SoftOptions, Storage};

const KERNELS: &str = r"
#include <metal_stdlib>
using namespace metal;

constant uint WIDTH [[function_constant(0)]];

kernel void scale_add(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant float& a [[buffer(2)]],
                      uint i [[thread_position_in_grid]]) {
    y[i] = a * x[i] + y[i];
}

// c = a · b, all WIDTH × WIDTH, one thread per element.
kernel void matmul(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]], device float* c [[buffer(2)]],
                   uint2 at [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < WIDTH; ++k) {
        sum += a[at.y * WIDTH + k] * b[k * WIDTH + at.x];
    }
    c[at.y * WIDTH + at.x] = sum;
}

// Appends a row to a cache.
kernel void append(device const float* row [[buffer(0)]], device float* cache [[buffer(1)]], constant uint& at [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
    cache[at * WIDTH + i] = row[i];
}

// The sum of the rows so far.
kernel void sum_rows(device const float* cache [[buffer(0)]], device float* sums [[buffer(1)]], constant uint& rows [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint r = 0; r < rows; ++r) {
        sum += cache[r * WIDTH + i];
    }
    sums[i] = sum;
}
";

fn main() -> wootz::Result<()> {
    if !Device::is_available() {
        println!("no Metal device; for the software one install clang-19");
        return Ok(());
    }
    let device = Device::system_default()?;
    describe(&device);
    elementwise(&device)?;
    matmul(&device)?;
    tokens(&device)?;
    counters()?;
    let memory = device.memory();
    println!(
        "memory: {} bytes live in {} buffers, {} cached, peak {}, {} of {} allocations from the pool",
        memory.live,
        memory.buffers,
        memory.cached,
        memory.peak,
        memory.hits,
        memory.hits + memory.misses
    );
    device.trim();
    Ok(())
}

fn describe(device: &Device) {
    let facts = device.facts();
    println!("{}: family {}, {} lanes", facts.name, facts.family, facts.simd_width);
    println!(
        "  {} threads and {} bytes per threadgroup, buffers up to {} MiB, simdgroup matrices: {}",
        facts.max_threads,
        facts.max_threadgroup_memory,
        facts.max_buffer >> 20,
        facts.simdgroup_matrix
    );
}

fn width(n: u32) -> [(ConstantKey, Constant); 1] {
    [(ConstantKey::Index(0), Constant::Uint(n))]
}

fn elementwise(device: &Device) -> wootz::Result<()> {
    let count = 1000;
    let kernel = device.kernel(KERNELS, "scale_add", &width(1))?;
    let x = device.buffer_from(&vec![2.0f32; count])?;
    let y = device.buffer_from(&vec![1.0f32; count])?;
    let threads = kernel.group_1d(count);
    println!("scale_add: groups of {threads:?} of at most {} threads", kernel.max_threads());
    let arguments = [Argument::from(&x), Argument::from(&y), Argument::value(3.0f32)];
    let timing =
        device.batch().dispatch(&kernel, &arguments, Grid::Threads([count as u32, 1, 1]), threads)?.run()?;
    assert!(y.read::<f32>()?.iter().all(|v| *v == 7.0));
    println!("  3·2 + 1 = 7, {count} times, in {:.1} µs on the device", timing.seconds * 1e6);
    Ok(())
}

fn matmul(device: &Device) -> wootz::Result<()> {
    let n = 48;
    let kernel = device.kernel(KERNELS, "matmul", &width(n))?;
    let square = |f: fn(usize) -> f32| -> wootz::Result<Buffer> {
        device.buffer_from(&(0..(n * n) as usize).map(f).collect::<Vec<f32>>())
    };
    let (a, b) = (square(|i| (i % 7) as f32)?, square(|i| (i % 5) as f32)?);
    let c = device.buffer((n * n * 4) as usize, Storage::Shared)?;
    let threads = kernel.group_2d(n as usize, n as usize);
    println!("matmul: groups of {threads:?}");
    let arguments = [Argument::from(&a), Argument::from(&b), Argument::from(&c)];
    device.batch().dispatch(&kernel, &arguments, Grid::Threads([n, n, 1]), threads)?.run()?;
    let (a, b, c) = (a.read::<f32>()?, b.read::<f32>()?, c.read::<f32>()?);
    let n = n as usize;
    for (i, got) in c.iter().enumerate() {
        let want: f32 = (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum();
        assert_eq!(*got, want);
    }
    println!("  {n}×{n} products agree with the host");
    Ok(())
}

/// One batch per token: the new row goes into the cache, then all rows are read.
fn tokens(device: &Device) -> wootz::Result<()> {
    let (n, tokens) = (32u32, 4u32);
    let append = device.kernel(KERNELS, "append", &width(n))?;
    let sum = device.kernel(KERNELS, "sum_rows", &width(n))?;
    let cache = device.buffer((n * tokens * 4) as usize, Storage::Private)?;
    let sums = device.buffer((n * 4) as usize, Storage::Shared)?;
    let grid = Grid::Threads([n, 1, 1]);
    for token in 0..tokens {
        let row = device.buffer_from(&vec![(token + 1) as f32; n as usize])?;
        let write = [Argument::from(&row), Argument::from(&cache), Argument::value(token)];
        let read = [Argument::from(&cache), Argument::from(&sums), Argument::value(token + 1)];
        let batch = device.batch().dispatch(&append, &write, grid, append.group_1d(n as usize))?.barrier();
        let batch = batch.dispatch(&sum, &read, grid, sum.group_1d(n as usize))?;
        if token + 1 < tokens {
            batch.run()?;
        } else {
            let timing = batch.run_timed()?;
            println!("cache: the last token took {:?} s per launch", timing.launches);
        }
    }
    assert!(sums.read::<f32>()?.iter().all(|v| *v == 10.0));
    Ok(())
}

/// SoftMetal counts what kernels do, on any machine.
fn counters() -> wootz::Result<()> {
    let device = Device::soft(&SoftOptions { profile: true, ..SoftOptions::default() })?;
    let kernel = device.kernel(KERNELS, "scale_add", &width(1))?;
    let (x, y) = (device.buffer_from(&[1.0f32; 256])?, device.buffer_from(&[1.0f32; 256])?);
    let arguments = [Argument::from(&x), Argument::from(&y), Argument::value(1.0f32)];
    let timing = device
        .batch()
        .dispatch(&kernel, &arguments, Grid::Threads([256, 1, 1]), kernel.group_1d(256))?
        .run()?;
    let counts = &timing.profiles[0].counters;
    println!(
        "scale_add reads {} bytes and writes {}, in {} memory instructions",
        counts.device_bytes_read, counts.device_bytes_written, counts.memory_instructions
    );
    Ok(())
}

//! SoftMetal's speed: each kernel compared with the same work as a plain Rust loop, as a ratio.
//!
//! `cargo run --release -p softmetal --bin softmetal-bench`

use softmetal::{Buffer, CompileOptions, Device, DispatchType, Pipeline, Queue, Result, Size, StorageMode};
use std::time::Instant;

const SOURCE: &str = include_str!("bench.metal");

struct Bench {
    device: Device,
    queue: Queue,
    library: softmetal::Library,
}

/// One launch, ready to be repeated.
struct LaunchStyle<'a> {
    pipeline: Pipeline,
    buffers: Vec<&'a Buffer>,
    groups: Size,
    threads: Size,
}

impl Bench {
    fn new() -> Result<Bench> {
        let device = Device::system_default()?;
        let library = device.new_library(
            SOURCE,
            &CompileOptions { file_name: "bench.metal".into(), ..CompileOptions::default() },
        )?;
        Ok(Bench { queue: device.new_queue(), device, library })
    }

    fn pipeline(&self, name: &str) -> Result<Pipeline> {
        self.device.new_pipeline(&self.library.function(name)?)
    }

    fn buffer(&self, n: usize) -> Result<Buffer> {
        let b = self.device.new_buffer(n * 4, StorageMode::Shared)?;
        let values: Vec<f32> = (0..n).map(|i| (i % 17) as f32 * 0.125 - 1.0).collect();
        b.write(&values)?;
        Ok(b)
    }

    /// Seconds of one launch: the best of several runs of `repeats` launches.
    fn time(&self, l: &LaunchStyle<'_>, repeats: u32) -> Result<f64> {
        let mut best = f64::MAX;
        for _ in 0..5 {
            let command = self.queue.command_buffer();
            let mut e = command.compute_encoder(DispatchType::Serial);
            e.set_pipeline(&l.pipeline);
            for (i, b) in l.buffers.iter().enumerate() {
                e.set_buffer(i as u32, b, 0)?;
            }
            for _ in 0..repeats {
                e.dispatch_threadgroups(
                    (l.groups.0, l.groups.1, l.groups.2),
                    (l.threads.0, l.threads.1, l.threads.2),
                )?;
            }
            e.end_encoding();
            command.run()?;
            best = best.min((command.gpu_end_time() - command.gpu_start_time()) / f64::from(repeats));
        }
        Ok(best)
    }
}

/// Seconds of the best of five runs.
fn rust(mut work: impl FnMut()) -> f64 {
    (0..5)
        .map(|_| {
            let t = Instant::now();
            work();
            t.elapsed().as_secs_f64()
        })
        .fold(f64::MAX, f64::min)
}

fn row(name: &str, ours: f64, plain: f64, more: &str) {
    println!(
        "{name:<28} {:>10.3} ms   Rust loop {:>10.3} ms   ratio {:>6.2}   {more}",
        ours * 1e3,
        plain * 1e3,
        ours / plain
    );
}

fn main() -> Result<()> {
    let b = Bench::new()?;
    elementwise(&b)?;
    launches(&b)?;
    barriers(&b)?;
    gemm(&b)?;
    q4k(&b)?;
    compile(&b)
}

fn elementwise(b: &Bench) -> Result<()> {
    let n = 1 << 22;
    let (x, y) = (b.buffer(n)?, b.buffer(n)?);
    let l = LaunchStyle {
        pipeline: b.pipeline("saxpy")?,
        buffers: vec![&x, &y],
        groups: Size(n as u32 / 256, 1, 1),
        threads: Size(256, 1, 1),
    };
    let ours = b.time(&l, 4)?;
    let (xs, mut ys) = (x.read::<f32>()?, y.read::<f32>()?);
    let plain = rust(|| {
        for (o, v) in ys.iter_mut().zip(&xs) {
            *o += 2.0 * v;
        }
        std::hint::black_box(&mut ys);
    });
    row("elementwise, 4 Mi threads", ours, plain, &format!("{:.0} M threads/s", n as f64 / ours / 1e6));
    Ok(())
}

fn launches(b: &Bench) -> Result<()> {
    let (x, y) = (b.buffer(256)?, b.buffer(256)?);
    let l = LaunchStyle {
        pipeline: b.pipeline("saxpy")?,
        buffers: vec![&x, &y],
        groups: Size(1, 1, 1),
        threads: Size(256, 1, 1),
    };
    println!("{:<28} {:>10.3} us per dispatch", "one small threadgroup", b.time(&l, 1000)? * 1e6);
    Ok(())
}

fn barriers(b: &Bench) -> Result<()> {
    let o = b.buffer(256 * 64)?;
    let l = LaunchStyle {
        pipeline: b.pipeline("barriers")?,
        buffers: vec![&o],
        groups: Size(64, 1, 1),
        threads: Size(256, 1, 1),
    };
    let ours = b.time(&l, 1)?;
    println!(
        "{:<28} {:>10.3} ms   {:.2} ns per thread and barrier (256 threads, 100 barriers, all cores)",
        "barriers",
        ours * 1e3,
        ours * 1e9 / (64.0 * 256.0 * 100.0)
    );
    let l = LaunchStyle {
        pipeline: b.pipeline("simd_sums")?,
        buffers: vec![&o],
        groups: Size(64, 1, 1),
        threads: Size(256, 1, 1),
    };
    let ours = b.time(&l, 1)?;
    println!(
        "{:<28} {:>10.3} ms   {:.2} ns per thread and simd_sum",
        "simd_sum",
        ours * 1e3,
        ours * 1e9 / (64.0 * 256.0 * 100.0)
    );
    Ok(())
}

fn gemm(b: &Bench) -> Result<()> {
    let n = 256usize;
    let (x, y, z) = (b.buffer(n * n)?, b.buffer(n * n)?, b.buffer(n * n)?);
    let l = LaunchStyle {
        pipeline: b.pipeline("gemm")?,
        buffers: vec![&x, &y, &z],
        groups: Size(n as u32 / 32, n as u32 / 32, 1),
        threads: Size(128, 1, 1),
    };
    let ours = b.time(&l, 4)?;
    let (xs, ys) = (x.read::<f32>()?, y.read::<f32>()?);
    let mut zs = vec![0f32; n * n];
    let plain = rust(|| {
        zs.fill(0.0);
        for i in 0..n {
            for k in 0..n {
                let a = xs[i * n + k];
                for j in 0..n {
                    zs[i * n + j] += a * ys[k * n + j];
                }
            }
        }
        std::hint::black_box(&mut zs);
    });
    let error = z.read::<f32>()?.iter().zip(&zs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    row("simdgroup GEMM 256^3", ours, plain, &format!("largest difference {error:.1e}"));
    Ok(())
}

fn q4k(b: &Bench) -> Result<()> {
    let (rows, columns) = (1024usize, 2048usize);
    let w = b.device.new_buffer(rows * columns / 256 * 144, StorageMode::Shared)?;
    let bytes: Vec<u8> = (0..w.length())
        .map(|i| if i % 144 < 4 { [0x66, 0x1e, 0x66, 0x1a][i % 144] } else { (i * 37 % 251) as u8 })
        .collect();
    w.write_bytes(0, &bytes)?;
    let (x, y) = (b.buffer(columns)?, b.buffer(rows)?);
    let l = LaunchStyle {
        pipeline: b.pipeline("mul_mv_q4_K")?,
        buffers: vec![&w, &x, &y],
        groups: Size(rows as u32 / 4, 1, 1),
        threads: Size(32, 4, 1),
    };
    let ours = b.time(&l, 4)?;
    let xs = x.read::<f32>()?;
    let mut ys = vec![0f32; rows];
    let plain = rust(|| {
        for (r, out) in ys.iter_mut().enumerate() {
            *out = (0..columns / 256)
                .map(|k| q4k_block(&bytes[(r * columns / 256 + k) * 144..][..144], &xs[k * 256..][..256]))
                .sum();
        }
        std::hint::black_box(&mut ys);
    });
    let error =
        y.read::<f32>()?.iter().zip(&ys).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f32::max);
    row("Q4_K mat-vec 1024x2048", ours, plain, &format!("largest relative difference {error:.1e}"));
    Ok(())
}

/// The dot product of one Q4_K block with 256 values.
fn q4k_block(block: &[u8], x: &[f32]) -> f32 {
    let half = |at: usize| half::f16::from_le_bytes([block[at], block[at + 1]]).to_f32();
    let (d, dmin, s, q) = (half(0), half(2), &block[4..16], &block[16..]);
    let mut sum = 0.0;
    for j in 0..8 {
        let (scale, min) = if j < 4 {
            (s[j] & 63, s[j + 4] & 63)
        } else {
            ((s[j + 4] & 15) | (s[j - 4] >> 6 << 4), (s[j + 4] >> 4) | (s[j] >> 6 << 4))
        };
        let nibbles = &q[j / 2 * 32..][..32];
        let (mut dot, mut total) = (0.0, 0.0);
        for (n, v) in nibbles.iter().zip(&x[j * 32..]) {
            dot += f32::from(if j % 2 == 0 { n & 15 } else { n >> 4 }) * v;
            total += v;
        }
        sum += d * f32::from(scale) * dot - dmin * f32::from(min) * total;
    }
    sum
}

fn compile(b: &Bench) -> Result<()> {
    let fresh = format!("{SOURCE}\nconstant float salt = {};\n", std::process::id());
    for label in ["cold", "warm"] {
        let device = Device::system_default()?;
        let t = Instant::now();
        let library = device.new_library(&fresh, &CompileOptions::default())?;
        let analysed = t.elapsed();
        device.new_pipeline(&library.function("gemm")?)?;
        println!(
            "pipeline, {label:<18} {:>10.1} ms   ({:.1} ms of it to read the library)",
            t.elapsed().as_secs_f64() * 1e3,
            analysed.as_secs_f64() * 1e3
        );
    }
    let _ = b;
    Ok(())
}

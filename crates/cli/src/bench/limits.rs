//! What the machine can do at most, measured in the same run: copying memory, and multiply-adds in registers.

use std::hint::black_box;
use std::time::Instant;

/// Measured limits over all cores.
pub struct Limits {
    /// Bytes read plus bytes written per nanosecond.
    pub copy_gbs: f64,
    /// Floating-point operations per nanosecond.
    pub fma_gflops: f64,
}

const COPY_BYTES: usize = 128 << 20;

impl Limits {
    pub fn measure() -> Limits {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        Limits { copy_gbs: copy(threads), fma_gflops: wootz::measure_fma_gflops(threads) }
    }
}

/// The best of several parallel copies of a block far larger than the caches.
fn copy(threads: usize) -> f64 {
    let source = vec![1u8; COPY_BYTES];
    let mut target = vec![0u8; COPY_BYTES];
    let part = COPY_BYTES.div_ceil(threads);
    let mut best = 0.0f64;
    for _ in 0..6 {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for (from, to) in source.chunks(part).zip(target.chunks_mut(part)) {
                scope.spawn(move || to.copy_from_slice(from));
            }
        });
        best = best.max(2.0 * COPY_BYTES as f64 / begin.elapsed().as_secs_f64() / 1e9);
        black_box(&target);
    }
    best
}

//! The processor's peak rate of f32 multiply-adds, measured: the limit that products are judged by.

use crate::isa_fn;
use std::hint::black_box;
use std::time::Instant;

/// Independent chains of multiply-adds, enough to hide their latency with the widest registers.
const CHAINS: usize = 12;
const LANES: usize = 16;
const ROUNDS: usize = 2_000_000;

isa_fn! {
    /// Runs the chains for a number of rounds.
    fn chains<I>(rounds: usize, factor: f32, sums: &mut [[f32; LANES]; CHAINS]) {
        let mut local = *sums;
        for _ in 0..rounds {
            for chain in &mut local {
                for lane in chain.iter_mut() {
                    *lane = I::mul_add(*lane, factor, factor);
                }
            }
        }
        *sums = local;
    }
}

/// Floating-point operations per nanosecond of `threads` threads, the best of several tries.
pub fn measure_fma_gflops(threads: usize) -> f64 {
    let mut best = 0.0f64;
    for _ in 0..4 {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut sums = [[1.0f32; LANES]; CHAINS];
                    chains(ROUNDS, black_box(0.5), &mut sums);
                    black_box(sums);
                });
            }
        });
        let flops = (threads * ROUNDS * CHAINS * LANES * 2) as f64;
        best = best.max(flops / begin.elapsed().as_secs_f64() / 1e9);
    }
    best
}

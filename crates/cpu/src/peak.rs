//! The processor's peak rate of f32 multiply-adds, measured: the limit that products are judged by.

use crate::isa::{Lanes, Real};
use crate::isa_fn;
use std::hint::black_box;
use std::time::Instant;

/// Independent chains of multiply-adds: enough to hide their latency, few enough to stay in registers.
const CHAINS: usize = 12;
const ROUNDS: usize = 2_000_000;
const TRIES: usize = 8;

isa_fn! {
    /// Runs the chains for a number of rounds; returns how many numbers each chain holds.
    fn chains<I>(rounds: usize, factor: f32) -> usize {
        type Register<I> = <f32 as Real>::Lanes<I>;
        // SAFETY: `isa_fn` runs this body on processors that have the instruction set alone.
        unsafe {
            let factor = Register::<I>::splat(&factor);
            let mut sums = [factor; CHAINS];
            for _ in 0..rounds {
                for sum in &mut sums {
                    *sum = sum.mul_add(factor, factor);
                }
            }
            black_box(sums);
        }
        Register::<I>::LEN
    }
}

/// Floating-point operations per nanosecond of `threads` threads, the best of several tries.
pub fn measure_fma_gflops(threads: usize) -> f64 {
    let lanes = chains(0, 0.5);
    let flops = (threads * ROUNDS * CHAINS * lanes * 2) as f64;
    let mut best = 0.0f64;
    for _ in 0..TRIES {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| chains(ROUNDS, black_box(0.5)));
            }
        });
        best = best.max(flops / begin.elapsed().as_secs_f64() / 1e9);
    }
    best
}

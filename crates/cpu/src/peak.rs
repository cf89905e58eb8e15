//! The processor's peak multiply-add rates, measured: the limits for matrix products.

use crate::isa::{Lanes, Real};
use crate::isa_fn;
use crate::team::Team;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Independent chains of multiply-adds: enough to hide their latency, few enough to stay in registers.
const CHAINS: usize = 12;
/// Rounds of a try: a millisecond or less, so that some try meets no interruption.
const ROUNDS: usize = 300_000;
/// How long to go on trying.
const PATIENCE: Duration = Duration::from_millis(300);

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

/// Floating-point operations per nanosecond of all workers of the global team, the best of many tries.
pub fn measure_fma_gflops() -> f64 {
    peak(|| ROUNDS * CHAINS * chains(ROUNDS, black_box(0.5)) * 2)
}

/// Operations on bytes per nanosecond, as quantised products do them, of all workers; `None` where there is no vector kernel.
pub fn measure_byte_gops() -> Option<f64> {
    let chains = crate::quant::chains()?;
    Some(peak(|| chains(black_box(ROUNDS))))
}

/// Operations per nanosecond of all workers of the global team, the best of many tries. `work` returns how many it did.
fn peak(work: impl Fn() -> usize + Sync) -> f64 {
    let team = Team::global();
    let mut best = 0.0f64;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let done = AtomicUsize::new(0);
        let begin = Instant::now();
        team.run(&|_| {
            done.fetch_add(work(), Ordering::Relaxed);
        });
        best = best.max(done.into_inner() as f64 / begin.elapsed().as_secs_f64() / 1e9);
    }
    best
}

//! The spinning barrier of a region, and the spin-then-yield wait that everything here uses.

use std::hint::spin_loop;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Pads to two cache lines, because adjacent-line prefetchers make neighbours share.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Padded<T>(pub T);

/// Payload of the unwind that takes the other workers out of a region after a panic.
pub(super) struct Aborted;

/// Generation-counting barrier. The last to arrive resets the count and opens the next generation.
#[derive(Default)]
pub(super) struct Barrier {
    arrived: Padded<AtomicUsize>,
    generation: Padded<AtomicUsize>,
    aborted: AtomicBool,
}

impl Barrier {
    /// Makes the barrier fresh. Only between regions, when nobody waits.
    pub fn reset(&self) {
        self.arrived.0.store(0, Ordering::Relaxed);
        self.aborted.store(false, Ordering::Relaxed);
    }

    /// Takes everybody who waits, or will wait, out of the region.
    pub fn abort(&self) {
        self.aborted.store(true, Ordering::Release);
    }

    pub fn wait(&self, count: usize) {
        let generation = self.generation.0.load(Ordering::Relaxed);
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == count {
            self.arrived.0.store(0, Ordering::Relaxed);
            self.generation.0.store(generation.wrapping_add(1), Ordering::Release);
        } else {
            wait_until(|| {
                self.generation.0.load(Ordering::Acquire) != generation
                    || self.aborted.load(Ordering::Acquire)
            });
        }
        if self.aborted.load(Ordering::Acquire) {
            // `resume_unwind` does not call the panic hook: one panic, one message.
            resume_unwind(Box::new(Aborted));
        }
    }
}

/// Spins, then yields the core between looks: a worker that we wait for may need it.
pub(super) fn wait_until(ready: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if ready() {
            return;
        }
        spin_loop();
    }
    while !ready() {
        std::thread::yield_now();
    }
}

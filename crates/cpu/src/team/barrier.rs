//! Waiting: the gate that every wait uses, and the barrier of a region.

use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, spin_until};
use std::panic::resume_unwind;
use std::sync::PoisonError;

/// Pads to two cache lines, because adjacent-line prefetchers make neighbours share.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Padded<T>(pub T);

/// Where threads wait for a condition: they spin for a moment, then sleep.
///
/// Sleeping matters on a busy machine. A thread that spins, or yields in a loop, keeps a core that the worker it waits for
/// could run on; once it sleeps, the scheduler moves that worker over.
#[derive(Default)]
pub(super) struct Gate {
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Gate {
    /// Waits until `ready`. Whoever makes it true must do so by a sequentially consistent write, and call
    /// [`Gate::announce`] afterwards.
    pub fn wait_until(&self, ready: impl Fn() -> bool) {
        if spin_until(&ready) {
            return;
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // Announced before the last look, by a sequentially consistent write: either this thread sees the condition, or
        // whoever makes it true sees a sleeper.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !ready() {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes the sleepers, so that they look again.
    pub fn announce(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // A sleeper between its last look and its sleep holds the lock.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }
}

/// Payload of the unwind that takes the other workers out of a region after a panic.
pub(super) struct Aborted;

/// Generation-counting barrier. The last to arrive resets the count and opens the next generation.
#[derive(Default)]
pub(super) struct Barrier {
    arrived: Padded<AtomicUsize>,
    generation: Padded<AtomicUsize>,
    aborted: AtomicBool,
    gate: Gate,
}

impl Barrier {
    /// Resets the barrier. Only between regions, when no worker waits.
    pub fn reset(&self) {
        self.arrived.0.store(0, Ordering::Relaxed);
        self.aborted.store(false, Ordering::Relaxed);
    }

    /// Releases every worker that waits, or will wait, from the region.
    pub fn abort(&self) {
        self.aborted.store(true, Ordering::SeqCst);
        self.gate.announce();
    }

    pub fn wait(&self, count: usize) {
        let generation = self.generation.0.load(Ordering::Relaxed);
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == count {
            self.arrived.0.store(0, Ordering::Relaxed);
            self.generation.0.store(generation.wrapping_add(1), Ordering::SeqCst);
            self.gate.announce();
        } else {
            self.gate.wait_until(|| {
                self.generation.0.load(Ordering::SeqCst) != generation || self.aborted.load(Ordering::SeqCst)
            });
        }
        if self.aborted.load(Ordering::Acquire) {
            // `resume_unwind` does not call the panic hook: one panic, one message.
            resume_unwind(Box::new(Aborted));
        }
    }
}

//! The synchronisation types of the thread pool. `crates/loom` compiles the pool against a file of the same name
//! whose types explore every interleaving, so the pool uses only the types exported here.

pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub use std::sync::{Arc, Condvar, Mutex};
pub use std::thread::{Builder, JoinHandle};

use std::time::{Duration, Instant};

/// How long a thread spins before it sleeps: longer than the gap between two regions of a plan or the usual distance between
/// the workers of a step, and short beside the time slice of a preempted worker.
const SPIN: Duration = Duration::from_micros(80);

/// Spins for a moment. Whether `ready` came true.
#[inline]
pub fn spin_until(ready: &impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..64 {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > SPIN {
            return false;
        }
    }
}

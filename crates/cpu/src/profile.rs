//! A profile of plans: time per kernel.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wootz_plan::{Kernel, Step};

/// The total time of the steps of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTime {
    /// The kernel family, and the block format where weights have one.
    pub kernel: String,
    /// Seconds in all.
    pub seconds: f64,
    /// How many steps.
    pub steps: usize,
}

static WATCHED: AtomicBool = AtomicBool::new(false);
static NOTES: Mutex<BTreeMap<String, (Duration, usize)>> = Mutex::new(BTreeMap::new());
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Calls `f`, and returns the time of the steps of all plans that ran on the CPU meanwhile, in descending order.
///
/// Workers wait for each other after every step while this looks, so that a step's time is its own; plans take a little
/// longer for it. Plans of other threads count too.
pub fn profile<R>(f: impl FnOnce() -> R) -> (R, Vec<KernelTime>) {
    /// Stops looking, even if `f` panics.
    struct Looking;
    impl Drop for Looking {
        fn drop(&mut self) {
            WATCHED.store(false, Ordering::Relaxed);
        }
    }
    let _one = ONE_AT_A_TIME.lock();
    NOTES.lock().clear();
    WATCHED.store(true, Ordering::Relaxed);
    let looking = Looking;
    let result = f();
    drop(looking);
    let notes = std::mem::take(&mut *NOTES.lock());
    let mut times: Vec<KernelTime> = notes
        .into_iter()
        .map(|(kernel, (time, steps))| KernelTime { kernel, seconds: time.as_secs_f64(), steps })
        .collect();
    times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    (result, times)
}

/// Whether profiling is on. Query it before a region starts, so that all its workers get the same answer.
pub(crate) fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

pub(crate) fn note(step: &Step, since: Instant) {
    let name = step.kernel.name();
    let kernel = match &step.kernel {
        Kernel::QuantMatmul { format, .. }
        | Kernel::ExpertMatmul { format, .. }
        | Kernel::QuantGather { format } => format!("{name} {format}"),
        _ => name.to_string(),
    };
    let mut notes = NOTES.lock();
    let (time, steps) = notes.entry(kernel).or_default();
    *time += since.elapsed();
    *steps += 1;
}

//! How many workers to wake on a busy machine.
//!
//! Workers synchronise at barriers, so one that waits for a core delays all the others for an entire time slice. With
//! more runnable threads than cores, it is much faster to use fewer workers. The operating system reports how long a
//! thread was ready to run but did not: if that is a large part of the time, later regions use one worker fewer, and
//! try all of them again after a while. Linux only; elsewhere nothing is measured and every region uses all workers.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a worker is watched before it is judged: a few time slices.
const WINDOW: Duration = Duration::from_millis(10);
/// The part of a window that a worker may wait for a core before that counts as contention.
const TOLERATED: f64 = 0.15;
/// How long a smaller team lasts at first; twice as long each time that trying all workers shows contention again.
const SHORTEST_HOLD: Duration = Duration::from_millis(50);
/// And at most.
const LONGEST_HOLD: Duration = Duration::from_millis(1600);

/// The number of workers that regions should have, adapted to what the machine grants.
pub(super) struct Pressure {
    count: usize,
    width: AtomicUsize,
    /// When to try all workers again, in nanoseconds since `start`.
    retry: AtomicU64,
    /// How long the next smaller team lasts, in nanoseconds.
    hold: AtomicU64,
    start: Instant,
}

impl Pressure {
    pub fn new(count: usize) -> Pressure {
        Pressure {
            count,
            width: AtomicUsize::new(count),
            retry: AtomicU64::new(0),
            hold: AtomicU64::new(SHORTEST_HOLD.as_nanos() as u64),
            start: Instant::now(),
        }
    }

    /// How many workers the next region should have.
    pub fn width(&self) -> usize {
        let width = self.width.load(Ordering::Relaxed);
        if width == self.count || self.now() < self.retry.load(Ordering::Relaxed) {
            return width;
        }
        self.width.store(self.count, Ordering::Relaxed);
        self.count
    }

    /// Judges the calling thread if it has been watched for long enough. Call it before and after work in a region.
    pub fn watch(&self) {
        if let Some(waited) = Watch::sample() {
            self.judge(waited, self.now());
        }
    }

    /// Takes in what part of a window one worker spent waiting for a core.
    fn judge(&self, waited: f64, now: u64) {
        if waited <= TOLERATED {
            if self.width.load(Ordering::Relaxed) == self.count {
                self.hold.store(SHORTEST_HOLD.as_nanos() as u64, Ordering::Relaxed);
            }
            return;
        }
        let width = self.width.load(Ordering::Relaxed);
        if width == self.count {
            let hold = self.hold.load(Ordering::Relaxed);
            self.retry.store(now + hold, Ordering::Relaxed);
            self.hold.store((hold * 2).min(LONGEST_HOLD.as_nanos() as u64), Ordering::Relaxed);
        }
        self.width.store(width.saturating_sub(1).max(1), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// When a thread was last looked at, and how long it had waited for a core in all until then.
#[derive(Clone, Copy)]
struct Watch {
    at: Instant,
    waited: Duration,
}

thread_local! {
    static WATCH: Cell<Option<Watch>> = const { Cell::new(None) };
}

impl Watch {
    /// The part of the time since the last sample that the calling thread waited for a core, if that was a window ago. A
    /// sample from long ago says nothing about now and only starts a new window.
    fn sample() -> Option<f64> {
        let at = Instant::now();
        let last = WATCH.get();
        let elapsed = last.map(|watch| at - watch.at);
        if elapsed.is_some_and(|elapsed| elapsed < WINDOW) {
            return None;
        }
        let waited = waited_for_a_core()?;
        WATCH.set(Some(Watch { at, waited }));
        let (last, elapsed) = (last?, elapsed?);
        (elapsed < 8 * WINDOW)
            .then(|| waited.saturating_sub(last.waited).as_secs_f64() / elapsed.as_secs_f64())
    }
}

/// How long the calling thread has been ready to run without running, since it started.
#[cfg(target_os = "linux")]
fn waited_for_a_core() -> Option<Duration> {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    thread_local! {
        static STATISTICS: Option<File> = File::open("/proc/thread-self/schedstat").ok();
    }
    // Three numbers: nanoseconds running, nanoseconds waiting, time slices.
    let mut text = [0u8; 96];
    let len = STATISTICS.with(|file| file.as_ref()?.read_at(&mut text, 0).ok())?;
    let text = std::str::from_utf8(&text[..len]).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(not(target_os = "linux"))]
fn waited_for_a_core() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contention_shrinks_the_team_for_a_while() {
        let pressure = Pressure::new(4);
        let hold = SHORTEST_HOLD.as_nanos() as u64;
        pressure.judge(0.1, 0);
        assert_eq!(pressure.width(), 4);
        let now = pressure.now();
        pressure.judge(0.5, now);
        pressure.judge(0.5, now);
        assert_eq!(pressure.width.load(Ordering::Relaxed), 2);
        assert_eq!(pressure.retry.load(Ordering::Relaxed), now + hold);
        for _ in 0..9 {
            pressure.judge(0.9, now);
        }
        assert_eq!(pressure.width.load(Ordering::Relaxed), 1, "one worker is always left");
        pressure.retry.store(0, Ordering::Relaxed);
        assert_eq!(pressure.width(), 4, "and all of them are tried again");
    }

    #[test]
    fn each_failed_try_waits_twice_as_long_until_all_is_calm() {
        let pressure = Pressure::new(2);
        let hold = || pressure.hold.load(Ordering::Relaxed);
        for doubled in [2, 4, 8, 16, 32, 32] {
            pressure.width.store(2, Ordering::Relaxed);
            pressure.judge(0.9, 0);
            assert_eq!(hold(), doubled * SHORTEST_HOLD.as_nanos() as u64);
        }
        pressure.judge(0.0, 0);
        assert_ne!(hold(), SHORTEST_HOLD.as_nanos() as u64, "a smaller team says nothing about all workers");
        pressure.width.store(2, Ordering::Relaxed);
        pressure.judge(0.0, 0);
        assert_eq!(hold(), SHORTEST_HOLD.as_nanos() as u64);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_that_share_a_core_wait_for_it() {
        // More spinning threads than cores: each waits a good part of the time.
        let threads = 4 * std::thread::available_parallelism().map_or(1, |n| n.get());
        let wait = || {
            let (start, before) = (Instant::now(), waited_for_a_core()?);
            while start.elapsed() < Duration::from_millis(200) {
                std::hint::spin_loop();
            }
            Some(waited_for_a_core()? - before)
        };
        let waits: Vec<Option<Duration>> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(wait)).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        // Some systems keep no such statistics.
        let Some(waits) = waits.into_iter().collect::<Option<Vec<_>>>() else { return };
        let total: Duration = waits.iter().sum();
        assert!(total > Duration::from_millis(200), "{threads} threads waited {total:?} together");
    }
}

//! The clock of the benchmark programs.

use std::time::Instant;

/// Seconds since some moment: of this thread's processor time where the system tells it, else of the day.
pub struct Clock {
    own_time: bool,
    start: Instant,
}

impl Clock {
    /// Processor time for one thread, time of the day for several.
    pub fn new(threads: usize) -> Clock {
        Clock { own_time: threads == 1, start: Instant::now() }
    }

    /// Now.
    pub fn now(&self) -> f64 {
        #[cfg(target_os = "linux")]
        if self.own_time {
            let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `t` is a valid place for the answer.
            if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) } == 0 {
                return t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9;
            }
        }
        self.start.elapsed().as_secs_f64()
    }

    /// Best seconds of a few runs of at least 50 ms.
    pub fn best(&self, mut run: impl FnMut()) -> f64 {
        run();
        let once = self.now();
        run();
        let repeats = (0.05 / (self.now() - once).max(1e-9)).ceil().max(1.0) as u32;
        (0..5)
            .map(|_| {
                let start = self.now();
                (0..repeats).for_each(|_| run());
                (self.now() - start) / f64::from(repeats)
            })
            .fold(f64::INFINITY, f64::min)
    }
}

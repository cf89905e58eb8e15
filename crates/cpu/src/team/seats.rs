//! A separate core for every worker.
//!
//! Two workers that share a core are slower than one of them alone, because each waits for the other at every
//! barrier. A scheduler can place them like that (a woken thread starts where its waker runs), and keep them there
//! for tenths of a second while the other cores have any work at all, even a background process. So workers record
//! where they run when a region begins, and one that finds another on its core moves to a core without workers. Its
//! CPU affinity afterwards is unchanged. Linux only; elsewhere this does nothing.

use std::sync::atomic::{AtomicU32, Ordering};

/// No core.
const NOWHERE: u32 = u32::MAX;

/// The core that each worker was on when its last region began.
pub(super) struct Seats(Box<[AtomicU32]>);

impl Seats {
    pub fn new(count: usize) -> Seats {
        Seats((0..count).map(|_| AtomicU32::new(NOWHERE)).collect())
    }

    /// Notes where the calling thread runs, as worker `index` of a region of `width` workers, and moves it if a worker before
    /// it is there. Worker 0 belongs to the caller and stays; it must come here before the others can.
    pub fn take(&self, index: usize, width: usize) {
        let Some(here) = system::core() else { return };
        self.0[index].store(here, Ordering::Relaxed);
        let taken = |seats: &[AtomicU32], core| seats.iter().any(|s| s.load(Ordering::Relaxed) == core);
        if taken(&self.0[..index], here) && system::leave(|core| taken(&self.0[..width], core)) {
            self.0[index].store(system::core().unwrap_or(NOWHERE), Ordering::Relaxed);
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    /// How often a thread moves at most: where cores are fewer than busy threads, moving is no way out.
    const PAUSE: Duration = Duration::from_millis(5);

    thread_local! {
        static MOVED: Cell<Option<Instant>> = const { Cell::new(None) };
    }

    /// The core that the calling thread runs on.
    pub fn core() -> Option<u32> {
        // SAFETY: a question without arguments.
        u32::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    /// Moves the calling thread to a core that it may run on and that is not `taken`. Whether there was one.
    pub fn leave(taken: impl Fn(u32) -> bool) -> bool {
        let now = Instant::now();
        if MOVED.get().is_some_and(|moved| now - moved < PAUSE) {
            return false;
        }
        MOVED.set(Some(now));
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: sets are plain bits, read and written within their size; thread 0 is the calling one.
        unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size, &mut allowed) != 0 {
                return false;
            }
            let mut free: libc::cpu_set_t = std::mem::zeroed();
            for core in 0..8 * size {
                if libc::CPU_ISSET(core, &allowed) && !taken(core as u32) {
                    libc::CPU_SET(core, &mut free);
                }
            }
            // An empty set is refused. The thread is where the first call wants it when that returns.
            let moved = libc::sched_setaffinity(0, size, &free) == 0;
            moved && libc::sched_setaffinity(0, size, &allowed) == 0
        }
    }

    #[cfg(test)]
    mod tests {
        use super::super::Seats;
        use super::*;
        use std::sync::atomic::Ordering;

        #[test]
        fn a_worker_that_meets_another_moves_and_may_run_where_it_might_before() {
            let allowed = || {
                // SAFETY: a set is plain bits, written within its size; thread 0 is the calling one.
                unsafe {
                    let mut set: libc::cpu_set_t = std::mem::zeroed();
                    assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
                    (0..8 * size_of_val(&set)).filter(|&core| libc::CPU_ISSET(core, &set)).collect::<Vec<_>>()
                }
            };
            // A thread of its own is the test's to move.
            let test = move || {
                let before = allowed();
                let seats = Seats::new(2);
                let Some(here) = core() else { return };
                seats.0[0].store(here, Ordering::Relaxed);
                seats.take(1, 2);
                assert_eq!(before, allowed(), "the set of cores is as it was");
                let moved = seats.0[1].load(Ordering::Relaxed);
                if before.len() > 1 {
                    // Between two lines of this test the system may have moved the thread by itself.
                    assert!(moved != here || MOVED.get().is_none(), "still on core {here}");
                }
            };
            std::thread::spawn(test).join().unwrap();
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    pub fn core() -> Option<u32> {
        None
    }

    pub fn leave(_: impl Fn(u32) -> bool) -> bool {
        false
    }
}

//! The threads of a team and the hand-over of regions to them.

use super::Worker;
use super::barrier::{Aborted, Barrier, Gate, Padded};
use super::split::Claims;
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

type Job = *const (dyn Fn(&Worker) + Sync);

/// What the caller and the workers share.
struct Shared {
    count: usize,
    /// Number of the current region; a change is the starting signal.
    region: Padded<AtomicUsize>,
    /// Workers that have left the current region.
    done: Padded<AtomicUsize>,
    barrier: Barrier,
    claims: Padded<Claims>,
    /// Written by the caller before `region` changes, read by workers after it did.
    job: UnsafeCell<Option<Job>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    stop: AtomicBool,
    /// Where workers wait for the next region.
    start: Gate,
    /// Where the caller waits for the last worker.
    finish: Gate,
}

// SAFETY: `job` is the only part that is not `Sync` by itself; it is written only by the holder of
// `Team::busy` while all workers are outside a region, and published by the store to `region`.
unsafe impl Sync for Shared {}
// SAFETY: the job pointer is used only within `Team::run`, which outlives the use; see there.
unsafe impl Send for Shared {}

/// Whether this process is a child that was forked after the team was made.
static FORKED: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
fn watch_forks() {
    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    // SAFETY: the handler only stores to an atomic, which is allowed between fork and exec.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

#[cfg(not(unix))]
fn watch_forks() {}

/// A set of threads that run parallel regions together with the calling thread.
pub struct Team {
    shared: Arc<Shared>,
    busy: AtomicBool,
    threads: Vec<JoinHandle<()>>,
}

impl Team {
    /// The team of the process: `WOOTZ_THREADS` workers, or as many as the machine runs in parallel.
    ///
    /// A child made by `fork` has none of the threads: there, regions run on the calling thread alone.
    pub fn global() -> &'static Team {
        static GLOBAL: OnceLock<Team> = OnceLock::new();
        GLOBAL.get_or_init(|| {
            watch_forks();
            Team::new(default_size())
        })
    }

    /// A team of `count` workers, the caller included. If the system refuses threads, the team is smaller.
    pub fn new(count: usize) -> Team {
        let mut shared = Shared::new(count.max(1));
        // The count must be known before threads start; on refusal start over with what was possible.
        loop {
            let arc = Arc::new(shared);
            let mut threads = Vec::new();
            for index in 1..arc.count {
                let shared = arc.clone();
                let builder = std::thread::Builder::new().name(format!("wootz-{index}"));
                match builder.spawn(move || shared.work(index)) {
                    Ok(handle) => threads.push(handle),
                    Err(_) => break,
                }
            }
            let possible = threads.len() + 1;
            let team = Team { shared: arc, busy: AtomicBool::new(false), threads };
            if possible == team.shared.count {
                return team;
            }
            drop(team);
            shared = Shared::new(possible);
        }
    }

    /// How many workers a region has, when the team is free.
    pub fn size(&self) -> usize {
        self.shared.count
    }

    /// Runs one region: every worker calls `job` once; returns when all have.
    ///
    /// If the team is in use (by another thread, or by the region we are in), `job` runs once, on this
    /// thread, as the only worker. So `job` must ask its worker for the count, not the team.
    ///
    /// # Panics
    /// With the payload of the first worker that panicked, after all workers have left the region.
    pub fn run(&self, job: &(dyn Fn(&Worker) + Sync)) {
        let shared = &*self.shared;
        let alone = shared.count == 1 || FORKED.load(Ordering::Relaxed);
        if alone || self.busy.swap(true, Ordering::Acquire) {
            return job(&Worker::solo());
        }
        shared.barrier.reset();
        shared.claims.0.reset();
        shared.done.0.store(0, Ordering::Relaxed);
        // SAFETY: we hold `busy` and the last region is over, so no worker reads `job` now. The lifetime
        // is erased, but this function does not return before every worker is done with the job.
        unsafe {
            *shared.job.get() = Some(std::mem::transmute::<*const (dyn Fn(&Worker) + Sync + '_), Job>(job))
        };
        shared.region.0.fetch_add(1, Ordering::SeqCst);
        shared.start.announce();
        shared.run_share(job, 0);
        shared.finish.wait_until(|| shared.done.0.load(Ordering::SeqCst) == shared.count - 1);
        let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.busy.store(false, Ordering::Release);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.region.0.fetch_add(1, Ordering::SeqCst);
        self.shared.start.announce();
        for thread in self.threads.drain(..) {
            // A worker catches every panic of a job, so joining cannot bring one.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn new(count: usize) -> Self {
        Shared {
            count,
            region: Padded::default(),
            done: Padded::default(),
            barrier: Barrier::default(),
            claims: Padded::default(),
            job: UnsafeCell::new(None),
            panic: Mutex::new(None),
            stop: AtomicBool::new(false),
            start: Gate::default(),
            finish: Gate::default(),
        }
    }

    /// A worker thread's life: wait for a region, take part, again.
    fn work(&self, index: usize) {
        let mut seen = 0;
        loop {
            let current = || self.region.0.load(Ordering::SeqCst);
            self.start.wait_until(|| current() != seen);
            seen = current();
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            // SAFETY: the change of `region` published the job, and it stays until we count as done.
            if let Some(job) = unsafe { *self.job.get() } {
                // SAFETY: the caller keeps the closure alive until every worker is done.
                self.run_share(unsafe { &*job }, index);
            }
            if self.done.0.fetch_add(1, Ordering::SeqCst) + 1 == self.count - 1 {
                self.finish.announce();
            }
        }
    }

    fn run_share(&self, job: &(dyn Fn(&Worker) + Sync), index: usize) {
        let team = Some((&self.barrier, &self.claims.0));
        let worker = Worker { index, count: self.count, team, loops: Cell::new(0) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| job(&worker))) {
            if !payload.is::<Aborted>() {
                self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
            }
            self.barrier.abort();
        }
    }
}

fn default_size() -> usize {
    let machine = || std::thread::available_parallelism().map_or(1, |n| n.get());
    match std::env::var("WOOTZ_THREADS") {
        Err(_) => machine(),
        Ok(text) => match text.trim().parse::<usize>() {
            Ok(count) if (1..=1024).contains(&count) => count,
            _ => {
                let count = machine();
                eprintln!("wootz: WOOTZ_THREADS={text:?} is not a number from 1 to 1024; using {count}");
                count
            }
        },
    }
}

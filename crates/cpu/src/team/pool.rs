//! The threads of a pool, and how regions are handed to them.

use super::Worker;
use super::barrier::{Aborted, Barrier, Gate, Padded};
use super::pressure::Pressure;
use super::seats::Seats;
use super::split::Claims;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Builder, JoinHandle, Mutex, Ordering};
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool as Flag, AtomicUsize as Number};
use std::sync::{OnceLock, PoisonError};
use wootz_backend::inject::{Point, fails};

type Job = *const (dyn Fn(&Worker) + Sync);

/// The number of a region above, and how many workers it has below, in one word: a worker that has no part in a region is not
/// waited for, and must never combine one region's number with another's width.
#[derive(Clone, Copy)]
struct Region(u64);

impl Region {
    const WIDTH_BITS: u32 = 16;

    fn width(self) -> usize {
        (self.0 & ((1 << Region::WIDTH_BITS) - 1)) as usize
    }

    /// The next region, of `width` workers.
    fn next(self, width: usize) -> Region {
        debug_assert!(width < 1 << Region::WIDTH_BITS);
        Region(((self.0 >> Region::WIDTH_BITS) + 1) << Region::WIDTH_BITS | width as u64)
    }
}

/// The most workers of a team.
pub const LARGEST: usize = 1024;

/// State shared by the caller and the workers.
struct Shared {
    count: usize,
    pressure: Pressure,
    seats: Seats,
    /// The current region, see [`Region`]; a change is the starting signal.
    region: Padded<AtomicU64>,
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
static FORKED: Flag = Flag::new(false);

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

/// The team of the process.
static GLOBAL: OnceLock<Team> = OnceLock::new();

/// The requested size; 0 if none was requested.
static WANTED: Number = Number::new(0);

/// A set of threads that run parallel regions together with the calling thread.
pub struct Team {
    shared: Arc<Shared>,
    busy: AtomicBool,
    threads: Vec<JoinHandle<()>>,
}

impl Team {
    /// The team of the process: as many workers as the machine runs in parallel, or fewer if `WOOTZ_THREADS` says so. (More
    /// would wait for each other's time slices at every barrier.)
    ///
    /// A forked child has none of the threads: there, regions run on the calling thread only.
    pub fn global() -> &'static Team {
        GLOBAL.get_or_init(|| {
            watch_forks();
            let wanted = WANTED.load(Ordering::Relaxed);
            Team::new(if wanted == 0 { default_size() } else { useful_size(wanted) })
        })
    }

    /// Sets the size of the team of the process, before its first use. Afterwards it cannot change: the size it has is returned
    /// as an error if it is another.
    pub fn set_global_size(count: usize) -> Result<(), usize> {
        WANTED.store(count.clamp(1, LARGEST), Ordering::Relaxed);
        match GLOBAL.get() {
            Some(team) if team.size() != count.min(machine_size()) => Err(team.size()),
            _ => Ok(()),
        }
    }

    /// A team of `count` workers, the caller included. If the system refuses threads, the team is smaller.
    pub fn new(count: usize) -> Team {
        let mut shared = Shared::new(count.clamp(1, LARGEST));
        // The count must be known before threads start; on refusal start over with what was possible.
        loop {
            let arc = Arc::new(shared);
            let mut threads = Vec::new();
            for index in 1..arc.count {
                let shared = arc.clone();
                let builder = Builder::new().name(format!("wootz-{index}"));
                if fails(Point::Thread) {
                    break;
                }
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

    /// Maximum number of workers of a region: all of them, if the pool and the machine are free.
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
        self.run_with(self.shared.count, job);
    }

    /// The same with as many workers as the machine has free cores for: fewer than all while other
    /// processes are busy. For jobs whose results do not depend on the number of workers.
    pub fn run_adaptively(&self, job: &(dyn Fn(&Worker) + Sync)) {
        self.run_with(self.shared.pressure.width(), job);
    }

    /// A region with the first `width` workers, at least 1 and at most all.
    pub(super) fn run_with(&self, width: usize, job: &(dyn Fn(&Worker) + Sync)) {
        let shared = &*self.shared;
        let alone = width == 1 || FORKED.load(Ordering::Relaxed);
        if alone || self.busy.swap(true, Ordering::Acquire) {
            return job(&Worker::solo());
        }
        shared.barrier.reset();
        shared.claims.0.reset();
        shared.done.0.store(0, Ordering::Relaxed);
        shared.seats.take(0, width);
        // SAFETY: we hold `busy` and the last region is over, so no worker reads `job` now. The lifetime
        // is erased, but this function does not return before every worker is done with the job.
        unsafe {
            *shared.job.get() = Some(std::mem::transmute::<*const (dyn Fn(&Worker) + Sync + '_), Job>(job))
        };
        let region = Region(shared.region.0.load(Ordering::Relaxed)).next(width);
        shared.region.0.store(region.0, Ordering::SeqCst);
        shared.start.announce();
        shared.run_share(job, 0, width);
        shared.finish.wait_until(|| shared.done.0.load(Ordering::SeqCst) == width - 1);
        let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.busy.store(false, Ordering::Release);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let last = Region(self.shared.region.0.load(Ordering::Relaxed));
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.region.0.store(last.next(self.shared.count).0, Ordering::SeqCst);
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
            pressure: Pressure::new(count),
            seats: Seats::new(count),
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
            // The caller does not wait for workers beyond the region's width: another region may have begun by now.
            let width = Region(seen).width();
            if index >= width {
                continue;
            }
            // SAFETY: the change of `region` published the job, and it stays until we count as done.
            if let Some(job) = unsafe { *self.job.get() } {
                self.seats.take(index, width);
                // SAFETY: the caller keeps the closure alive until every worker is done.
                self.run_share(unsafe { &*job }, index, width);
            }
            if self.done.0.fetch_add(1, Ordering::SeqCst) + 1 == width - 1 {
                self.finish.announce();
            }
        }
    }

    fn run_share(&self, job: &(dyn Fn(&Worker) + Sync), index: usize, width: usize) {
        self.pressure.watch();
        let team = Some((&self.barrier, &self.claims.0));
        let worker = Worker { index, count: width, team, loops: Cell::new(0) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| job(&worker))) {
            if !payload.is::<Aborted>() {
                self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
            }
            self.barrier.abort();
        }
    }
}

/// The size requested by `WOOTZ_THREADS`, if set; an error if it is invalid.
pub fn requested_size() -> Result<Option<usize>, String> {
    let Ok(text) = std::env::var("WOOTZ_THREADS") else { return Ok(None) };
    match text.trim().parse::<usize>() {
        Ok(count) if (1..=LARGEST).contains(&count) => Ok(Some(count)),
        _ => Err(format!("WOOTZ_THREADS={text:?} is not a number from 1 to {LARGEST}")),
    }
}

/// How many threads the machine runs in parallel.
fn machine_size() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// As many workers of the `wanted` ones as the machine runs in parallel.
pub(super) fn useful_size(wanted: usize) -> usize {
    let machine = machine_size();
    if wanted > machine {
        tracing::warn!("{wanted} threads are more than this machine runs in parallel; using {machine}");
    }
    wanted.min(machine)
}

fn default_size() -> usize {
    let size = requested_size().unwrap_or_else(|problem| {
        // Functions that can fail have returned this error already; see `check_environment`.
        tracing::warn!("{problem}; using {}", machine_size());
        None
    });
    size.map_or_else(machine_size, useful_size)
}

//! Helper threads that share a dispatch with the submitting thread, and the watchdog for time limits.

use super::job::Job;
use super::worker::Worker;
use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Helper threads of one device. They end when the pool is dropped.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    watch: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: Vec<Arc<Job>>,
    helpers: usize,
    started: bool,
    closed: bool,
}

impl Pool {
    /// A pool with `helpers` threads, started on first use.
    pub fn new(helpers: usize) -> Pool {
        let shared = Arc::new(Shared::default());
        shared.state.lock().helpers = helpers;
        Pool { shared }
    }

    /// Runs a job on the calling thread and the helpers; returns when all its groups are done or it failed.
    pub fn run(&self, worker: &mut Worker, job: &Arc<Job>) {
        {
            let mut state = self.shared.state.lock();
            if !state.started {
                state.started = true;
                self.start(state.helpers);
            }
            state.jobs.push(job.clone());
        }
        self.shared.watch.notify_one();
        if job.is_wide() {
            self.shared.wake.notify_all();
        }
        job.work(worker);
        job.join();
        self.shared.state.lock().jobs.retain(|j| !Arc::ptr_eq(j, job));
    }

    fn start(&self, helpers: usize) {
        for i in 0..helpers {
            let shared = Arc::downgrade(&self.shared);
            let _ = std::thread::Builder::new().name(format!("softmetal-{i}")).spawn(move || help(&shared));
        }
        let shared = Arc::downgrade(&self.shared);
        let _ = std::thread::Builder::new().name("softmetal-watch".into()).spawn(move || watch(&shared));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.wake.notify_all();
        self.shared.watch.notify_all();
    }
}

fn help(shared: &Weak<Shared>) {
    let mut worker = Worker::new();
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let job = {
            let mut state = shared.state.lock();
            loop {
                if state.closed {
                    return;
                }
                match state.jobs.iter().find(|j| j.is_wide() && j.has_work()) {
                    Some(j) => break j.clone(),
                    None => shared.wake.wait(&mut state),
                }
            }
        };
        job.work(&mut worker);
    }
}

fn watch(shared: &Weak<Shared>) {
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let mut state = shared.state.lock();
        while state.jobs.is_empty() && !state.closed {
            shared.watch.wait(&mut state);
        }
        if state.closed {
            return;
        }
        let now = Instant::now();
        let late = state.jobs.iter().filter(|j| j.enforce_deadline(now)).count();
        let pause = if late > 0 {
            Duration::from_millis(5)
        } else {
            let next = state.jobs.iter().map(|j| j.deadline).min().unwrap_or(now);
            next.saturating_duration_since(now).clamp(Duration::from_millis(1), Duration::from_millis(100))
        };
        shared.watch.wait_for(&mut state, pause);
    }
}

//! A dispatch, as seen by workers.

use super::abi::GroupInfo;
use super::fault::FaultInfo;
use super::worker::Worker;
use crate::check::{DispatchCheck, GroupCheck};
use crate::compile::module::EntryPoint;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// A dispatch that workers share.
#[derive(Debug)]
pub struct Job {
    /// Compiled kernel.
    pub entry: EntryPoint,
    /// State shared by all groups.
    pub template: GroupInfo,
    /// Number of groups.
    pub total: usize,
    /// Set when no more work may be done.
    pub abort: AtomicBool,
    /// When the time limit ends.
    pub deadline: Instant,
    /// Seed for shuffled order, or zero.
    pub seed: u64,
    /// Whether single-precision denormals are flushed.
    pub flush: bool,
    /// Bytes of threadgroup memory that hold garbage when a group begins.
    pub poisoned: usize,
    /// Bytes of threadgroup memory that are zero when a group begins.
    pub zeroed: usize,
    /// Checker state, when instrumented.
    pub check: Option<Arc<DispatchCheck>>,
    next: AtomicUsize,
    chunk: usize,
    fault: Mutex<Option<FaultInfo>>,
    running: Mutex<Vec<libc::pthread_t>>,
    idle: Condvar,
}

impl Job {
    /// A job over `template.groups_per_grid`.
    pub fn new(
        entry: EntryPoint,
        template: GroupInfo,
        deadline: Instant,
        seed: u64,
        check: Option<Arc<DispatchCheck>>,
    ) -> Job {
        let total = template.groups_per_grid.iter().map(|&n| n as usize).product::<usize>();
        let per_chunk = match entry {
            EntryPoint::Group(_) => {
                (4096 / template.nominal_threads.iter().product::<u32>().max(1) as usize).max(1)
            }
            EntryPoint::Lane(_) => 1,
        };
        let chunk = per_chunk.max(total / 256);
        Job {
            entry,
            template,
            total,
            abort: AtomicBool::new(false),
            deadline,
            seed,
            flush: false,
            poisoned: 0,
            zeroed: 0,
            check,
            next: AtomicUsize::new(0),
            chunk,
            fault: Mutex::new(None),
            running: Mutex::new(Vec::new()),
            idle: Condvar::new(),
        }
    }

    /// Whether more than one worker is worth waking.
    pub fn is_wide(&self) -> bool {
        self.total > self.chunk
    }

    /// Whether groups remain to be taken.
    pub fn has_work(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.total && !self.abort.load(Ordering::Relaxed)
    }

    /// Fills in what group number `i` has of its own.
    pub fn place_group(&self, g: &mut GroupInfo, i: usize) {
        let [nx, ny, _] = self.template.groups_per_grid.map(|n| n as usize);
        let i = self.shuffled(i);
        g.group_position = [(i % nx) as u32, (i / nx % ny) as u32, (i / (nx * ny)) as u32];
        for d in 0..3 {
            let left =
                self.template.threads_per_grid[d] - g.group_position[d] * self.template.nominal_threads[d];
            g.threads_per_group[d] = left.min(self.template.nominal_threads[d]);
        }
        g.thread_count = g.threads_per_group.iter().product();
    }

    /// A permutation of the group numbers: multiplication by a number prime to the total.
    fn shuffled(&self, i: usize) -> usize {
        if self.seed == 0 {
            return i;
        }
        let mut step = (self.seed as usize % self.total.max(1)) | 1;
        while gcd(step, self.total) != 1 {
            step += 2;
        }
        ((i as u128 * step as u128 + u128::from(self.seed)) % self.total as u128) as usize
    }

    /// Takes part until no groups are left. Several workers call this at once.
    pub fn work(&self, w: &mut Worker) {
        // SAFETY: pthread_self has no preconditions.
        let me = unsafe { libc::pthread_self() };
        self.running.lock().push(me);
        let _denormals = super::denormals::Denormals::flushed(self.flush);
        w.job = self;
        w.group = self.template;
        w.group.group_memory = w.group_memory();
        w.check =
            self.check.as_ref().map(|c| Box::new(GroupCheck::new(c.clone(), w.group.group_memory as usize)));
        while !self.abort.load(Ordering::Relaxed) {
            let from = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if from >= self.total {
                break;
            }
            let range = from..(from + self.chunk).min(self.total);
            let outcome = match self.entry {
                EntryPoint::Group(_) => self.work_groups(w, range),
                EntryPoint::Lane(_) => self.work_lanes(w, range),
            };
            if let Err(fault) = outcome {
                self.fault.lock().get_or_insert(fault);
                self.abort.store(true, Ordering::Relaxed);
            }
        }
        if let Some(mut c) = w.check.take() {
            c.finish();
        }
        w.job = std::ptr::null();
        let mut running = self.running.lock();
        if let Some(at) = running.iter().position(|t| *t == me) {
            running.swap_remove(at);
        }
        drop(running);
        self.idle.notify_all();
    }

    fn work_groups(&self, w: &mut Worker, range: std::ops::Range<usize>) -> Result<(), FaultInfo> {
        w.chunk = range;
        w.fault = None;
        let fiber = w.take_fiber().map_err(|e| FaultInfo::other(e.to_string()))?;
        let group: *const GroupInfo = &w.group;
        let lane = &mut w.lanes[0];
        (lane.group, lane.position, lane.index, lane.lane, lane.simd) = (group, [0; 3], 0, 0, 0);
        let lane: *mut super::abi::Lane = lane;
        w.fibers[fiber as usize].set_lane(lane);
        w.lane = 0;
        w.enter(fiber);
        w.fault.take().map_or(Ok(()), Err)
    }

    fn work_lanes(&self, w: &mut Worker, range: std::ops::Range<usize>) -> Result<(), FaultInfo> {
        for i in range {
            if self.abort.load(Ordering::Relaxed) {
                break;
            }
            self.place_group(&mut w.group, i);
            w.shuffle = if self.seed == 0 {
                0
            } else {
                (self.seed ^ (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1
            };
            self.prepare_memory(w);
            let number = self.number_of(&w.group);
            if let Some(c) = &mut w.check {
                c.begin_group(number);
            }
            w.run_lanes().map_err(|e| FaultInfo::other(e.to_string()))?;
            if let Some(fault) = w.fault.take() {
                if fault.is_trap()
                    && let Some(c) = &mut w.check
                {
                    c.trapped(&w.lanes[w.lane as usize], fault.address);
                }
                return Err(fault);
            }
            if let Some(c) = &mut w.check {
                c.end_group(&w.group);
            }
        }
        Ok(())
    }

    /// Threadgroup memory as a group finds it: zero where a variable has an initialiser, and garbage elsewhere where that is asked
    /// for, because stale values of an earlier group would hide a read of memory that nobody wrote.
    pub fn prepare_memory(&self, w: &mut Worker) {
        // SAFETY: the worker's own memory, which no kernel uses now.
        unsafe {
            std::ptr::write_bytes(w.group_memory(), 0xff, self.poisoned.min(super::worker::GROUP_MEMORY));
            std::ptr::write_bytes(w.group_memory(), 0, self.zeroed.min(super::worker::GROUP_MEMORY));
        }
    }

    fn number_of(&self, g: &GroupInfo) -> u32 {
        let [nx, ny, _] = self.template.groups_per_grid;
        (g.group_position[2] * ny + g.group_position[1]) * nx + g.group_position[0]
    }

    /// Waits until no worker is in the job.
    pub fn join(&self) {
        let mut running = self.running.lock();
        while !running.is_empty() {
            self.idle.wait(&mut running);
        }
    }

    /// The first fault, if any.
    pub fn take_fault(&self) -> Option<FaultInfo> {
        self.fault.lock().take()
    }

    /// Interrupts the kernels of this job if its time is over. Gives whether it is.
    pub fn enforce_deadline(&self, now: Instant) -> bool {
        if now < self.deadline {
            return false;
        }
        self.abort.store(true, Ordering::Relaxed);
        for &t in self.running.lock().iter() {
            // SAFETY: a thread leaves the list before it ends, under the same lock.
            unsafe { libc::pthread_kill(t, super::fault::WAKE) };
        }
        true
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

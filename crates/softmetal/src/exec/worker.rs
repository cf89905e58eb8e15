//! The state of an OS thread that runs threadgroups: stacks, lanes, threadgroup memory.

use super::abi::{GroupInfo, Lane};
use super::fault::FaultInfo;
use super::fiber::{Fiber, switch};
use super::group::SimdState;
use super::job::Job;
use crate::check::GroupCheck;
use crate::error::Result;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most threads that a group may have.
pub const MAX_THREADS: usize = 1024;
/// Bytes of threadgroup memory that a worker holds; the device's limit is lower.
pub const GROUP_MEMORY: usize = 64 << 10;

/// State of one OS thread that runs kernels.
pub struct Worker {
    /// The group that runs now.
    pub group: GroupInfo,
    /// Its threads.
    pub lanes: Vec<Lane>,
    /// Its simdgroups.
    pub simds: Vec<SimdState>,
    /// All stacks.
    pub fibers: Vec<Fiber>,
    /// Stacks that no lane uses.
    pub free: Vec<u32>,
    /// The stack of each started lane.
    pub fiber_of: Vec<u32>,
    /// The stack that runs now.
    pub fiber: u32,
    /// The lane that runs now.
    pub lane: u32,
    /// The simdgroup that runs now.
    pub simd: u32,
    /// Barriers passed by the group.
    pub epoch: u32,
    /// Where the scheduler waits while kernels run.
    pub main_sp: *mut u8,
    /// Whether compiled kernel code runs at this moment, so that a signal may take the thread away from it.
    pub in_kernel: Cell<bool>,
    /// The error of the current group.
    pub fault: Option<FaultInfo>,
    /// The job that runs now.
    pub job: *const Job,
    /// Groups of a group-mode job still to run.
    pub chunk: std::ops::Range<usize>,
    /// Checker state, when the dispatch is instrumented.
    pub check: Option<Box<GroupCheck>>,
    /// Random state for shuffled order; zero means in order.
    pub shuffle: u64,
    memory: Box<[GroupMemory]>,
}

#[repr(align(128))]
#[derive(Clone)]
struct GroupMemory(#[expect(dead_code, reason = "only its address is used")] [u8; 128]);

thread_local! {
    static CURRENT: Cell<*mut Worker> = const { Cell::new(std::ptr::null_mut()) };
}

/// The worker of this OS thread, or null.
pub fn current() -> *mut Worker {
    CURRENT.with(Cell::get)
}

impl Worker {
    /// A worker for the calling thread, at a fixed address.
    pub fn new() -> Box<Worker> {
        super::fault::prepare_thread();
        // SAFETY: GroupInfo holds integers and pointers, for which zero is a value.
        let group = unsafe { std::mem::zeroed::<GroupInfo>() };
        let memory = vec![GroupMemory([0; 128]); GROUP_MEMORY / 128].into_boxed_slice();
        let mut w = Box::new(Worker {
            group,
            lanes: Vec::with_capacity(MAX_THREADS),
            simds: Vec::new(),
            fibers: Vec::new(),
            free: Vec::new(),
            fiber_of: vec![0; MAX_THREADS],
            fiber: 0,
            lane: 0,
            simd: 0,
            epoch: 0,
            main_sp: std::ptr::null_mut(),
            in_kernel: Cell::new(false),
            fault: None,
            job: std::ptr::null(),
            chunk: 0..0,
            check: None,
            shuffle: 0,
            memory,
        });
        let at: *mut Worker = &mut *w;
        for i in 0..MAX_THREADS as u32 {
            w.lanes.push(Lane {
                group: std::ptr::null(),
                position: [0; 3],
                index: i,
                lane: 0,
                simd: 0,
                in_step: 0,
                worker: at,
            });
        }
        CURRENT.with(|c| c.set(at));
        w
    }

    /// The group's memory.
    pub fn group_memory(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast()
    }

    /// A free stack, mapped on first use.
    pub fn take_fiber(&mut self) -> Result<u32> {
        if let Some(f) = self.free.pop() {
            return Ok(f);
        }
        let f = Fiber::new(self.fibers.len(), super::group::fiber_main)?;
        self.fibers.push(f);
        Ok(self.fibers.len() as u32 - 1)
    }

    /// Runs kernels on stack `fiber` until they end or fault.
    pub fn enter(&mut self, fiber: u32) {
        self.fiber = fiber;
        let to = self.fibers[fiber as usize].sp;
        // SAFETY: `to` is a suspended or fresh stack of this worker; control comes back through main_sp.
        unsafe { switch(&raw mut self.main_sp, to) };
        if self.fault.is_some() {
            self.abandon();
        }
    }

    /// Forgets all suspended lanes after a fault.
    fn abandon(&mut self) {
        self.in_kernel.set(false);
        self.free.clear();
        for (i, f) in self.fibers.iter_mut().enumerate() {
            f.reset(super::group::fiber_main);
            self.free.push(i as u32);
        }
    }

    /// Whether the job must stop.
    pub fn aborted(&self) -> bool {
        // SAFETY: `job` is set from a live reference for as long as the job runs.
        let flag: Option<&AtomicBool> = unsafe { self.job.as_ref() }.map(|j| &j.abort);
        flag.is_some_and(|f| f.load(Ordering::Relaxed))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        CURRENT.with(|c| c.set(std::ptr::null_mut()));
    }
}

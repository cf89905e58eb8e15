//! Scheduling of the threads of a group: running, waiting, next. A lane that never waits leaves its stack to the next
//! lane.

use super::abi::{Compute, GroupInfo};
use super::fiber::switch;
use super::worker::{Worker, current};
use crate::compile::module::EntryPoint;
use crate::error::Result;
use std::ffi::{c_char, c_void};

/// One simdgroup as bit masks of lanes.
#[derive(Debug, Clone)]
pub struct SimdState {
    /// Not yet started.
    pub unstarted: u64,
    /// Suspended, and free to go on.
    pub ready: u64,
    /// Waiting in a collective.
    pub in_collective: u64,
    /// Whether all lanes that wait in a collective wait in the same one.
    pub uniform: bool,
    /// Waiting at a threadgroup barrier.
    pub at_barrier: u64,
    /// Ended.
    pub done: u64,
    /// The value that each waiting lane contributes.
    pub slots: [*mut c_void; 64],
    /// How to compute the collective of each waiting lane.
    pub compute: [Compute; 64],
    /// Line and column where each lane waits.
    pub site: [u32; 64],
    /// File where each lane waits.
    pub file: [*const c_char; 64],
    /// Collective kind of each waiting lane.
    pub kind: [u32; 64],
    /// Simdgroup barriers passed.
    pub epoch: u32,
}

impl SimdState {
    fn new(lanes: u32) -> SimdState {
        SimdState {
            unstarted: mask(lanes),
            ready: 0,
            in_collective: 0,
            uniform: true,
            at_barrier: 0,
            done: 0,
            slots: [std::ptr::null_mut(); 64],
            compute: [None; 64],
            site: [0; 64],
            file: [std::ptr::null(); 64],
            kind: [0; 64],
            epoch: 0,
        }
    }

    fn reset(&mut self, lanes: u32) {
        self.unstarted = mask(lanes);
        (self.ready, self.in_collective, self.at_barrier, self.done, self.epoch) = (0, 0, 0, 0, 0);
    }
}

/// The lowest `n` bits.
pub fn mask(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// The scheduler's next action.
enum Next {
    Start(u32),
    Resume(u32),
    Finished,
}

impl Worker {
    /// Prepares and runs the group in `self.group`.
    pub fn run_lanes(&mut self) -> Result<()> {
        let g = self.group;
        let simds = g.thread_count.div_ceil(g.simd_width);
        for s in 0..simds {
            let lanes = (g.thread_count - s * g.simd_width).min(g.simd_width);
            match self.simds.get_mut(s as usize) {
                Some(state) => state.reset(lanes),
                None => self.simds.push(SimdState::new(lanes)),
            }
        }
        self.simds.truncate(simds as usize);
        self.place_lanes(&g);
        (self.simd, self.epoch, self.fault) = (0, 0, None);
        let first = match self.next() {
            Next::Start(lane) => lane,
            _ => return Ok(()),
        };
        self.start_on_fresh(first)?;
        let fiber = self.fiber_of[first as usize];
        self.enter(fiber);
        Ok(())
    }

    fn place_lanes(&mut self, g: &GroupInfo) {
        let group: *const GroupInfo = &self.group;
        let [w, h, _] = g.threads_per_group;
        for i in 0..g.thread_count {
            let lane = &mut self.lanes[i as usize];
            lane.group = group;
            lane.position = [i % w, i / w % h, i / (w * h)];
            lane.lane = i % g.simd_width;
            lane.simd = i / g.simd_width;
            lane.in_step = 0;
        }
    }

    /// Gives `lane` an empty stack.
    fn start_on_fresh(&mut self, lane: u32) -> Result<()> {
        let f = self.take_fiber()?;
        self.adopt(lane, f);
        Ok(())
    }

    fn adopt(&mut self, lane: u32, fiber: u32) {
        self.fiber_of[lane as usize] = fiber;
        self.lane = lane;
        let at: *mut super::abi::Lane = &mut self.lanes[lane as usize];
        self.fibers[fiber as usize].set_lane(at);
    }

    /// Chooses among set bits: the highest, or any when the order is shuffled. The last lane works for all in matrix
    /// operations, so it always goes first; and lane 0, which usually stores a result for all, goes last, as kernels
    /// expect of lanes in step.
    fn pick(&mut self, bits: u64) -> u32 {
        let highest = 63 - bits.leading_zeros();
        let g = &self.group;
        let last = (g.thread_count - self.simd * g.simd_width).min(g.simd_width) - 1;
        if self.shuffle == 0 || highest == last {
            return highest;
        }
        let mut skip = self.random() % u64::from(bits.count_ones());
        let mut rest = bits;
        while skip > 0 {
            rest &= rest - 1;
            skip -= 1;
        }
        rest.trailing_zeros()
    }

    fn random(&mut self) -> u64 {
        self.shuffle ^= self.shuffle << 13;
        self.shuffle ^= self.shuffle >> 7;
        self.shuffle ^= self.shuffle << 17;
        self.shuffle >> 11
    }

    /// The next lane to run. Releases collectives and barriers when nobody else can run.
    fn next(&mut self) -> Next {
        let width = self.group.simd_width;
        loop {
            let s = self.simd;
            let state = &mut self.simds[s as usize];
            let open = state.unstarted | state.ready;
            if open != 0 {
                let bit = self.pick(open);
                let state = &mut self.simds[s as usize];
                let lane = s * width + bit;
                if state.unstarted >> bit & 1 == 1 {
                    state.unstarted &= !(1 << bit);
                    return Next::Start(lane);
                }
                state.ready &= !(1 << bit);
                return Next::Resume(lane);
            }
            if state.in_collective != 0 {
                self.release_collective(s);
                continue;
            }
            match self.other_simd(s) {
                Some(other) => self.simd = other,
                None if self.simds.iter().any(|x| x.at_barrier != 0) => self.release_barrier(),
                None => return Next::Finished,
            }
        }
    }

    /// Another simdgroup that is not stuck at a barrier.
    fn other_simd(&mut self, s: u32) -> Option<u32> {
        let n = self.simds.len() as u32;
        let offset = if self.shuffle == 0 { 1 } else { 1 + (self.random() % u64::from(n)) as u32 };
        (0..n).map(|k| (s + offset + k) % n).find(|&k| {
            let x = &self.simds[k as usize];
            x.unstarted | x.ready | x.in_collective != 0
        })
    }

    /// Suspends the running lane and runs others until it may go on. Inlined with what it calls: every frame on a
    /// suspended stack is a cache line to bring back.
    #[inline(always)]
    pub fn wait(&mut self) {
        let me = self.fiber;
        let lane = self.lane;
        match self.next() {
            Next::Resume(next) if next == lane => {}
            Next::Resume(next) => self.switch_to_lane(me, next),
            Next::Start(next) => match self.start_on_fresh(next) {
                Ok(()) => self.switch_to_lane(me, next),
                Err(e) => {
                    self.fault = Some(super::fault::FaultInfo::other(e.to_string()));
                    self.leave(me);
                }
            },
            // All others ended while this lane waits: next() releases barriers first, so this cannot be.
            Next::Finished => self.leave(me),
        }
    }

    #[inline(always)]
    fn switch_to_lane(&mut self, me: u32, lane: u32) {
        let to = self.fiber_of[lane as usize];
        self.lane = lane;
        self.fiber = to;
        let to_sp = self.fibers[to as usize].sp;
        let from: *mut *mut u8 = &mut self.fibers[me as usize].sp;
        // SAFETY: both stacks belong to this worker; `to_sp` was saved by the last switch away from it.
        unsafe { switch(from, to_sp) };
    }

    /// Back to the worker's own stack.
    pub fn leave(&mut self, me: u32) {
        let from: *mut *mut u8 = &mut self.fibers[me as usize].sp;
        // SAFETY: main_sp was saved by `enter`.
        unsafe { switch(from, self.main_sp) };
    }
}

/// The body of every stack: runs lanes one after another, as long as there are lanes to start.
pub extern "C" fn fiber_main() -> ! {
    loop {
        let w = current();
        // SAFETY: the worker outlives its stacks, and only this OS thread touches it.
        let (entry, me) = unsafe { ((*(*w).job).entry, (*w).fiber) };
        match entry {
            EntryPoint::Group(run) => groups_on(w, me, run),
            EntryPoint::Lane(run) => lanes_on(w, me, run),
        }
    }
}

fn groups_on(w: *mut Worker, me: u32, run: unsafe extern "C" fn(*const GroupInfo)) {
    // SAFETY: the worker outlives its stacks, and only this OS thread touches it; the kernel gets the worker's own group.
    unsafe {
        let job = &*(*w).job;
        while let Some(i) = (*w).chunk.next() {
            if (*w).aborted() {
                break;
            }
            job.place_group(&mut (*w).group, i);
            job.prepare_memory(&mut *w);
            (*w).in_kernel.set(true);
            run(&raw const (*w).group);
            (*w).in_kernel.set(false);
        }
        (*w).free.push(me);
        (*w).leave(me);
    }
}

fn lanes_on(w: *mut Worker, me: u32, run: unsafe extern "C" fn(*const super::abi::Lane)) {
    // SAFETY: the worker outlives its stacks, and only this OS thread touches it; `lane` names a prepared lane that nobody else runs.
    unsafe {
        loop {
            let lane = (*w).lane;
            let at = &raw const (&(*w).lanes)[lane as usize];
            (*w).in_kernel.set(true);
            run(at);
            (*w).in_kernel.set(false);
            let w = &mut *w;
            let simd = &mut w.simds[(lane / w.group.simd_width) as usize];
            simd.done |= 1 << (lane % w.group.simd_width);
            match w.next() {
                Next::Start(next) => w.adopt(next, me),
                Next::Resume(next) => {
                    w.free.push(me);
                    w.switch_to_lane(me, next);
                    return;
                }
                Next::Finished => {
                    w.free.push(me);
                    w.leave(me);
                    return;
                }
            }
        }
    }
}

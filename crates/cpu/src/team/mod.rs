//! A persistent thread pool.
//!
//! [`Team::run`] is one parallel *region*: every worker runs the closure once, with the caller as worker 0. Workers
//! spin briefly after a region before they park, so that back-to-back regions cost about a microsecond. Inside a
//! region [`Worker::barrier`] separates phases. On a busy machine regions have fewer workers (see `pressure`), and
//! each runs on a core of its own if there are enough (see `seats`).
//!
//! Promises: a nested or concurrent `run` never deadlocks (it runs on the caller's thread only, with a single
//! worker); a panic in any worker ends the region on all workers and resumes on the caller.
//! Not promised: fairness between several callers.

mod barrier;
mod pool;
mod pressure;
mod seats;
mod split;

pub use pool::{LARGEST, Team, requested_size};
pub use split::{SyncPtr, split_range};

use barrier::Barrier;
use split::Claims;
use std::cell::Cell;
use std::ops::Range;

/// One worker's view of a parallel region.
pub struct Worker<'a> {
    index: usize,
    count: usize,
    team: Option<(&'a Barrier, &'a Claims)>,
    /// Loops over shared pieces that this worker has begun.
    loops: Cell<u32>,
}

impl Worker<'_> {
    /// A one-worker context for work on the caller's thread, with no team behind it.
    pub const fn solo() -> Worker<'static> {
        Worker { index: 0, count: 1, team: None, loops: Cell::new(0) }
    }

    /// This worker's number, from 0 (the caller of the region) to `count() - 1`.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many workers run this region.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Waits until every worker of the region has reached this point. Earlier writes are visible afterwards.
    ///
    /// If another worker panicked, this unwinds too, so that the region ends.
    pub fn barrier(&self) {
        if let Some((barrier, _)) = self.team {
            barrier.wait(self.count);
        }
    }

    /// This worker's share of `0..n`: contiguous, in multiples of `grain` (except at the end), as even as
    /// that allows. The shares of all workers cover `0..n` without overlap.
    pub fn split(&self, n: usize, grain: usize) -> Range<usize> {
        split_range(n, grain, self.index, self.count)
    }

    /// The pieces `0..n` that this worker gets when all workers take them one by one as they become free: a worker that
    /// starts late or runs on a slower core takes fewer. All workers must begin the same loops in the same order, and
    /// take pieces until there are none.
    pub fn pieces(&self, n: usize) -> impl Iterator<Item = usize> {
        let number = self.loops.get() + 1;
        self.loops.set(number);
        let total = u32::try_from(n).expect("a loop has fewer than 2^32 pieces");
        let mut own = 0..n;
        std::iter::from_fn(move || match self.team {
            Some((_, claims)) => claims.take(number, total).map(|piece| piece as usize),
            None => own.next(),
        })
    }
}

#[cfg(test)]
mod tests;

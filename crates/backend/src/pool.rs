//! A bounded pool of memory blocks.

use crate::inject::{Point, fails};
use crate::sync::Lock;
use std::collections::BTreeMap;

/// Memory statistics, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// In live buffers.
    pub live: usize,
    /// Cached for reuse.
    pub cached: usize,
    /// Peak live bytes since the start or the last trim.
    pub peak: usize,
    /// Number of live buffers.
    pub buffers: usize,
    /// Number of cached blocks.
    pub cached_blocks: usize,
    /// Allocations served from the cache.
    pub hits: u64,
    /// Allocations passed to the system.
    pub misses: u64,
}

/// Limits of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolLimits {
    /// Maximum live bytes.
    pub live: usize,
    /// Maximum cached bytes.
    pub cached: usize,
    /// Maximum number of cached blocks.
    pub blocks: usize,
}

/// Free blocks of a device by size, with statistics. The device allocates the blocks; the pool caches them.
pub struct Pool<B> {
    limits: PoolLimits,
    state: Lock<State<B>>,
}

struct State<B> {
    free: BTreeMap<usize, Vec<B>>,
    stats: MemoryStats,
}

/// Size classes let similar requests share blocks: small sizes are rounded to 64 bytes, large ones to an eighth.
pub fn size_class(bytes: usize) -> usize {
    if bytes <= 1024 {
        return bytes.next_multiple_of(64).max(64);
    }
    // Sizes that no memory has stay as they are, for the pool to refuse.
    let step = bytes.checked_next_power_of_two().map_or(64, |power| (power / 8).max(64));
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

impl<B> Pool<B> {
    /// An empty pool.
    pub fn new(limits: PoolLimits) -> Pool<B> {
        Pool { limits, state: Lock::new(State { free: BTreeMap::new(), stats: MemoryStats::default() }) }
    }

    /// The limits.
    pub fn limits(&self) -> PoolLimits {
        self.limits
    }

    /// A block of the size class of `bytes` (returned with it), from the cache or allocated with `make`. The cache is
    /// dropped and `make` is tried again before the pool gives up; `None` means out of memory.
    pub fn take(&self, bytes: usize, make: impl Fn(usize) -> Option<B>) -> Option<(B, usize)> {
        let size = size_class(bytes);
        if fails(Point::Memory) {
            return None;
        }
        {
            let mut state = self.state.lock();
            if state.stats.live.checked_add(size).is_none_or(|live| live > self.limits.live) {
                return None;
            }
            // Counted before it is made, so that threads together stay within the limit.
            state.stats.live += size;
            state.stats.buffers += 1;
            let cached = state.free.get_mut(&size).and_then(Vec::pop);
            if let Some(block) = cached {
                state.stats.cached -= size;
                state.stats.cached_blocks -= 1;
                state.stats.hits += 1;
                state.mark();
                return Some((block, size));
            }
            state.stats.misses += 1;
        }
        let block = make(size).or_else(|| {
            self.trim();
            make(size)
        });
        match &block {
            Some(_) => self.state.lock().mark(),
            None => self.release(size),
        }
        Some((block?, size))
    }

    /// Takes a block back, to cache or to free it.
    pub fn give(&self, block: B, size: usize) {
        let mut state = self.state.lock();
        state.stats.live -= size;
        state.stats.buffers -= 1;
        let fits =
            state.stats.cached + size <= self.limits.cached && state.stats.cached_blocks < self.limits.blocks;
        if fits {
            state.stats.cached += size;
            state.stats.cached_blocks += 1;
            state.free.entry(size).or_default().push(block);
        } else {
            drop(state);
            drop(block);
        }
    }

    /// Counts memory that the pool did not allocate (imported or mapped).
    pub fn adopt(&self, size: usize) {
        self.state.lock().count(size);
    }

    /// Reverses [`adopt`](Self::adopt).
    pub fn release(&self, size: usize) {
        let mut state = self.state.lock();
        state.stats.live -= size;
        state.stats.buffers -= 1;
    }

    /// Frees every cached block, and resets the peak.
    pub fn trim(&self) {
        let free = {
            let mut state = self.state.lock();
            state.stats.cached = 0;
            state.stats.cached_blocks = 0;
            state.stats.peak = state.stats.live;
            std::mem::take(&mut state.free)
        };
        drop(free);
    }

    /// The statistics.
    pub fn stats(&self) -> MemoryStats {
        self.state.lock().stats
    }
}

impl<B> State<B> {
    fn count(&mut self, size: usize) {
        self.stats.live += size;
        self.stats.buffers += 1;
        self.mark();
    }

    fn mark(&mut self) {
        self.stats.peak = self.stats.peak.max(self.stats.live);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool<Vec<u8>> {
        Pool::new(PoolLimits { live: 1 << 20, cached: 4096, blocks: 2 })
    }

    #[test]
    fn blocks_are_reused_within_bounds() {
        let pool = pool();
        let make = |n: usize| Some(vec![0u8; n]);
        let taken: Vec<_> = (0..3).map(|_| pool.take(1000, make).unwrap()).collect();
        assert_eq!((pool.stats().buffers, pool.stats().misses), (3, 3));
        for (block, size) in taken {
            pool.give(block, size);
        }
        assert_eq!(pool.stats().cached_blocks, 2, "the third block exceeds the count");
        pool.take(990, make).unwrap();
        assert_eq!(pool.stats().hits, 1);
        pool.trim();
        assert_eq!(pool.stats().cached, 0);
    }

    #[test]
    fn the_limit_and_a_failing_system_are_none() {
        let pool = pool();
        assert!(pool.take(2 << 20, |n| Some(vec![0u8; n])).is_none());
        assert!(pool.take(usize::MAX, |n| Some(vec![0u8; n])).is_none());
        assert!(pool.take(usize::MAX / 2, |n| Some(vec![0u8; n])).is_none());
        assert!(pool.take(10, |_| None::<Vec<u8>>).is_none());
        assert_eq!(pool.stats().live, 0);
    }

    #[test]
    fn size_classes_waste_at_most_a_quarter() {
        for bytes in [0, 1, 63, 64, 65, 1000, 1025, 4097, 1 << 20, (1 << 20) + 1, 400_000_000] {
            let class = size_class(bytes);
            assert!(class >= bytes && class <= (bytes + bytes / 4).max(bytes + 64), "{bytes} {class}");
        }
    }
}

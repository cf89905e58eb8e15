//! The same sources on real threads and plain memory, for ThreadSanitizer to watch: `scripts/check-tsan`.
#![cfg(feature = "threads")]

use wootz_loom::cache::Cache;
use wootz_loom::pool::{Pool, PoolLimits};
use wootz_loom::team::{SyncPtr, Team};

#[test]
fn barriers_order_plain_memory() {
    let team = Team::new(4);
    let mut data = vec![0u64; 4096];
    for round in 1..200u64 {
        let memory = SyncPtr::of(&mut data);
        team.run(&|worker| {
            let own = worker.split(4096, 1);
            // SAFETY: the shares of workers do not overlap, and the barrier stands between writing and reading.
            unsafe {
                for i in own.clone() {
                    *memory.get().add(i) = round + i as u64;
                }
                worker.barrier();
                for i in own {
                    let other = 4095 - i;
                    assert_eq!(*memory.get().add(other), round + other as u64);
                }
            }
            worker.barrier();
        });
    }
}

#[test]
fn callers_nest_and_compete() {
    let team = Team::new(3);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..300 {
                    let mut parts = [0u64; 8];
                    let memory = SyncPtr::of(&mut parts);
                    team.run(&|worker| {
                        // SAFETY: every piece is handed out once.
                        worker.pieces(8).for_each(|i| unsafe { *memory.get().add(i) += 1 });
                        team.run(&|inner| assert_eq!(inner.count(), 1));
                    });
                    assert_eq!(parts, [1; 8]);
                }
            });
        }
    });
}

#[test]
fn a_pool_serves_many_threads() {
    let pool: Pool<Vec<u8>> = Pool::new(PoolLimits { live: 1 << 16, cached: 4096, blocks: 8 });
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let pool = &pool;
            scope.spawn(move || {
                for i in 0..3000 {
                    let size = 64 * (1 + (i + thread) % 30);
                    if let Some((mut block, size)) = pool.take(size, |n| Some(vec![0; n])) {
                        block[0] = block[0].wrapping_add(1);
                        assert!(pool.stats().live <= 1 << 16);
                        pool.give(block, size);
                    }
                    if i % 500 == 0 {
                        pool.trim();
                    }
                }
            });
        }
    });
    assert_eq!(pool.stats().live, 0);
}

#[test]
fn a_cache_of_pipelines_makes_each_once() {
    let cache: Cache<Vec<u8>> = Cache::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..200u8 {
                    let made = cache.get_or_make(&i.to_string(), || Ok::<_, ()>(vec![i; 10]));
                    assert_eq!(made, Ok(vec![i; 10]));
                }
            });
        }
    });
    assert_eq!(cache.count(), 200);
}

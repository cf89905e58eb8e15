//! Small programs in every order that their threads can run in.
#![cfg(not(feature = "threads"))]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wootz_loom::pool::{Pool, PoolLimits};
use wootz_loom::team::Team;

/// Runs a program in every order with at most so many preemptions; `WOOTZ_FULL=1` allows one more.
fn every_order(preemptions: usize, program: impl Fn() + Sync + Send + 'static) {
    let full = std::env::var_os("WOOTZ_FULL").is_some_and(|v| v == "1");
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions + usize::from(full));
    model.check(program);
}

#[test]
fn what_one_worker_writes_before_a_barrier_the_other_reads_after_it() {
    every_order(3, || {
        let team = Team::new(2);
        let written = [AtomicUsize::new(0), AtomicUsize::new(0)];
        team.run(&|worker| {
            // Relaxed: only the barrier orders them.
            written[worker.index()].store(7, Ordering::Relaxed);
            worker.barrier();
            assert_eq!(written[1 - worker.index()].load(Ordering::Relaxed), 7);
        });
    });
}

#[test]
fn regions_follow_each_other_and_their_writes_are_seen() {
    every_order(3, || {
        let team = Team::new(2);
        let total = AtomicUsize::new(0);
        for region in 1..=2 {
            team.run(&|_| {
                total.fetch_add(region, Ordering::Relaxed);
            });
            assert_eq!(total.load(Ordering::Relaxed), if region == 1 { 2 } else { 6 });
        }
    });
}

#[test]
fn pieces_are_handed_out_once() {
    every_order(3, || {
        let team = Team::new(2);
        let taken = [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)];
        team.run(&|worker| {
            worker.pieces(1).for_each(|_| {
                taken[0].fetch_add(1, Ordering::Relaxed);
            });
            worker.pieces(2).for_each(|i| {
                taken[1 + i].fetch_add(1, Ordering::Relaxed);
            });
        });
        assert!(taken.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    });
}

#[test]
fn a_panic_takes_everybody_out_and_the_next_region_is_whole() {
    every_order(3, || {
        let team = Team::new(2);
        for culprit in 0..2 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                team.run(&|worker| {
                    if worker.index() == culprit {
                        std::panic::resume_unwind(Box::new(culprit));
                    }
                    worker.barrier();
                });
            }));
            assert_eq!(outcome.unwrap_err().downcast_ref::<usize>(), Some(&culprit));
        }
        let hits = AtomicUsize::new(0);
        team.run(&|worker| {
            worker.barrier();
            hits.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(hits.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn two_callers_of_one_team_both_get_their_work_done() {
    every_order(3, || {
        let team = Arc::new(Team::new(2));
        let total = Arc::new(AtomicUsize::new(0));
        let call = |team: &Team, total: &AtomicUsize| {
            let hits = AtomicUsize::new(0);
            let count = AtomicUsize::new(0);
            team.run(&|worker| {
                count.store(worker.count(), Ordering::Relaxed);
                hits.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(hits.load(Ordering::Relaxed), count.load(Ordering::Relaxed));
            total.fetch_add(1, Ordering::Relaxed);
        };
        let other = {
            let (team, total) = (team.clone(), total.clone());
            loom::thread::spawn(move || call(&team, &total))
        };
        call(&team, &total);
        other.join().unwrap();
        assert_eq!(total.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_pool_stays_within_its_limit_and_counts_right() {
    every_order(3, || {
        let limits = PoolLimits { live: 64, cached: 64, blocks: 1 };
        let (pool, made) = (Arc::new(Pool::new(limits)), Arc::new(AtomicUsize::new(0)));
        let take_and_give = |pool: &Pool<usize>, made: &AtomicUsize| {
            let make = |size: usize| {
                let before = made.fetch_add(size, Ordering::Relaxed);
                assert!(before < 2 * 64, "{before} bytes were there");
                Some(size)
            };
            let Some((block, size)) = pool.take(10, make) else { return false };
            let stats = pool.stats();
            assert!(stats.live <= 64, "{stats:?}");
            pool.give(block, size);
            true
        };
        let other = {
            let (pool, made) = (pool.clone(), made.clone());
            loom::thread::spawn(move || take_and_give(&pool, &made))
        };
        let own = take_and_give(&pool, &made);
        let other = other.join().unwrap();
        assert!(own || other, "one of them fits");
        let stats = pool.stats();
        assert_eq!((stats.live, stats.buffers), (0, 0));
        assert!(stats.cached <= 64 && stats.peak == 64, "{stats:?}");
    });
}

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn every_worker_runs_once_with_its_own_index() {
    let team = Team::new(5);
    for _ in 0..200 {
        let hits: Vec<AtomicUsize> = (0..5).map(|_| AtomicUsize::new(0)).collect();
        team.run(&|w| {
            assert_eq!(w.count(), 5);
            hits[w.index()].fetch_add(1, Ordering::Relaxed);
        });
        assert!(hits.iter().all(|h| h.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn barrier_separates_phases() {
    let team = Team::new(4);
    let counter = AtomicUsize::new(0);
    team.run(&|w| {
        for phase in 1..=500 {
            counter.fetch_add(1, Ordering::Relaxed);
            w.barrier();
            assert_eq!(counter.load(Ordering::Relaxed), 4 * phase);
            w.barrier();
        }
    });
}

#[test]
fn parked_workers_wake_up() {
    let team = Team::new(3);
    for _ in 0..5 {
        std::thread::sleep(std::time::Duration::from_millis(2));
        let hits = AtomicUsize::new(0);
        team.run(&|_| {
            hits.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(hits.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn nested_and_concurrent_regions_run_alone() {
    let team = Team::new(3);
    let inner = AtomicUsize::new(0);
    team.run(&|_| {
        team.run(&|w| {
            assert_eq!(w.count(), 1);
            w.barrier();
            inner.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(inner.load(Ordering::Relaxed), 3);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let hits = AtomicUsize::new(0);
                    let count = AtomicUsize::new(0);
                    team.run(&|w| {
                        hits.fetch_add(1, Ordering::Relaxed);
                        count.store(w.count(), Ordering::Relaxed);
                    });
                    assert_eq!(hits.into_inner(), count.into_inner());
                }
            });
        }
    });
}

#[test]
fn regions_of_every_width_follow_each_other() {
    let team = Team::new(4);
    for round in 0..3_000 {
        let width = [4, 2, 3, 1, 4, 1, 2][round % 7];
        let (hits, highest) = (AtomicUsize::new(0), AtomicUsize::new(0));
        team.run_with(width, &|w| {
            assert_eq!(w.count(), width);
            w.barrier();
            hits.fetch_add(1, Ordering::Relaxed);
            highest.fetch_max(w.index(), Ordering::Relaxed);
        });
        assert_eq!((hits.into_inner(), highest.into_inner()), (width, width - 1));
    }
}

#[test]
fn a_panic_reaches_the_caller_and_the_team_lives_on() {
    let team = Team::new(4);
    for culprit in 0..4 {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            team.run(&|w| {
                if w.index() == culprit {
                    std::panic::resume_unwind(Box::new(culprit));
                }
                w.barrier();
                w.barrier();
            })
        }));
        assert_eq!(outcome.unwrap_err().downcast_ref::<usize>(), Some(&culprit));
        let hits = AtomicUsize::new(0);
        team.run(&|w| {
            w.barrier();
            hits.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(hits.into_inner(), 4);
    }
}

/// Workers beyond the machine's would wait for each other's time slices.
#[test]
fn the_team_of_the_process_is_no_larger_than_the_machine() {
    let machine = std::thread::available_parallelism().map_or(1, |n| n.get());
    for wanted in [1, machine, machine + 1, 1000, LARGEST] {
        assert_eq!(pool::useful_size(wanted), wanted.min(machine));
    }
    assert!(Team::global().size() <= machine);
}

#[test]
fn shares_cover_the_range_without_overlap() {
    for (n, grain, count) in [(0, 4, 3), (1, 4, 3), (100, 16, 3), (100, 1, 7), (5, 0, 8), (64, 64, 2)] {
        let mut next = 0;
        for index in 0..count {
            let share = split_range(n, grain, index, count);
            if !share.is_empty() {
                assert_eq!(share.start, next);
                assert!(share.end == n || share.end.is_multiple_of(grain.max(1)));
                next = share.end;
            }
        }
        assert_eq!(next, n);
    }
}

#[test]
fn pieces_are_handed_out_once_in_every_loop() {
    let team = Team::new(4);
    for _ in 0..20 {
        let seen: Vec<AtomicUsize> = (0..300).map(|_| AtomicUsize::new(0)).collect();
        // Three loops without a barrier between them: fast workers are ahead of slow ones.
        team.run(&|w| {
            for loop_start in [0, 100, 200] {
                w.pieces(100).for_each(|i| {
                    seen[loop_start + i].fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert!(seen.iter().all(|s| s.load(Ordering::Relaxed) == 1));
    }
    assert_eq!(Worker::solo().pieces(3).collect::<Vec<_>>(), [0, 1, 2]);
}

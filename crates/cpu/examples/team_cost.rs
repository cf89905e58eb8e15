//! Prints what a parallel region and a barrier cost on this machine: the median of many, because a machine
//! with other work on it makes some of them wait for a whole time slice.

use std::time::Instant;
use wootz_cpu::team::Team;

fn median(mut times: Vec<u128>) -> u128 {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    let team = Team::global();
    let timed = |job: &dyn Fn()| {
        let start = Instant::now();
        job();
        start.elapsed().as_nanos()
    };
    let regions: Vec<_> = (0..20_000).map(|_| timed(&|| team.run(&|_| {}))).collect();
    let with_barriers: Vec<_> = (0..5_000)
        .map(|_| {
            timed(&|| {
                team.run(&|w| {
                    for _ in 0..100 {
                        w.barrier();
                    }
                });
            })
        })
        .collect();
    let (region, hundred) = (median(regions), median(with_barriers));
    println!(
        "{} workers: empty region {region} ns, barrier {} ns",
        team.size(),
        hundred.saturating_sub(region) / 100
    );
}

//! Our kernels next to NumPy on the same machine, turn by turn in one run.
//!
//! `WOOTZ_PYTHON` names an interpreter that has NumPy (default `python3`). Arguments choose cases by prefix.
//! Before each turn the program waits, so that NumPy's BLAS threads stop spinning; on a machine with other work
//! on it, `QUIET=1` makes both sides wait for idle processors. `ROUNDS` sets the number of turns.

mod cases;
mod peak;
mod peer;
mod quiet;

use std::time::Instant;

fn best_and_median(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_unstable_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

fn main() -> std::io::Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let rounds = std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(15);
    let (f32_peak, f64_peak) = (peak::flops::<f32>(), peak::flops::<f64>());
    println!("measured FMA peak, all workers: f32 {f32_peak:.0} GFLOP/s, f64 {f64_peak:.0} GFLOP/s");
    let mut peer = peer::Peer::start()?;
    println!(
        "{:<18} {:>10} {:>10} {:>7} {:>7}   (ms, best; ratio NumPy/ours of best, of medians)",
        "case", "ours", "numpy", "best", "median"
    );
    for name in cases::NAMES {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.starts_with(w.as_str())) {
            continue;
        }
        let mut case = cases::build(name);
        (case.run)();
        // Short cases run many times in a row, so that both sides are timed warm.
        let repeats = (4e-3 / peer.time(name, 1)?).clamp(1.0, 1000.0) as usize;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            quiet::wait();
            theirs.push(peer.time(name, repeats)?);
            quiet::wait();
            (case.run)();
            let start = Instant::now();
            for _ in 0..repeats {
                (case.run)();
            }
            ours.push(start.elapsed().as_secs_f64() / repeats as f64);
        }
        let ((best, median), (peer_best, peer_median)) = (best_and_median(ours), best_and_median(theirs));
        println!(
            "{name:<18} {:>10.3} {:>10.3} {:>7.2} {:>7.2}   {:.1} {}",
            best * 1e3,
            peer_best * 1e3,
            peer_best / best,
            peer_median / median,
            case.work / best * 1e-9,
            case.unit
        );
    }
    Ok(())
}

//! Waiting for a quiet machine: with `QUIET=1` each turn starts when the processors have just been idle.

use std::time::{Duration, Instant};

/// (busy, idle) ticks of all processors so far; `None` where the system does not tell.
fn ticks() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).filter_map(|f| f.parse().ok()).collect();
    let idle = fields.get(3)? + fields.get(4)?;
    Some((fields.iter().take(8).sum::<u64>() - idle, idle))
}

/// Returns after 80 ms of idle processors, or 2 s.
pub fn wait() {
    if std::env::var_os("QUIET").is_none() {
        return std::thread::sleep(Duration::from_millis(40));
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        let before = ticks();
        std::thread::sleep(Duration::from_millis(80));
        let (Some((b0, i0)), Some((b1, i1))) = (before, ticks()) else { return };
        if (b1 - b0) * 10 <= (i1 - i0) + (b1 - b0) {
            return;
        }
    }
}

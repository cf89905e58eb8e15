//! The machine and the time of a run.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use wootz_report::Machine;

pub fn describe() -> Machine {
    Machine {
        processor: processor().unwrap_or_else(|| "unknown processor".into()),
        threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
        memory_bytes: memory().unwrap_or(0),
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    }
}

/// The value of a `name : value` line in a /proc file.
fn proc_value(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|l| l.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

fn sysctl(name: &str) -> Option<String> {
    let output = Command::new("sysctl").args(["-n", name]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (!text.is_empty()).then_some(text)
}

fn processor() -> Option<String> {
    proc_value("/proc/cpuinfo", "model name").or_else(|| sysctl("machdep.cpu.brand_string"))
}

fn memory() -> Option<u64> {
    if let Some(kib) = proc_value("/proc/meminfo", "MemTotal") {
        return Some(kib.split_whitespace().next()?.parse::<u64>().ok()? * 1024);
    }
    sysctl("hw.memsize")?.parse().ok()
}

/// The current time in UTC, as RFC 3339.
pub fn now() -> String {
    rfc3339(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()))
}

fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86400, seconds % 86400);
    // Days since 0000-03-01, in eras of 400 years, which puts leap days at the end of the year.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn dates_are_right_around_leap_days() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}

//! `docs/performance.md` and the table in the README, from a committed run.

use crate::page::mean_ratio;
use crate::run::{Case, Outcome, Run, Share};
use crate::text::{bytes, percent, rate, seconds, times};
use std::fmt::Write;

/// The page, all of it made from a run.
pub fn performance_page(run: &Run) -> String {
    let mut text = String::from("# Performance\n\n");
    text.push_str(
        "Generated from [performance.json](performance.json); do not edit. Each speed claim is a ratio to the other library, \
         measured in the same run on the same data, plus the fraction of this machine's limit, also measured in that \
         run. Times on other machines differ; `wootz bench --peers` measures yours.\n\n",
    );
    machine(&mut text, run);
    for suite in ["core", "overhead", "memory", "llm", "load"] {
        let cases: Vec<&Case> = run.cases.iter().filter(|c| c.suite == suite).collect();
        if !cases.is_empty() {
            let _ = write!(text, "## {}\n\n", title(suite));
            table(&mut text, run, &cases);
            profiles(&mut text, &cases);
        }
    }
    text.push_str(include_str!("reading.md"));
    text
}

fn title(suite: &str) -> &str {
    match suite {
        "core" => "Kernels",
        "overhead" => "Overhead",
        "memory" => "Memory",
        "load" => "Language models on a busy machine",
        _ => "Language models",
    }
}

fn machine(text: &mut String, run: &Run) {
    let m = &run.machine;
    let _ = write!(
        text,
        "| | |\n|---|---|\n| machine | {}, {} threads, {}, {} |\n| wootz | {} at `{}`, {} |\n",
        m.processor,
        m.threads,
        bytes(m.memory_bytes as f64),
        m.system,
        run.version,
        run.revision,
        run.when
    );
    for device in run.devices() {
        if let Some(limits) = device.limits {
            let _ = writeln!(
                text,
                "| limits of `{}`, measured | copy {:.1} GB/s, multiply-adds {:.1} GFLOP/s |",
                device.name,
                limits.bytes_per_s / 1e9,
                limits.flops_per_s / 1e9
            );
        }
    }
    for peer in run.peers() {
        let mean = run.devices().next().and_then(|d| mean_ratio(run, &d.name, &peer.name));
        let mean = mean.map(|(mean, n)| format!(": {} its speed, geometric mean of {n} cases", times(mean)));
        let _ = writeln!(text, "| {} | {}{} |", peer.name, peer.description, mean.unwrap_or_default());
    }
    for skipped in &run.skipped {
        let _ = writeln!(text, "| {} | skipped: {} |", skipped.name, skipped.reason.replace('|', "\\|"));
    }
    for (holds, note) in [(!run.complete, "this run is partial"), (run.quick, "quick run: times are noisy")] {
        if holds {
            let _ = writeln!(text, "| note | {note} |");
        }
    }
    text.push('\n');
}

fn table(text: &mut String, run: &Run, cases: &[&Case]) {
    let peers: Vec<&str> =
        run.peers().map(|p| p.name.as_str()).filter(|p| cases.iter().any(|c| c.best(p).is_some())).collect();
    let memory = cases.iter().any(|c| c.suite == "memory");
    let third = if memory { "peak of least memory" } else { "rate" };
    let load = cases.iter().any(|c| c.suite == "load");
    let (time, limit) = if load { ("median", "of the fair share") } else { ("best", "of the limit") };
    let _ = write!(text, "| case | device | {time} | ± | {third} | {limit} |");
    for peer in &peers {
        let _ = write!(text, " {peer} | {peer} / ours |");
    }
    let _ = write!(text, "\n|---|---|--:|--:|--:|--:|{}\n", "--:|--:|".repeat(peers.len()));
    for case in cases {
        for device in run.devices() {
            row(text, case, &device.name, &peers);
        }
    }
    text.push('\n');
}

fn row(text: &mut String, case: &Case, device: &str, peers: &[&str]) {
    let measured = match case.results.get(device) {
        Some(Outcome::Measured(measured)) => measured,
        Some(Outcome::Failed(reason)) => {
            let _ = writeln!(text, "| {} | {device} | failed: {} |", case.name, reason.replace('|', "\\|"));
            return;
        }
        None => return,
    };
    let best = case.time(measured);
    let figure = match measured.memory {
        Some(m) => format!("{} of {}", bytes(m.peak_bytes as f64), bytes(m.least_bytes as f64)),
        None => rate(case, best),
    };
    let _ = write!(
        text,
        "| {} | {device} | {} | {} | {figure} | {} |",
        case.name,
        seconds(best),
        percent(measured.times.spread),
        measured.of_limit.map(percent).unwrap_or_default()
    );
    for peer in peers {
        let time = case.best(peer).map(seconds).unwrap_or_default();
        let ratio = case.ratio(device, peer).map(times).unwrap_or_default();
        let _ = write!(text, " {time} | {ratio} |");
    }
    text.push('\n');
}

/// Shares below this are told together.
const SMALL: f64 = 0.01;

/// Where the time of the cases goes, of those that were looked at so.
fn profiles(text: &mut String, cases: &[&Case]) {
    let mut rows = String::new();
    for case in cases {
        for (device, outcome) in &case.results {
            let Outcome::Measured(measured) = outcome else { continue };
            if measured.profile.is_empty() {
                continue;
            }
            let (large, small): (Vec<&Share>, Vec<&Share>) =
                measured.profile.iter().partition(|s| s.share >= SMALL);
            let mut parts: Vec<String> =
                large.iter().map(|s| format!("{} {}", s.kernel, percent(s.share))).collect();
            parts.push(format!("others {}", percent(small.iter().map(|s| s.share).sum())));
            let _ = writeln!(rows, "| {} | {device} | {} |", case.name, parts.join(", "));
        }
    }
    if !rows.is_empty() {
        let _ = write!(
            text,
            "Time by kernel, in an execution that waits after each step; *between steps* is planning, \
             submitting and sampling:\n\n| case | device | shares |\n|---|---|---|\n{rows}\n"
        );
    }
}

/// The README's table: a few telling cases of the first device, beside every peer.
pub fn readme_table(run: &Run) -> String {
    let Some(device) = run.devices().next() else { return String::new() };
    let peers: Vec<&str> = run.peers().map(|p| p.name.as_str()).collect();
    let has_limits =
        run.cases.iter().filter_map(|case| case.measured(&device.name)).any(|m| m.of_limit.is_some());
    let mut text = format!(
        "Measured on {} ({} threads), {}; ratios above 1 mean that Wootz is faster.\n\n| case | best | rate |{}",
        run.machine.processor,
        run.machine.threads,
        run.when.split('T').next().unwrap_or_default(),
        if has_limits { " of the limit |" } else { "" }
    );
    for peer in &peers {
        let _ = write!(text, " vs {peer} |");
    }
    let _ = write!(text, "\n|---|--:|--:|{}\n", "--:|".repeat(peers.len() + usize::from(has_limits)));
    let mut families: Vec<&str> = Vec::new();
    for case in run.cases.iter().filter(|c| c.suite == "core" || c.suite == "llm") {
        let Some(measured) = case.measured(&device.name) else { continue };
        // One case of each family, the first: cases are ordered by how telling they are.
        if case.suite == "core" && families.contains(&case.family.as_str()) {
            continue;
        }
        families.push(&case.family);
        let best = measured.times.best_s;
        let _ = write!(text, "| {} | {} | {} |", case.name, seconds(best), rate(case, best));
        if has_limits {
            let _ = write!(text, " {} |", measured.of_limit.map(percent).unwrap_or_default());
        }
        for peer in &peers {
            let _ = write!(text, " {} |", case.ratio(&device.name, peer).map(times).unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

//! Results as tables on the terminal.

use crate::output::{BAD, DIM, GOOD, HEAD, KNOWN, Table, paint};
use anstyle::Style;
use wootz_report::{Case, Comparison, Outcome, Run, Verdict, rate, seconds};

pub fn print(run: &Run) {
    let machine = &run.machine;
    crate::output::outln!(
        "{} {} on {}, {} threads",
        paint(HEAD, "wootz"),
        run.version,
        machine.processor,
        machine.threads
    );
    for device in run.devices() {
        if let Some(limits) = device.limits {
            let (copy, flops) = (limits.bytes_per_s / 1e9, limits.flops_per_s / 1e9);
            crate::output::outln!(
                "{}: copy {copy:.1} GB/s, multiply-add {flops:.0} GFLOP/s (measured)",
                device.name
            );
        }
    }
    let mut suite = "";
    let mut table = Table::default();
    for case in &run.cases {
        if case.suite != suite {
            table.print();
            crate::output::outln!();
            table = heading(run, case);
            suite = &case.suite;
        }
        for device in run.devices() {
            row(&mut table, run, case, &device.name);
        }
    }
    table.print();
    let failures = run.cases.iter().flat_map(|c| c.results.iter().map(move |r| (c, r)));
    for (case, (who, outcome)) in failures {
        if let Outcome::Failed(reason) = outcome {
            crate::output::outln!("{} {} on {who}: {reason}", paint(BAD, "failed"), case.name);
        }
    }
}

fn several_devices(run: &Run) -> bool {
    run.devices().count() > 1
}

fn heading(run: &Run, case: &Case) -> Table {
    let mut head = vec![case.suite.clone()];
    if several_devices(run) {
        head.push("device".into());
    }
    let (time, figure, limit) = match case.suite.as_str() {
        "memory" => ("best", "peak", "of limit"),
        "load" => ("median", "rate", "of fair share"),
        _ => ("best", "rate", "of limit"),
    };
    head.extend([time, "±", figure, limit].map(String::from));
    for peer in run.peers() {
        head.push(format!("vs {}", peer.name));
    }
    let mut table = Table::default();
    table.row(HEAD, head);
    table
}

fn row(table: &mut Table, run: &Run, case: &Case, device: &str) {
    let mut cells = vec![(case.name.clone(), Style::new())];
    if several_devices(run) {
        cells.push((device.into(), DIM));
    }
    match case.measured(device) {
        None if case.results.contains_key(device) => cells.push(("failed".into(), BAD)),
        None => return,
        Some(measured) => {
            let best = case.time(measured);
            cells.push((seconds(best), Style::new()));
            cells.push((format!("{:.0} %", measured.times.spread * 100.0), DIM));
            let figure = match measured.memory {
                Some(m) => format!("{:.2} × minimum", m.peak_bytes as f64 / m.least_bytes as f64),
                None => rate(case, best),
            };
            cells.push((figure, Style::new()));
            let of_limit = measured.of_limit.map(|f| format!("{:.0} %", f * 100.0)).unwrap_or_default();
            cells.push((of_limit, Style::new()));
            for peer in run.peers() {
                cells.push(match case.ratio(device, &peer.name) {
                    Some(ratio) => (format!("{ratio:.2}×"), if ratio >= 1.0 { GOOD } else { BAD }),
                    None => ("·".into(), DIM),
                });
            }
        }
    }
    table.styled(cells);
}

pub fn print_comparison(comparison: &Comparison) {
    crate::output::outln!("\n{}", paint(HEAD, "compared"));
    for warning in &comparison.warnings {
        crate::output::outln!("{} {warning}", paint(KNOWN, "note:"));
    }
    let mut table = Table::default();
    for change in &comparison.changes {
        let (word, style) = match change.verdict {
            Verdict::Faster => ("faster", GOOD),
            Verdict::Slower => ("slower", BAD),
            Verdict::Same => continue,
        };
        let name = format!("{} on {}", change.case, change.device);
        let times = format!("{} → {}", seconds(change.old_s), seconds(change.new_s));
        let ratio = format!("{:.2}×", change.ratio());
        let noise = format!("noise ± {:.0} %", change.noise * 100.0);
        table.styled(vec![
            (word.into(), style),
            (name, Style::new()),
            (ratio, style),
            (times, Style::new()),
            (noise, DIM),
        ]);
    }
    table.print();
    let same = comparison.changes.iter().filter(|c| c.verdict == Verdict::Same).count();
    crate::output::outln!("{same} of {} within the noise", comparison.changes.len());
    if !comparison.gone.is_empty() {
        crate::output::outln!("{} {}", paint(KNOWN, "not measured now:"), comparison.gone.join(", "));
    }
}

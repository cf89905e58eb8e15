//! Parts of the page: tiles and tables.

use crate::counted::{Chip, Counted};
use crate::run::{Case, Contender, Outcome, Run};
use crate::text::{bytes, escape, percent, rate, seconds, three, times};
use std::fmt::Write;

/// The figures at the head.
pub(crate) fn tiles(run: &Run) -> String {
    let mut out = String::from("<div class=\"tiles\">\n");
    let mut tile = |value: &str, unit: &str, what: &str| {
        let (value, unit, what) = (escape(value), escape(unit), escape(what));
        let _ =
            writeln!(out, "<div class=\"tile\"><b>{value}<small>{unit}</small></b><span>{what}</span></div>");
    };
    for device in run.devices() {
        if let Some(limits) = device.limits {
            tile(&three(limits.flops_per_s / 1e9), "GFLOP/s", &format!("multiply-adds, {}", device.name));
            tile(&three(limits.bytes_per_s / 1e9), "GB/s", &format!("copy, {}", device.name));
        }
    }
    if let Some(device) = run.devices().next() {
        for peer in run.peers() {
            if let Some((mean, count)) = mean_ratio(run, &device.name, &peer.name) {
                tile(&three(mean), "×", &format!("the speed of {}, mean of {count}", peer.name));
            }
        }
    }
    tile(&run.cases.len().to_string(), "", "cases");
    out + "</div>\n"
}

/// The geometric mean of a peer's times over ours, and over how many cases.
pub(crate) fn mean_ratio(run: &Run, device: &str, peer: &str) -> Option<(f64, usize)> {
    let ratios: Vec<f64> = run.cases.iter().filter_map(|c| c.ratio(device, peer)).collect();
    let mean = ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64;
    (!ratios.is_empty()).then(|| (mean.exp(), ratios.len()))
}

/// A heading that sorts.
fn heading(out: &mut String, class: &str, text: &str) {
    let text = escape(text);
    let _ = write!(out, "<th class=\"{class}\" scope=\"col\"><button type=\"button\">{text}</button></th>");
}

/// A cell with the number that it sorts by.
fn cell(out: &mut String, class: &str, value: Option<f64>, text: &str) {
    let value = value.map(|v| v.to_string()).unwrap_or_default();
    let _ = write!(out, "<td class=\"{class}\" data-v=\"{value}\">{text}</td>");
}

/// All cases, one row each.
pub(crate) fn cases_table(run: &Run) -> String {
    let mut out = String::from(
        "<div class=\"tools\"><input type=\"search\" data-table=\"cases\" placeholder=\"Filter cases\" \
         aria-label=\"Filter cases\"></div>\n<div class=\"scroll\"><table id=\"cases\">\n<thead><tr>",
    );
    for name in ["case", "suite"] {
        heading(&mut out, "text", name);
    }
    let devices: Vec<&Contender> = run.devices().collect();
    for device in &devices {
        let of = if devices.len() > 1 { format!(" {}", device.name) } else { String::new() };
        for name in ["best", "rate", "of the limit"] {
            heading(&mut out, "", &format!("{name}{of}"));
        }
    }
    for peer in run.peers() {
        heading(&mut out, "", &format!("vs {}", peer.name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for case in &run.cases {
        let _ = write!(
            out,
            "<tr><td>{}</td><td class=\"text dim\">{}</td>",
            escape(&case.name),
            escape(&case.suite)
        );
        for device in &devices {
            device_cells(&mut out, case, &device.name);
        }
        for peer in run.peers() {
            match devices.first().and_then(|d| case.ratio(&d.name, &peer.name)) {
                Some(r) => cell(&mut out, if r >= 1.0 { "good" } else { "bad" }, Some(r), &times(r)),
                None => cell(&mut out, "dim", None, "·"),
            }
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div>\n"
}

/// Time, rate and fraction of one device.
fn device_cells(out: &mut String, case: &Case, device: &str) {
    let measured = match case.results.get(device) {
        Some(Outcome::Measured(measured)) => measured,
        Some(Outcome::Failed(reason)) => {
            cell(out, "bad", None, &format!("<span title=\"{}\">failed</span>", escape(reason)));
            return (0..2).for_each(|_| cell(out, "dim", None, ""));
        }
        None => return (0..3).for_each(|_| cell(out, "dim", None, "·")),
    };
    let best = measured.times.best_s;
    let spread = format!(" <span class=\"pm\">± {}</span>", percent(measured.times.spread));
    cell(out, "", Some(best), &(seconds(best) + &spread));
    let figure = match measured.memory {
        Some(m) => format!("{} of {}", bytes(m.peak_bytes as f64), bytes(m.least_bytes as f64)),
        None => rate(case, best),
    };
    cell(out, "", None, &escape(&figure));
    match measured.of_limit {
        Some(f) => {
            let meter =
                format!("<span class=\"meter\"><i style=\"width:{:.0}%\"></i></span>", f.min(1.0) * 100.0);
            cell(out, "", Some(f), &(meter + &percent(f)));
        }
        None => cell(out, "dim", None, "·"),
    }
}

/// Counted kernels under one chip.
pub(crate) fn counted_table(counted: &[Counted], chip: &Chip) -> String {
    let mut out = String::from("<div class=\"scroll\"><table class=\"dense\">\n<thead><tr>");
    for name in ["problem", "dtype", "kernel"] {
        heading(&mut out, "text", name);
    }
    for name in
        ["read", "written", "flop", "flop/B", "barriers", "simd ops", "group memory", "bound by", "at least"]
    {
        heading(&mut out, "", name);
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for c in counted {
        let p = c.on(chip);
        let _ = write!(
            out,
            "<tr><td>{}</td><td class=\"text dim\">{}</td><td class=\"text\">{} <span class=\"pm\">{}</span></td>",
            escape(&c.problem),
            escape(&c.dtype),
            escape(&c.project),
            escape(&c.kernel)
        );
        for n in [c.reads, c.writes] {
            cell(&mut out, "", Some(n as f64), &bytes(n as f64));
        }
        cell(&mut out, "", Some(c.flops as f64), &count(c.flops));
        cell(&mut out, "", Some(p.intensity), &three(p.intensity));
        for n in [c.barriers, c.simd_ops] {
            cell(&mut out, "", Some(n as f64), &count(n));
        }
        cell(&mut out, "", Some(c.threadgroup_bytes as f64), &bytes(c.threadgroup_bytes as f64));
        cell(&mut out, "dim", None, if p.memory_bound { "memory" } else { "arithmetic" });
        cell(&mut out, "", Some(p.least_s), &seconds(p.least_s));
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div>\n"
}

/// A large count with a letter.
fn count(n: u64) -> String {
    match n as f64 {
        n if n < 1e4 => format!("{n:.0}"),
        n if n < 1e6 => format!("{} k", three(n / 1e3)),
        n if n < 1e9 => format!("{} M", three(n / 1e6)),
        n => format!("{} G", three(n / 1e9)),
    }
}

//! The page.

use softmetal::profile::CHIPS;
use std::fmt::Write;
use wootz_report::Counted;

const HEAD: &str = "\
# What the Metal kernels cost

Counted by SoftMetal's profiler, which sees every access of every thread; no time was measured. `reads` and `writes` are bytes of device
memory as the kernels ask for them, before any cache; `flop` counts a fused multiply-add as two and a product of simdgroup matrices as 1024;
`barriers` are threadgroup barriers, summed over threadgroups; `lane ops` are operations between the lanes of a simdgroup (sums, shuffles,
broadcasts), one per simdgroup; `group memory` is what passed through threadgroup memory, in bytes. The other projects' kernels ran in the
same SoftMetal, from their own sources, with the launch sizes that their hosts use.

Made by `cargo run -p wootz-metal --example kernel_table`; the same numbers are in `metal-kernels.json`. A test counts our rows again.

";

/// Why one of our counts is above another project's.
fn reason(ours: &Counted, what: &str) -> &'static str {
    match (ours.problem.split(' ').next().unwrap_or(""), what) {
        ("quantised", "lane ops") if ours.dtype.ends_with("_K") => {
            "the four lanes of a block load its head together, a word each, and pass the words on; theirs load it once per lane, which costs the reads above"
        }
        ("gemm", "device bytes") => {
            "its tiles are twice as wide, which gives 16 threadgroups, too few for most of these GPUs; ours are smaller where the grid would be small"
        }
        ("gemm", "barriers") => "steps of k are shorter, so that two threadgroups fit on a core",
        _ => "no reason is known, and it should be looked into",
    }
}

fn counts(row: &Counted) -> [(&'static str, u64); 3] {
    [("device bytes", row.reads + row.writes), ("barriers", row.barriers), ("lane ops", row.simd_ops)]
}

/// The page's text.
pub fn markdown(rows: &[Counted]) -> String {
    let mut text = HEAD.to_string();
    text.push_str(
        "| problem | dtype | kernel | reads | writes | flop | barriers | lane ops | group memory |\n",
    );
    text.push_str("|---|---|---|---:|---:|---:|---:|---:|---:|\n");
    for row in rows {
        let first = row.project == "wootz";
        let (problem, dtype) = if first { (&*row.problem, &*row.dtype) } else { ("", "") };
        let Counted { project, kernel, reads, writes, flops, barriers, simd_ops, threadgroup_bytes, .. } =
            row;
        let _ = writeln!(
            text,
            "| {problem} | {dtype} | {project}: `{kernel}` | {reads} | {writes} | {flops} | {barriers} | {simd_ops} | {threadgroup_bytes} |"
        );
    }
    text.push_str("\n## Where another project's count is lower\n\n");
    let mut any = false;
    for ours in rows.iter().filter(|r| r.project == "wootz") {
        for other in rows.iter().filter(|r| r.problem == ours.problem && r.dtype == ours.dtype) {
            for ((what, own), (_, theirs)) in counts(ours).into_iter().zip(counts(other)) {
                if own > theirs {
                    any = true;
                    let _ = writeln!(
                        text,
                        "- {}, {}, {what}: {own} against {theirs} of {}: {}.",
                        ours.problem,
                        ours.dtype,
                        other.project,
                        reason(ours, what)
                    );
                }
            }
        }
    }
    if !any {
        text.push_str("Nowhere.\n");
    }
    text.push_str("\n## The least time each chip needs for them\n\n");
    text.push_str("Microseconds: the larger of bytes over memory bandwidth and operations over arithmetic rate. No cache is assumed, so that a\n");
    text.push_str(
        "chip may need less where it keeps data close by, and no chip ran them.\n\n| problem | dtype |",
    );
    CHIPS.iter().for_each(|chip| text.push_str(&format!(" {} |", chip.name)));
    text.push_str("\n|---|---|");
    CHIPS.iter().for_each(|_| text.push_str("---:|"));
    text.push('\n');
    for row in rows.iter().filter(|r| r.project == "wootz") {
        let _ = write!(text, "| {} | {} |", row.problem, row.dtype);
        for chip in CHIPS {
            let memory = (row.reads + row.writes) as f64 / (chip.bandwidth * 1e3);
            let _ = write!(text, " {:.2} |", memory.max(row.flops as f64 / (chip.f32_rate * 1e3)));
        }
        text.push('\n');
    }
    text
}

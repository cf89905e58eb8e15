//! `wootz check`: compare devices with the reference evaluator.

use crate::output::{self, BAD, DIM, GOOD, HEAD, KNOWN, Outcome, Table, paint};
use anstyle::Style;
use serde_json::json;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use wootz::check::{CheckReport, Level, check_matching};
use wootz::metal::{MetalBackend, SoftOptions};
use wootz::{DType, Device};

/// Compare a device with the reference evaluator, op by op
#[derive(clap::Args)]
pub struct Args {
    /// Device to check [default: every device of this machine]
    #[arg(long, env = "WOOTZ_DEVICE")]
    device: Option<String>,
    /// Run only the quick cases that validate a device before its first use
    #[arg(long)]
    quick: bool,
    /// Run only cases whose name contains this text, e.g. `matmul` or `/f16/`
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    soft: Soft,
}

/// Options of the software Metal device; need `--device metal`
#[derive(clap::Args)]
struct Soft {
    /// Check every memory access of every kernel for races and out-of-bounds accesses
    #[arg(long)]
    sanitize: bool,
    /// Shuffle the order of threads, threadgroups and independent dispatches
    #[arg(long, value_name = "SEED")]
    shuffle: Option<u64>,
    /// GPU family to emulate: mac2, apple7, apple8, apple9, apple10
    #[arg(long, value_name = "FAMILY")]
    gpu_family: Option<String>,
    /// Simdgroup width: 32, or 64 on mac2
    #[arg(long, value_name = "COUNT")]
    lanes: Option<u32>,
}

impl Soft {
    /// The device with these options, if any is set.
    fn device(&self, name: Option<&str>) -> Result<Option<Device>, Box<dyn std::error::Error>> {
        let Soft { sanitize, shuffle, gpu_family, lanes } = self;
        if !sanitize && shuffle.is_none() && gpu_family.is_none() && lanes.is_none() {
            return Ok(None);
        }
        if name != Some("metal") {
            return Err("--sanitize, --shuffle, --gpu-family and --lanes need --device metal".into());
        }
        let family = gpu_family.as_deref().map(str::parse).transpose()?;
        let options = SoftOptions {
            family,
            simd_width: *lanes,
            sanitize: *sanitize,
            shuffle: *shuffle,
            ..SoftOptions::default()
        };
        Ok(Some(Device::from_backend(Arc::new(MetalBackend::soft(options)))))
    }
}

pub fn run(args: &Args) -> Outcome {
    let devices = match (args.soft.device(args.device.as_deref())?, args.device.as_deref()) {
        (Some(device), _) => vec![device],
        (None, Some(name)) => vec![Device::from_name(name)?],
        (None, None) => Device::all(),
    };
    let level = if args.quick { Level::Quick } else { Level::Full };
    let mut reports = Vec::new();
    for device in &devices {
        let bar = output::progress(0, "checking");
        let wanted = |name: &str| args.filter.as_deref().is_none_or(|text| name.contains(text));
        let report = check_matching(device, level, wanted, &mut |done, total| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        reports.push(report);
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&to_json(&reports))?);
    } else {
        reports.iter().for_each(print);
    }
    let (cases, failed) = reports.iter().map(|r| r.totals()).fold((0, 0), |s, t| (s.0 + t.0, s.1 + t.2));
    if cases == 0 {
        return Err(format!("no case matches {:?}", args.filter.as_deref().unwrap_or_default()).into());
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn to_json(reports: &[CheckReport]) -> serde_json::Value {
    let devices: Vec<_> = reports
        .iter()
        .map(|report| {
            let rows: Vec<_> = report
                .rows
                .iter()
                .map(|((family, dtype), row)| {
                    json!({
                        "family": family, "dtype": dtype.name(), "cases": row.cases, "passed": row.passed,
                        "failed": row.failed, "exceptions": row.exceptions, "failures": row.failures,
                    })
                })
                .collect();
            let (cases, passed, failed, exceptions) = report.totals();
            json!({
                "device": report.device, "rows": rows, "stale_exceptions": report.stale,
                "totals": { "cases": cases, "passed": passed, "failed": failed, "exceptions": exceptions },
            })
        })
        .collect();
    let all = reports.iter().map(CheckReport::totals);
    let (cases, passed, failed, exceptions) =
        all.fold((0, 0, 0, 0), |s, t| (s.0 + t.0, s.1 + t.1, s.2 + t.2, s.3 + t.3));
    json!({
        "devices": devices,
        "totals": { "cases": cases, "passed": passed, "failed": failed, "exceptions": exceptions },
    })
}

/// One row per family, one column per dtype; a cell counts the passed or the failed cases.
fn print(report: &CheckReport) {
    crate::output::outln!("{}", paint(HEAD, &report.device));
    let families: BTreeSet<&String> = report.rows.keys().map(|(f, _)| f).collect();
    let dtypes: Vec<DType> =
        DType::ALL.into_iter().filter(|d| report.rows.keys().any(|(_, dtype)| dtype == d)).collect();
    let mut table = Table::default();
    table.row(HEAD, ["family"].into_iter().chain(dtypes.iter().map(|d| d.name())));
    for family in families {
        let mut cells = vec![(family.clone(), Style::new())];
        for dtype in &dtypes {
            cells.push(match report.rows.get(&(family.clone(), *dtype)) {
                None => ("·".to_string(), DIM),
                Some(row) if row.failed > 0 => (format!("{}✗", row.failed), BAD),
                Some(row) if !row.exceptions.is_empty() => {
                    (format!("{}+{}!", row.passed, row.exceptions.len()), KNOWN)
                }
                Some(row) => (format!("{}✓", row.passed), GOOD),
            });
        }
        table.styled(cells);
    }
    table.print();
    for row in report.rows.values() {
        row.failures.iter().for_each(|f| crate::output::outln!("{} {f}", paint(BAD, "failed")));
    }
    let mut reasons: BTreeSet<&str> = BTreeSet::new();
    for row in report.rows.values() {
        reasons.extend(row.exceptions.iter().filter_map(|e| e.split_once(": ").map(|(_, reason)| reason)));
    }
    reasons.iter().for_each(|r| crate::output::outln!("{} {r}", paint(KNOWN, "known")));
    report
        .stale
        .iter()
        .for_each(|s| crate::output::outln!("{} exception no longer needed: {s}", paint(BAD, "stale")));
    let (cases, passed, failed, exceptions) = report.totals();
    let verdict = if failed == 0 { paint(GOOD, "ok") } else { paint(BAD, "failed") };
    crate::output::outln!(
        "{verdict}: {cases} cases, {passed} passed, {failed} failed, {exceptions} known exceptions"
    );
}

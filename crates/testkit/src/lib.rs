//! Test-only code: large random graphs, and graphs whose generated code is checked in. The conformance cases, which a
//! device runs before its first use, are in `wootz-conformance`, and re-exported here for tests.
#![forbid(unsafe_code)]

mod golden;
mod random_graph;

pub use golden::{compare_golden, golden_graphs};
pub use random_graph::{RandomGraph, random_graph};
pub use wootz_conformance::*;

use std::io::Write;

/// Reports that a test cannot run on this machine, and why. `scripts/test` counts these reports.
///
/// # Panics
/// If `CI` is set: what cannot run there runs nowhere.
pub fn skipped(reason: &str) {
    println!("skipped: {reason}");
    if let Some(path) = std::env::var_os("WOOTZ_SKIPPED") {
        let report = std::fs::File::options().append(true).create(true).open(path);
        report.and_then(|mut file| writeln!(file, "{reason}")).expect("the report of skipped tests");
    }
    assert!(std::env::var_os("CI").is_none(), "a test was skipped in CI: {reason}");
}

//! What only tests need: large random graphs, and graphs whose generated code is kept in git. Conformance cases, which a
//! device runs at its first use, are in `wootz-conformance`; tests find them here too.
#![forbid(unsafe_code)]

mod golden;
mod random_graph;

pub use golden::{compare_golden, golden_graphs};
pub use random_graph::{RandomGraph, random_graph};
pub use wootz_conformance::*;

/// Tells that a test cannot run on this machine, and why.
///
/// # Panics
/// Where `CI` is set: what cannot run there runs nowhere.
pub fn skipped(reason: &str) {
    println!("skipped: {reason}");
    assert!(std::env::var_os("CI").is_none(), "a test was skipped in CI: {reason}");
}

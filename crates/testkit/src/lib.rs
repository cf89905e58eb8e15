//! What only tests need: large random graphs, and graphs whose generated code is kept in git. Conformance cases, which a
//! device runs at its first use, are in `wootz-conformance`; tests find them here too.
#![forbid(unsafe_code)]

mod golden;
mod random_graph;

pub use golden::{compare_golden, golden_graphs};
pub use random_graph::{RandomGraph, random_graph};
pub use wootz_conformance::*;

//! Results of `wootz bench`: the contents of a run, the comparison of two runs, and their presentation.
//!
//! Promises: a [`Run`] survives a JSON round trip unchanged, and files with another schema are rejected with a
//! message that says what to do; every figure shown is computed here, from counted work and measured seconds; pages
//! and pictures are self-contained and make no network requests. External text is escaped.
//!
//! Not here: measuring. This crate is independent of tensors and devices.
#![forbid(unsafe_code)]

mod bars;
mod compare;
mod counted;
mod html;
mod load;
mod markdown;
mod page;
mod roofline;
mod run;
mod svg;
mod text;

pub use compare::{Change, Comparison, Verdict, compare};
pub use counted::{Chip, Counted, Prediction, parse_counted};
pub use html::html;
pub use load::{Load, load_page, percentile};
pub use markdown::{performance_page, readme_table};

pub use run::{
    Arithmetic, Bandwidth, Case, Contender, Error, Kind, Limits, Machine, Measured, Memory, Outcome, Run,
    SCHEMA, Share, Skipped, Times, judge_by_fair_share,
};
pub use svg::picture;
pub use text::{bytes, rate, seconds};

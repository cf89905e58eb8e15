//! Results of `wootz bench`: what a run holds, how two runs compare, and how a run is shown.
//!
//! Promises: a [`Run`] survives JSON unchanged, and files of another schema are refused with a message that says what to do;
//! every figure shown is computed here, in one place, from counted work and measured seconds; pages and pictures are
//! self-contained and ask no network for anything. Text from outside is escaped.
//!
//! Not here: measuring. This crate knows nothing of tensors or devices.
#![forbid(unsafe_code)]

mod bars;
mod compare;
mod counted;
mod html;
mod markdown;
mod page;
mod roofline;
mod run;
mod svg;
mod text;

pub use compare::{Change, Comparison, Verdict, compare};
pub use counted::{Chip, Counted, Prediction, parse_counted};
pub use html::html;
pub use markdown::{performance_page, readme_table};

pub use run::{
    Arithmetic, Bandwidth, Case, Contender, Error, Kind, Limits, Machine, Measured, Memory, Outcome, Run,
    SCHEMA, Share, Skipped, Times, judge_by_fair_share,
};
pub use svg::picture;
pub use text::{bytes, rate, seconds};

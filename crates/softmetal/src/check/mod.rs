//! The checker: called for every load and store of an instrumented kernel.

mod access;
mod dispatch;
mod divergence;
mod report;
mod shadow;
mod symbol;
mod texel;

pub(crate) use access::{GroupCheck, Verdict};
pub(crate) use dispatch::{BoundRange, DispatchCheck};
pub use report::{Report, ReportKind};
pub(crate) use shadow::Shadow;

/// How much the checker reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOptions {
    /// A dispatch ends after this many reports.
    pub max_reports: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        CheckOptions { max_reports: 10 }
    }
}

//! Known failures as data: each row names the cases of a device that fail, and why that is accepted for now.
//!
//! Rows must stay accurate: [`Ledger::stale`] lists rows whose cases all pass, and a runner reports them as failures.

use crate::case::Case;
use crate::compare::Mismatch;
use crate::values::Values;
use wootz_ir::DType;

/// Cases that are known to fail on some devices. An absent field matches everything.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    /// The device's name; a final `*` matches any suffix.
    pub device: &'static str,
    /// The kernel family.
    pub family: Option<&'static str>,
    /// The op.
    pub op: Option<&'static str>,
    /// The dtype.
    pub dtype: Option<DType>,
    /// The kind of values.
    pub values: Option<Values>,
    /// Part of the failure's message: the row excuses no other failure.
    pub failure: Option<&'static str>,
    /// Why the failure is accepted.
    pub reason: &'static str,
}

/// The known failures.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        device: "metal",
        family: None,
        op: None,
        dtype: None,
        values: None,
        failure: Some("for f64 is not available on metal: Metal has no 64-bit floats"),
        reason: "refused: Metal has no 64-bit floats",
    },
    Exception {
        device: "metal",
        family: None,
        op: None,
        dtype: None,
        values: Some(Values::Subnormal),
        failure: Some("elements are out of tolerance"),
        reason: "Apple's GPUs take subnormal single-precision operands for zero, and so does SoftMetal",
    },
    Exception {
        device: "webgpu",
        family: None,
        op: None,
        dtype: None,
        values: None,
        failure: Some("for f64 is not available on webgpu: WGSL has no 64-bit floats"),
        reason: "refused: WGSL has no 64-bit floats",
    },
];

impl Exception {
    /// Whether the row applies to this device.
    pub fn is_for(&self, device: &str) -> bool {
        match self.device.strip_suffix('*') {
            Some(start) => device.starts_with(start),
            None => device == self.device,
        }
    }

    /// Whether the row applies to this case on this device.
    pub fn matches(&self, device: &str, case: &Case) -> bool {
        self.is_for(device)
            && self.family.is_none_or(|family| family == case.family)
            && self.op.is_none_or(|op| op == case.op)
            && self.dtype.is_none_or(|dtype| dtype == case.dtype)
            && self.values.is_none_or(|values| values == case.values)
    }

    /// Whether the row applies to this failure.
    fn excuses(&self, result: &Result<(), Mismatch>) -> bool {
        match (self.failure, result) {
            (Some(part), Err(mismatch)) => mismatch.to_string().contains(part),
            _ => true,
        }
    }
}

/// The verdict on a case, taking exceptions into account.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Passed.
    Passed,
    /// Failed.
    Failed(Mismatch),
    /// Failed as expected, for this reason.
    Excused(&'static str),
}

/// Judges the cases of one device and records which exceptions were needed.
pub struct Ledger<'a> {
    device: &'a str,
    rows: &'a [Exception],
    /// Per row: the number of matching cases, and of failed ones.
    counts: Vec<(usize, usize)>,
}

impl<'a> Ledger<'a> {
    /// A ledger for a device, with the rows that apply ([`EXCEPTIONS`], or a test's own).
    pub fn new(device: &'a str, rows: &'a [Exception]) -> Ledger<'a> {
        Ledger { device, rows, counts: vec![(0, 0); rows.len()] }
    }

    /// The verdict on a case whose comparison gave `result`.
    pub fn judge(&mut self, case: &Case, result: Result<(), Mismatch>) -> Verdict {
        let mut excuse = None;
        for (row, count) in self.rows.iter().zip(&mut self.counts) {
            if row.matches(self.device, case) {
                let excuses = row.excuses(&result);
                count.0 += 1;
                count.1 += usize::from(result.is_err() && excuses);
                excuse = excuse.or(excuses.then_some(row.reason));
            }
        }
        match (result, excuse) {
            (Ok(()), _) => Verdict::Passed,
            (Err(_), Some(reason)) => Verdict::Excused(reason),
            (Err(mismatch), None) => Verdict::Failed(mismatch),
        }
    }

    /// Rows for this device whose cases were all run and all passed: the failure is gone, so the row should be
    /// removed. Only meaningful after running every case of the full level.
    pub fn stale(&self) -> impl Iterator<Item = &'a Exception> + '_ {
        let unneeded =
            |(row, count): (&'a Exception, &(usize, usize))| (count.0 > 0 && count.1 == 0).then_some(row);
        self.rows.iter().zip(&self.counts).filter_map(unneeded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{Level, cases};

    const ROW: Exception = Exception {
        device: "toy*",
        family: Some("map"),
        op: Some("exp"),
        dtype: Some(DType::F32),
        values: None,
        failure: None,
        reason: "flushes subnormal numbers",
    };

    #[test]
    fn a_listed_failure_is_excused_and_a_listed_success_reported() {
        let all = cases(Level::Quick);
        let exp = all.iter().find(|c| c.op == "exp" && c.dtype == DType::F32).unwrap();
        let sin = all.iter().find(|c| c.op == "sin" && c.dtype == DType::F32).unwrap();
        let wrong = || Err(Mismatch::Failed("planted".into()));
        let rows = [ROW];

        let mut ledger = Ledger::new("toy gpu", &rows);
        assert_eq!(ledger.judge(exp, wrong()), Verdict::Excused(ROW.reason));
        assert!(matches!(ledger.judge(sin, wrong()), Verdict::Failed(_)));
        assert_eq!(ledger.stale().count(), 0);

        let mut ledger = Ledger::new("toy gpu", &rows);
        assert_eq!(ledger.judge(exp, Ok(())), Verdict::Passed);
        assert_eq!(ledger.stale().count(), 1);

        let rows = [Exception { failure: Some("planted"), ..ROW }];
        let mut ledger = Ledger::new("toy gpu", &rows);
        assert_eq!(ledger.judge(exp, wrong()), Verdict::Excused(ROW.reason));
        let other = Err(Mismatch::Failed("something else".into()));
        assert!(matches!(ledger.judge(exp, other), Verdict::Failed(_)));

        let mut ledger = Ledger::new("cpu", &rows);
        assert!(matches!(ledger.judge(exp, wrong()), Verdict::Failed(_)));
        assert_eq!(ledger.stale().count(), 0);
    }
}

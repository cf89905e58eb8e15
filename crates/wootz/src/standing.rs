//! Validation results and costs of a device: determined on first need, and remembered on disk.
//!
//! Families are validated one by one. A language model needs a dozen of them and a sum of two vectors needs one, so
//! the first use takes seconds at most.

use crate::calibrate::Calibration;
use crate::check::{CheckReport, Level, check, check_family};
use crate::device::Device;
use crate::disk;
use crate::dispatch::CostModel;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use wootz_system::cache;

/// A family that is being validated on a device.
#[derive(Clone, Copy, Debug)]
pub struct Proving<'a> {
    /// The device.
    pub device: &'a Device,
    /// The family.
    pub family: &'a str,
    /// Number of cases that have run.
    pub done: usize,
    /// Total number of cases.
    pub total: usize,
}

/// A callback for the progress of validation, case by case.
pub type OnProgress<'a> = dyn FnMut(Proving<'_>) + 'a;

/// The verdict on a family: passed, or how it failed.
type Verdict = Result<(), String>;

/// A device's validation results and costs.
#[derive(Default)]
pub(crate) struct Standing {
    /// Whether the device belongs to this machine, so that verdicts are stored on disk.
    remembered: bool,
    verdicts: Mutex<Option<BTreeMap<String, Verdict>>>,
    report: OnceLock<CheckReport>,
    costs: OnceLock<Option<CostModel>>,
}

impl Standing {
    /// A device of this machine.
    pub fn remembered() -> Standing {
        Standing { remembered: true, ..Standing::default() }
    }

    /// The same device, with known costs.
    pub fn with_costs(self, costs: CostModel) -> Standing {
        let _ = self.costs.set(Some(costs));
        self
    }

    /// The device's costs; `None` if they could not be measured.
    pub fn costs(&self, device: &Device) -> Option<&CostModel> {
        self.costs.get_or_init(|| Calibration::of(device).ok().map(|c| c.costs)).as_ref()
    }

    /// Validates every family with its quick cases.
    pub fn report(&self, device: &Device) -> &CheckReport {
        self.report.get_or_init(|| {
            let report = check(device, Level::Quick, |_, _| {});
            let mut verdicts = self.verdicts.lock();
            let known = verdicts.get_or_insert_with(|| self.load(device));
            for (family, _) in report.rows.keys() {
                known.insert(family.clone(), verdict(&report, family));
            }
            self.save(device, known);
            report
        })
    }

    /// Whether the device can run a family; if not, why. Runs the family's quick cases on first use.
    pub fn prove(&self, device: &Device, family: &str, on_progress: &mut OnProgress<'_>) -> Verdict {
        let mut verdicts = self.verdicts.lock();
        let known = verdicts.get_or_insert_with(|| self.load(device));
        if let Some(verdict) = known.get(family) {
            return verdict.clone();
        }
        let mut heard = |done, total| on_progress(Proving { device, family, done, total });
        let report = check_family(device, family, &mut heard);
        let verdict = verdict(&report, family);
        known.insert(family.to_string(), verdict.clone());
        self.save(device, known);
        verdict
    }

    fn load(&self, device: &Device) -> BTreeMap<String, Verdict> {
        let path = self.remembered.then(|| disk::path(device, "validation")).flatten();
        path.and_then(|path| cache::read_text(&path)).map_or_else(BTreeMap::new, |text| parse(&text))
    }

    fn save(&self, device: &Device, verdicts: &BTreeMap<String, Verdict>) {
        let Some(path) = self.remembered.then(|| disk::path(device, "validation")).flatten() else { return };
        let line = |(family, verdict): (&String, &Verdict)| match verdict {
            Ok(()) => format!("{family} ok\n"),
            Err(reason) => format!("{family} failed {reason}\n"),
        };
        // A folder that cannot be written costs a check at the next start, and nothing else.
        let _ = cache::write(&path, verdicts.iter().map(line).collect::<String>().as_bytes());
    }
}

/// The verdict of a report on a family: one without cases is not validated.
fn verdict(report: &CheckReport, family: &str) -> Verdict {
    let mut rows = report.rows.iter().filter(|((own, _), _)| own == family).map(|(_, row)| row).peekable();
    if rows.peek().is_none() {
        return Err(format!("{family} has no validation cases"));
    }
    match rows.find(|row| row.failed > 0) {
        None => Ok(()),
        Some(row) => {
            let first = row.failures.first().map_or("", String::as_str);
            Err(format!("{family} failed validation: {}", first.replace('\n', " ")))
        }
    }
}

fn parse(text: &str) -> BTreeMap<String, Verdict> {
    let entry = |line: &str| {
        let (family, verdict) = line.split_once(' ')?;
        let verdict = match verdict.split_once(' ') {
            None if verdict == "ok" => Ok(()),
            Some(("failed", reason)) => Err(reason.to_string()),
            _ => return None,
        };
        Some((family.to_string(), verdict))
    };
    text.lines().filter_map(entry).collect()
}

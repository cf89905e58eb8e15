//! What a device has proven, and what its work costs: found out at first need, and remembered on disk.
//!
//! Families are proven one by one. A language model needs a dozen of them and a sum of two vectors needs one, so that first
//! use takes seconds at most.

use crate::calibrate::Calibration;
use crate::check::{CheckReport, Level, check, check_family};
use crate::device::Device;
use crate::disk;
use crate::dispatch::CostModel;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A family that is being proven on a device.
#[derive(Clone, Copy, Debug)]
pub struct Proving<'a> {
    /// The device.
    pub device: &'a Device,
    /// The family.
    pub family: &'a str,
    /// Cases that have run.
    pub done: usize,
    /// Cases in all.
    pub total: usize,
}

/// Hears of a family being proven, case by case.
pub type OnProgress<'a> = dyn FnMut(Proving<'_>) + 'a;

/// That a family passed its cases on a device, or how it failed.
type Verdict = Result<(), String>;

/// What a device has proven and costs.
#[derive(Default)]
pub(crate) struct Standing {
    /// Whether the device is one of this machine's, so that verdicts are kept on disk.
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

    /// The same device, whose costs are known beforehand.
    pub fn with_costs(self, costs: CostModel) -> Standing {
        let _ = self.costs.set(Some(costs));
        self
    }

    /// What work costs; none where it could not be measured.
    pub fn costs(&self, device: &Device) -> Option<&CostModel> {
        self.costs.get_or_init(|| Calibration::of(device).ok().map(|c| c.costs)).as_ref()
    }

    /// The quick check of every family.
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

    /// Whether the device may run a family; if not, why. Runs the family's quick cases on first use.
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
        path.and_then(|path| disk::read(&path)).map_or_else(BTreeMap::new, |text| parse(&text))
    }

    fn save(&self, device: &Device, verdicts: &BTreeMap<String, Verdict>) {
        let Some(path) = self.remembered.then(|| disk::path(device, "validation")).flatten() else { return };
        let line = |(family, verdict): (&String, &Verdict)| match verdict {
            Ok(()) => format!("{family} ok\n"),
            Err(reason) => format!("{family} failed {reason}\n"),
        };
        // A folder that cannot be written costs a check at the next start, and nothing else.
        let _ = disk::write(&path, &verdicts.iter().map(line).collect::<String>());
    }
}

/// What a report says of a family: one that no case looked at is not proven.
fn verdict(report: &CheckReport, family: &str) -> Verdict {
    let mut rows = report.rows.iter().filter(|((own, _), _)| own == family).map(|(_, row)| row).peekable();
    if rows.peek().is_none() {
        return Err(format!("{family} has no checks"));
    }
    match rows.find(|row| row.failed > 0) {
        None => Ok(()),
        Some(row) => {
            let first = row.failures.first().map_or("", String::as_str);
            Err(format!("{family} did not pass its checks: {}", first.replace('\n', " ")))
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

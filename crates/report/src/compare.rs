//! Comparison of two runs: what changed by more than the noise.

use crate::run::{Case, Kind, Measured, Run};

/// Changes below this are noise, however calm a run was.
const FLOOR: f64 = 0.05;

/// The verdict on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Faster beyond the noise.
    Faster,
    /// Slower beyond the noise.
    Slower,
    /// Within the noise.
    Same,
}

/// One case on one device in two runs.
#[derive(Clone, Debug)]
pub struct Change {
    /// The case.
    pub case: String,
    /// The device.
    pub device: String,
    /// The best time then.
    pub old_s: f64,
    /// The best time now.
    pub new_s: f64,
    /// The minimum change that counts, as a fraction.
    pub noise: f64,
    /// The verdict.
    pub verdict: Verdict,
}

impl Change {
    /// How many times faster it is now.
    pub fn ratio(&self) -> f64 {
        self.old_s / self.new_s
    }
}

/// Two runs compared.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Cases that both runs measured, in the order of the new run.
    pub changes: Vec<Change>,
    /// Cases of the old run that the new one lacks, as `case on device`.
    pub gone: Vec<String>,
    /// Reasons to doubt: other machine, a quick or partial run.
    pub warnings: Vec<String>,
}

/// Compares the devices of Wootz in two runs.
pub fn compare(old: &Run, new: &Run) -> Comparison {
    let mut comparison = Comparison { warnings: warnings(old, new), ..Comparison::default() };
    for case in &new.cases {
        let Some(before) = old.cases.iter().find(|c| c.name == case.name) else { continue };
        for device in new.devices() {
            let pair = (before.measured(&device.name), case.measured(&device.name));
            if let (Some(then), Some(now)) = pair {
                comparison.changes.push(change(case, &device.name, then, now));
            }
        }
    }
    let devices = old.contenders.iter().filter(|c| c.kind != Kind::Peer);
    for device in devices {
        for case in old.cases.iter().filter(|c| c.measured(&device.name).is_some()) {
            let now = new.cases.iter().find(|c| c.name == case.name);
            if now.is_none_or(|c| c.measured(&device.name).is_none()) {
                comparison.gone.push(format!("{} on {}", case.name, device.name));
            }
        }
    }
    comparison
}

fn change(case: &Case, device: &str, then: &Measured, now: &Measured) -> Change {
    let noise = FLOOR.max(then.times.spread + now.times.spread);
    let (old_s, new_s) = (then.times.best_s, now.times.best_s);
    let verdict = match old_s / new_s {
        ratio if ratio > 1.0 + noise => Verdict::Faster,
        ratio if ratio < 1.0 / (1.0 + noise) => Verdict::Slower,
        _ => Verdict::Same,
    };
    Change { case: case.name.clone(), device: device.into(), old_s, new_s, noise, verdict }
}

fn warnings(old: &Run, new: &Run) -> Vec<String> {
    let mut warnings = Vec::new();
    if old.machine != new.machine {
        let name = |run: &Run| format!("{} with {} threads", run.machine.processor, run.machine.threads);
        warnings.push(format!("the machines differ: {} then, {} now", name(old), name(new)));
    }
    for (run, when) in [(old, "old"), (new, "new")] {
        if !run.complete {
            warnings.push(format!("the {when} run is partial"));
        }
        if run.quick {
            warnings.push(format!("the {when} run was a quick one"));
        }
    }
    warnings
}

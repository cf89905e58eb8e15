//! The schema of a run. `docs/performance.md` describes it for readers of the JSON.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the schema. It changes when a field changes its meaning or goes; new fields do not change it.
pub const SCHEMA: u32 = 2;

/// One run of `wootz bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of Wootz.
    pub version: String,
    /// The git revision it was built from, with `+` when files differed from it.
    pub revision: String,
    /// When the run began, in UTC as RFC 3339.
    pub when: String,
    /// Whether every case was measured.
    pub complete: bool,
    /// Whether it was a short run, with wider spread.
    pub quick: bool,
    /// Where it ran.
    pub machine: Machine,
    /// Who took turns: devices of Wootz first, then peers.
    pub contenders: Vec<Contender>,
    /// Peers that were asked for and did not take part.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// What was measured, in order.
    pub cases: Vec<Case>,
}

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Hardware threads that the run could use.
    pub threads: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Operating system and architecture.
    pub system: String,
}

/// Who ran the cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    /// The name that results are filed under.
    pub name: String,
    /// A device of Wootz, or another library.
    pub kind: Kind,
    /// What it is: a device's description, a library's version.
    pub description: String,
    /// A device's measured limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// What a contender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A device of Wootz.
    Device,
    /// A device of Wootz imitated in software: its times say nothing of hardware.
    Software,
    /// Another library.
    Peer,
}

/// What a device can do at most, measured in the same run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes read plus bytes written per second by a large copy.
    pub bytes_per_s: f64,
    /// Floating-point operations per second by multiply-adds.
    pub flops_per_s: f64,
}

/// Nine significant digits: more than a clock has, and few enough to pass through JSON unchanged.
fn rounded(x: f64) -> f64 {
    format!("{x:.8e}").parse().unwrap_or(x)
}

impl Limits {
    /// Limits of a device.
    pub fn new(bytes_per_s: f64, flops_per_s: f64) -> Limits {
        Limits { bytes_per_s: rounded(bytes_per_s), flops_per_s: rounded(flops_per_s) }
    }

    /// Seconds that work takes at least.
    pub fn least_seconds(&self, bytes: f64, flops: f64) -> f64 {
        (bytes / self.bytes_per_s).max(flops / self.flops_per_s)
    }
}

/// A peer that did not take part, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// The peer, or the case.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// One thing that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// `core`, `overhead`, `memory` or `llm`.
    pub suite: String,
    /// The family of kernels: elementwise, gemm, attention, …
    pub family: String,
    /// The name, unique in a run.
    pub name: String,
    /// Bytes that must be read and written at the least; 0 when it makes no sense.
    pub bytes: f64,
    /// Arithmetic operations of the definition (a function such as exp counts one); 0 when it makes no sense.
    pub flops: f64,
    /// Tokens that one execution reads or writes, for language models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// What each contender took; who does not have the case is absent.
    pub results: BTreeMap<String, Outcome>,
}

/// What became of a case with a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was measured.
    Measured(Measured),
    /// It failed, with this message.
    Failed(String),
}

/// Times, and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds per execution.
    #[serde(flatten)]
    pub times: Times,
    /// The least time that the device's limits allow, over the best time. Above 1 when data stayed in a cache that the
    /// copy of the limit went past.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_limit: Option<f64>,
    /// Device memory, in the memory suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// What kernels take of the time, the most first, in the llm suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<Share>,
}

/// One kernel's share of a case's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The kernel, and the format of weights where there is one.
    pub kernel: String,
    /// From 0 to 1.
    pub share: f64,
}

/// The device memory of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The most that was live at once.
    pub peak_bytes: u64,
    /// Inputs and outputs, which must be there.
    pub least_bytes: u64,
}

/// Seconds per execution over the repeats of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The best repeat.
    pub best_s: f64,
    /// The median repeat.
    pub median_s: f64,
    /// Half of the distance between the quartiles, as a fraction of the median.
    pub spread: f64,
    /// How many repeats there were.
    pub repeats: usize,
}

impl Times {
    /// Sums up seconds per execution; none of nothing.
    pub fn of(seconds: &[f64]) -> Option<Times> {
        let mut sorted = seconds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |q: f64| sorted[((sorted.len() - 1) as f64 * q).round() as usize];
        let best_s = *sorted.first()?;
        let median_s = at(0.5);
        let spread = if median_s > 0.0 { (at(0.75) - at(0.25)) / 2.0 / median_s } else { 0.0 };
        Some(Times {
            best_s: rounded(best_s),
            median_s: rounded(median_s),
            spread: rounded(spread),
            repeats: sorted.len(),
        })
    }
}

/// Why a file is no run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not JSON, or not of the schema.
    #[error("{path}: this is no result of `wootz bench --json`: {detail}")]
    Malformed {
        /// The file.
        path: String,
        /// What is wrong.
        detail: String,
    },
    /// Of another schema.
    #[error(
        "{path}: this result has schema {found}, and this version of wootz reads schema {SCHEMA}; \
         measure again, or use the wootz that wrote it"
    )]
    Schema {
        /// The file.
        path: String,
        /// The schema it has.
        found: String,
    },
}

impl Run {
    /// Reads a run; `path` is for messages.
    pub fn parse(text: &str, path: &str) -> Result<Run, Error> {
        let malformed = |detail: String| Error::Malformed { path: path.into(), detail };
        let value: serde_json::Value = serde_json::from_str(text).map_err(|e| malformed(e.to_string()))?;
        match value.get("schema") {
            None => Err(malformed("it has no field \"schema\"".into())),
            Some(found) if *found != serde_json::json!(SCHEMA) => {
                Err(Error::Schema { path: path.into(), found: found.to_string() })
            }
            Some(_) => serde_json::from_value(value).map_err(|e| malformed(e.to_string())),
        }
    }

    /// The run as JSON with a line end.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("a run has string keys and finite numbers");
        text + "\n"
    }

    /// Devices of Wootz that took part.
    pub fn devices(&self) -> impl Iterator<Item = &Contender> {
        self.contenders.iter().filter(|c| c.kind != Kind::Peer)
    }

    /// Peers that took part.
    pub fn peers(&self) -> impl Iterator<Item = &Contender> {
        self.contenders.iter().filter(|c| c.kind == Kind::Peer)
    }
}

impl Case {
    /// What a contender measured.
    pub fn measured(&self, contender: &str) -> Option<&Measured> {
        match self.results.get(contender)? {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Failed(_) => None,
        }
    }

    /// A contender's best time.
    pub fn best(&self, contender: &str) -> Option<f64> {
        Some(self.measured(contender)?.times.best_s)
    }

    /// How many times faster `ours` is than `theirs`, by the best times.
    pub fn ratio(&self, ours: &str, theirs: &str) -> Option<f64> {
        Some(self.best(theirs)? / self.best(ours)?)
    }

    /// The fraction of a device's limit that a time reaches.
    pub fn of_limit(&self, limits: &Limits, seconds: f64) -> Option<f64> {
        let least = limits.least_seconds(self.bytes, self.flops);
        (least > 0.0 && seconds > 0.0).then(|| rounded(least / seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_up() {
        let times = Times::of(&[4.0, 1.0, 2.0, 3.0, 10.0]).unwrap();
        assert_eq!((times.best_s, times.median_s, times.repeats), (1.0, 3.0, 5));
        assert!((times.spread - (4.0 - 2.0) / 2.0 / 3.0).abs() < 1e-8);
        assert_eq!(Times::of(&[]), None);
    }

    #[test]
    fn figures_pass_through_json_unchanged() {
        for i in 1..5000 {
            let limits = Limits::new(1e11 / f64::from(i).sqrt(), 1e-9 * f64::from(i).ln_1p());
            let text = serde_json::to_string(&limits).unwrap();
            assert_eq!(serde_json::from_str::<Limits>(&text).unwrap(), limits, "{text}");
        }
    }

    #[test]
    fn other_schemas_and_other_files_are_refused_with_reasons() {
        let old = Run::parse(r#"{"schema": 1, "cases": []}"#, "old.json").unwrap_err().to_string();
        assert!(
            old.contains("old.json") && old.contains("schema 1") && old.contains("measure again"),
            "{old}"
        );
        for text in ["", "{}", "[1]", r#"{"schema": 2}"#] {
            let error = Run::parse(text, "x.json").unwrap_err().to_string();
            assert!(error.starts_with("x.json: this is no result"), "{error}");
        }
    }
}

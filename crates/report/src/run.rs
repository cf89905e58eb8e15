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
    /// The contenders: Wootz's devices first, then peers.
    pub contenders: Vec<Contender>,
    /// Peers that were asked for and did not take part.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// The measured cases, in order.
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

/// A contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    /// The name that results are filed under.
    pub name: String,
    /// A device of Wootz, or another library.
    pub kind: Kind,
    /// A device's description, or a library's version.
    pub description: String,
    /// A device's measured limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Memory and cache bandwidths by working-set size, smallest first; empty if only `limits` are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bandwidths: Vec<Bandwidth>,
    /// Operations on bytes per second, as products with quantised weights do them; none where they are done in floats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_ops_per_s: Option<f64>,
}

/// Bytes per second that a device reads, writes and copies of a working set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Bytes of the working set.
    pub bytes: f64,
    /// Reading.
    pub read: f64,
    /// Writing.
    pub write: f64,
    /// Copying one half to the other, bytes read and written counted.
    pub copy: f64,
}

impl Bandwidth {
    /// For a mix of reads and writes: between the copy bandwidth and that of the more frequent one.
    fn mixed(&self, written: f64) -> f64 {
        let (pure, share) =
            if written <= 0.5 { (self.read, 1.0 - 2.0 * written) } else { (self.write, 2.0 * written - 1.0) };
        self.copy + (pure - self.copy) * share
    }
}

/// The type of arithmetic of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// Floats of up to 32 bits.
    #[default]
    Single,
    /// Floats of 64 bits.
    Double,
    /// Bytes.
    Bytes,
}

impl Contender {
    /// Seconds that a case takes here at least; none without limits.
    pub fn least_seconds(&self, case: &Case) -> Option<f64> {
        let limits = self.limits?;
        let ops_per_s = match case.arithmetic {
            Arithmetic::Single => limits.flops_per_s,
            // Registers hold half as many.
            Arithmetic::Double => limits.flops_per_s / 2.0,
            Arithmetic::Bytes => self.byte_ops_per_s.unwrap_or(limits.flops_per_s),
        };
        let bytes_per_s = self.bytes_per_s(case).unwrap_or(limits.bytes_per_s);
        Some(Limits { bytes_per_s, flops_per_s: ops_per_s }.least_seconds(case.bytes, case.flops))
    }

    /// The maximum bandwidth of the caches that a case's working set may be in: the best of the sizes from the next
    /// smaller one on.
    fn bytes_per_s(&self, case: &Case) -> Option<f64> {
        let set = if case.working_set > 0.0 { case.working_set } else { case.bytes };
        let written = if case.bytes > 0.0 { case.written / case.bytes } else { 0.0 };
        let smaller = self.bandwidths.iter().take_while(|b| b.bytes <= set).count();
        let from = smaller.saturating_sub(1);
        self.bandwidths[from..].iter().map(|b| b.mixed(written)).reduce(f64::max)
    }

    /// The fraction of the limit that a case in so many seconds reaches.
    pub fn of_limit(&self, case: &Case, seconds: f64) -> Option<f64> {
        let least = self.least_seconds(case)?;
        (least > 0.0 && seconds > 0.0).then(|| rounded(least / seconds))
    }
}

/// The kind of a contender.
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

/// A device's limits, measured in the same run.
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
    /// `core`, `overhead`, `memory`, `llm` or `load`.
    pub suite: String,
    /// The family of kernels: elementwise, gemm, attention, …
    pub family: String,
    /// The name, unique in a run.
    pub name: String,
    /// Bytes that must be read and written at the least; 0 when it makes no sense.
    pub bytes: f64,
    /// The bytes written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written: f64,
    /// Bytes that are touched at all, where some are touched more than once; 0 where it is `bytes`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub working_set: f64,
    /// The type of arithmetic.
    #[serde(default)]
    pub arithmetic: Arithmetic,
    /// Arithmetic operations of the definition (a function such as exp counts one); 0 when it makes no sense.
    pub flops: f64,
    /// Tokens that one execution reads or writes, for language models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// Busy processes beside it, in the load suite.
    #[serde(default, skip_serializing_if = "is_none")]
    pub neighbours: usize,
    /// The time of each contender; those without the case are absent.
    pub results: BTreeMap<String, Outcome>,
}

fn is_none(neighbours: &usize) -> bool {
    *neighbours == 0
}

fn is_zero(bytes: &f64) -> bool {
    *bytes == 0.0
}

/// The outcome of a case for a contender.
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
    /// The least time that the device's limits allow, over the time; in the load suite that of a fair share of the cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_limit: Option<f64>,
    /// Device memory, in the memory suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Shares of time by kernel, in descending order, in the llm suite.
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

/// Why a file is not a valid run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not JSON, or not of the schema.
    #[error("{path}: not a result of `wootz bench --json`: {detail}")]
    Malformed {
        /// The file.
        path: String,
        /// The problem found.
        detail: String,
    },
    /// A file with another schema.
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
    /// A contender's measurements.
    pub fn measured(&self, contender: &str) -> Option<&Measured> {
        match self.results.get(contender)? {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Failed(_) => None,
        }
    }

    /// The time to judge by: the best one, because whatever disturbs a run makes it slower; the median where the
    /// disturbance is what the case is about.
    pub fn time(&self, measured: &Measured) -> f64 {
        if self.suite == "load" { measured.times.median_s } else { measured.times.best_s }
    }

    /// A contender's [time](Case::time).
    pub fn best(&self, contender: &str) -> Option<f64> {
        Some(self.time(self.measured(contender)?))
    }

    /// How many times faster `ours` is than `theirs`.
    pub fn ratio(&self, ours: &str, theirs: &str) -> Option<f64> {
        Some(self.best(theirs)? / self.best(ours)?)
    }

    /// The name without its neighbours.
    fn work_name(&self) -> &str {
        self.name.split(" beside ").next().unwrap_or_default()
    }
}

/// Judges every contender of the load suite by itself without neighbours: on a machine of `threads` hardware threads, its
/// fair share beside n busy processes is `threads / (threads + n)` of that speed. Without such a case nothing is known about it.
pub fn judge_by_fair_share(cases: &mut [Case], threads: usize) {
    let alone: Vec<Case> = cases.iter().filter(|c| c.suite == "load" && c.neighbours == 0).cloned().collect();
    for case in cases.iter_mut().filter(|c| c.suite == "load") {
        let alone = alone.iter().find(|a| case.name.starts_with(a.work_name()));
        let share = threads as f64 / (threads + case.neighbours) as f64;
        for (name, outcome) in &mut case.results {
            if let Outcome::Measured(measured) = outcome {
                let alone = alone.and_then(|case| case.best(name));
                measured.of_limit = alone.map(|alone| rounded(alone / share / measured.times.median_s));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fair_share_is_a_part_of_the_speed_without_neighbours() {
        let case = |neighbours: usize, seconds: f64| Case {
            suite: "load".into(),
            family: "decode".into(),
            name: format!("m decode 16 beside {neighbours} busy"),
            bytes: 0.0,
            written: 0.0,
            working_set: 0.0,
            arithmetic: Arithmetic::Bytes,
            flops: 0.0,
            tokens: Some(16.0),
            neighbours,
            results: BTreeMap::from([(
                "cpu".into(),
                Outcome::Measured(Measured {
                    times: Times { best_s: 0.0, ..Times::of(&[seconds]).unwrap() },
                    of_limit: None,
                    memory: None,
                    profile: vec![],
                }),
            )]),
        };
        let mut cases = [case(0, 1.0), case(1, 1.5), case(2, 4.0)];
        judge_by_fair_share(&mut cases, 2);
        let shares = cases.each_ref().map(|c| c.measured("cpu").unwrap().of_limit.unwrap());
        assert_eq!(shares, [1.0, 1.0, 0.5]);
        let mut busy_only = [cases[1].clone()];
        judge_by_fair_share(&mut busy_only, 2);
        assert_eq!(busy_only[0].measured("cpu").unwrap().of_limit, None, "the device's limit is not a share");
    }

    #[test]
    fn limits_are_those_of_the_caches_that_a_case_fits() {
        let level = |bytes: f64, rate: f64| Bandwidth { bytes, read: 2.0 * rate, write: rate, copy: rate };
        let device = Contender {
            name: "cpu".into(),
            kind: Kind::Device,
            description: String::new(),
            limits: Some(Limits::new(1.0, 100.0)),
            bandwidths: vec![level(10.0, 50.0), level(100.0, 20.0), level(1000.0, 5.0)],
            byte_ops_per_s: Some(400.0),
        };
        let case = |bytes: f64, written: f64, flops: f64, arithmetic| Case {
            suite: "core".into(),
            family: "f".into(),
            name: "n".into(),
            bytes,
            written,
            working_set: 0.0,
            arithmetic,
            flops,
            tokens: None,
            neighbours: 0,
            results: BTreeMap::new(),
        };
        let least = |case: Case| device.least_seconds(&case).unwrap();
        assert_eq!(least(case(2000.0, 0.0, 0.0, Arithmetic::Single)), 200.0, "read from memory");
        assert_eq!(least(case(2000.0, 1000.0, 0.0, Arithmetic::Single)), 400.0, "copied in memory");
        assert_eq!(least(case(2000.0, 500.0, 0.0, Arithmetic::Single)), 2000.0 / 7.5, "a mix of both");
        assert_eq!(
            least(case(500.0, 250.0, 0.0, Arithmetic::Single)),
            25.0,
            "in the last cache, perhaps in part"
        );
        assert_eq!(least(case(5.0, 0.0, 0.0, Arithmetic::Single)), 0.05, "in the first");
        let looped = Case { working_set: 50.0, ..case(1000.0, 0.0, 0.0, Arithmetic::Single) };
        assert_eq!(least(looped), 10.0, "read again and again");
        for (arithmetic, seconds) in
            [(Arithmetic::Single, 8.0), (Arithmetic::Double, 16.0), (Arithmetic::Bytes, 2.0)]
        {
            assert_eq!(least(case(0.0, 0.0, 800.0, arithmetic)), seconds, "{arithmetic:?}");
        }
    }

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
            assert!(error.starts_with("x.json: not a result"), "{error}");
        }
    }
}

//! The runner: contenders take turns on every case.

use super::cases::{Case, Fallible, Ready, Suite};
use super::neighbours::Neighbours;
use super::peer::{Data, Peer};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wootz::{Calibration, Device, DeviceKind};
use wootz_report as report;
use wootz_report::{Contender, Kind, Measured, Memory, Outcome, Share, Skipped, Times};

/// Minimum duration of a turn, so that neither clock resolution nor a single interruption matters.
const TURN: f64 = 10e-3;
/// The same for the load suite: many time slices, so that a turn averages over the scheduler's decisions.
const LOADED_TURN: f64 = 0.5;
/// Warm-up before timing: time for the scheduler to spread a contender's threads over idle cores.
const WARM: Duration = Duration::from_millis(10);
/// A contender that takes this long for one execution gets no further turns.
const SLOW: f64 = 3.0;
const MOST_TURNS: usize = 2000;
/// The best result counts as reproducible once this many of the best turns agree within `AGREEMENT`;
const AGREEING: usize = 3;
const AGREEMENT: f64 = 0.02;
/// and at least this many turns are taken, since a machine can be slow for several turns in a row.
const ENOUGH: usize = 16;
/// A contender may use this many times its time budget to get there.
const PATIENCE: f64 = 5.0;

pub struct Runner {
    pub devices: Vec<Device>,
    pub peers: Vec<Peer>,
    /// Time budget in seconds per case and contender.
    pub seconds: f64,
    /// Hardware threads of the machine.
    pub threads: usize,
    /// Minimum number of turns.
    pub turns: usize,
    /// Whether to stop when the time budget is used up, even if the best turns disagree.
    pub hasty: bool,
}

/// A contender's state in one case.
struct Entry<'a> {
    name: String,
    who: Who<'a>,
    /// Target duration of a turn in seconds.
    turn: f64,
    repeats: usize,
    seconds: Vec<f64>,
    /// Total time of its turns in seconds. Each contender has its own budget, so a slow one takes fewer turns without
    /// taking any from others.
    spent: f64,
    failure: Option<String>,
}

enum Who<'a> {
    Device(Ready),
    Peer(&'a mut Peer),
}

/// The outcome of a run.
pub struct Finished {
    pub contenders: Vec<Contender>,
    /// Devices that could not be measured at all.
    pub skipped: Vec<Skipped>,
    pub cases: Vec<report::Case>,
    /// Whether every case was measured.
    pub complete: bool,
}

impl Runner {
    /// Measures all cases.
    pub fn measure(mut self, cases: &[Case]) -> Fallible<Finished> {
        let stop = watch_for_interrupt()?;
        let bar = progress(cases.len());
        let (mut contenders, mut skipped) = (Vec::new(), Vec::new());
        self.devices.retain(|device| {
            bar.set_message(format!("limits of {device}"));
            match contender(device) {
                Ok(contender) => contenders.push(contender),
                Err(error) => skipped.push(Skipped { name: device.name().into(), reason: error.to_string() }),
            }
            contenders.last().is_some_and(|c| c.name == device.name())
        });
        if contenders.is_empty() {
            let reasons: Vec<String> = skipped.iter().map(|s| format!("{}: {}", s.name, s.reason)).collect();
            return Err(format!("no device could be measured ({})", reasons.join("; ")).into());
        }
        for peer in &self.peers {
            let description = peer.version.clone();
            contenders.push(Contender {
                name: peer.name.clone(),
                kind: Kind::Peer,
                description,
                limits: None,
                bandwidths: vec![],
                byte_ops_per_s: None,
            });
        }
        let data = Data::new()?;
        let mut results = Vec::new();
        for case in cases {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            bar.set_message(case.name.clone());
            if let Some(result) = self.case(case, &contenders, &data, &stop) {
                results.push(result);
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        report::judge_by_fair_share(&mut results, self.threads);
        let complete = !stop.load(Ordering::Relaxed);
        Ok(Finished { contenders, skipped, cases: results, complete })
    }

    /// Measures one case; `None` if interrupted.
    fn case(
        &mut self,
        case: &Case,
        contenders: &[Contender],
        data: &Data,
        stop: &AtomicBool,
    ) -> Option<report::Case> {
        let mut results = BTreeMap::new();
        let Runner { devices, peers, seconds, turns, hasty, .. } = self;
        let mut entries = entries(devices, peers, (case, data), &mut results);
        let neighbours = Neighbours::start(case.neighbours);
        if let Err(error) = &neighbours {
            let failed =
                |entry: &mut Entry| entry.failure = Some(format!("cannot start busy processes: {error}"));
            entries.iter_mut().for_each(failed);
        }
        let mut random = fastrand::Rng::with_seed(1);
        for turn in 0..MOST_TURNS {
            let settled = *hasty || turn >= ENOUGH && entries.iter().all(Entry::is_settled);
            let allowance = if settled { *seconds } else { PATIENCE * *seconds };
            let has_turn = |e: &Entry| !e.is_over() && (turn < *turns || e.spent < allowance);
            if !entries.iter().any(has_turn) {
                break;
            }
            // Rotate the order: a contender is affected by how idle or busy the previous one left the cores.
            random.shuffle(&mut entries);
            for entry in entries.iter_mut().filter(|e| has_turn(e)) {
                if stop.load(Ordering::Relaxed) {
                    return None;
                }
                entry.turn();
            }
        }
        drop(neighbours);
        let mut report = report::Case {
            suite: case.suite.name().into(),
            family: case.family.into(),
            name: case.name.clone(),
            bytes: case.work.bytes,
            written: case.work.written,
            working_set: case.work.working_set,
            arithmetic: case.work.arithmetic,
            flops: case.work.flops,
            tokens: case.work.tokens,
            neighbours: case.neighbours,
            results: BTreeMap::new(),
        };
        for mut entry in entries {
            let device = devices.iter().find(|d| d.name() == entry.name);
            let memory = device.and_then(|d| memory(case, d, &entry.who));
            let profile = device.map(|d| profile(case, d, &mut entry.who)).unwrap_or_default();
            let contender = contenders.iter().find(|c| c.name == entry.name);
            let outcome = match (entry.failure, Times::of(&entry.seconds)) {
                (Some(reason), _) => Outcome::Failed(reason),
                (None, None) => continue,
                (None, Some(times)) => {
                    let of_limit = contender.and_then(|c| c.of_limit(&report, times.best_s));
                    Outcome::Measured(Measured { times, of_limit, memory, profile })
                }
            };
            results.insert(entry.name, outcome);
        }
        report.results = results;
        Some(report)
    }
}

/// Prepares every contender that has the case. Failures have been added to `results`.
fn entries<'a>(
    devices: &[Device],
    peers: &'a mut [Peer],
    (case, data): (&Case, &Data),
    results: &mut BTreeMap<String, Outcome>,
) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    let mut shared = None;
    for device in devices {
        match (case.prepare)(device) {
            Ok(ready) => {
                if shared.is_none() && !case.op.is_empty() && !peers.is_empty() {
                    shared = data.save(case, &ready);
                }
                entries.push(Entry::new(device.name(), Who::Device(ready), case));
            }
            Err(error) => {
                results.insert(device.name().into(), Outcome::Failed(error.to_string()));
            }
        }
    }
    let Some(request) = shared else { return entries };
    for peer in peers.iter_mut().filter(|p| p.alive) {
        match peer.prepare(&request) {
            Ok(false) => {}
            Ok(true) => {
                let name = peer.name.clone();
                entries.push(Entry::new(&name, Who::Peer(peer), case));
            }
            Err(error) => {
                results.insert(peer.name.clone(), Outcome::Failed(error.to_string()));
            }
        }
    }
    entries
}

impl Entry<'_> {
    fn new<'a>(name: &str, who: Who<'a>, case: &Case) -> Entry<'a> {
        let turn = if case.suite == Suite::Load { LOADED_TURN } else { TURN };
        Entry { name: name.into(), who, turn, repeats: 0, seconds: Vec::new(), spent: 0.0, failure: None }
    }

    /// Whether the best turns agree, or no more turns will be taken.
    fn is_settled(&self) -> bool {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let agree = sorted.get(AGREEING - 1).is_some_and(|&s| s <= sorted[0] * (1.0 + AGREEMENT));
        agree || self.is_over()
    }

    fn is_over(&self) -> bool {
        self.failure.is_some() || self.seconds.last().is_some_and(|&s| s > SLOW)
    }

    /// One turn: untimed warm-up executions, then enough timed ones to fill it.
    fn turn(&mut self) {
        let begin = Instant::now();
        self.take_turn();
        self.spent += begin.elapsed().as_secs_f64();
    }

    fn take_turn(&mut self) {
        if self.repeats == 0 {
            // The first executions plan and touch memory; they only determine the number of repetitions.
            match self.execute(1).and_then(|_| self.execute(1)) {
                Ok(seconds) if seconds > SLOW => return self.seconds.push(seconds),
                Ok(seconds) => {
                    self.repeats = (self.turn / seconds.max(1e-9)).ceil().clamp(1.0, 10_000.0) as usize
                }
                Err(error) => return self.failure = Some(error.to_string()),
            }
        }
        match self.execute(self.repeats) {
            Ok(seconds) => self.seconds.push(seconds),
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    /// Seconds per execution, once warm.
    fn execute(&mut self, repeats: usize) -> Fallible<f64> {
        match &mut self.who {
            Who::Peer(peer) => peer.turn(repeats),
            Who::Device(ready) => {
                let begin = Instant::now();
                (ready.run)()?;
                while begin.elapsed() < WARM {
                    (ready.run)()?;
                }
                let begin = Instant::now();
                for _ in 0..repeats {
                    (ready.run)()?;
                }
                Ok(begin.elapsed().as_secs_f64() / repeats as f64)
            }
        }
    }
}

/// Peak memory of one execution on a device whose pool holds nothing else.
fn memory(case: &Case, device: &Device, who: &Who<'_>) -> Option<Memory> {
    let (least_bytes, Who::Device(_)) = (case.work.least_memory?, who) else { return None };
    let fresh = (case.prepare)(device).ok();
    let mut fresh = fresh?;
    device.trim();
    let inputs: u64 = fresh.inputs.iter().map(|t| (t.count() * t.dtype().size()) as u64).sum();
    let before = device.memory().live as u64;
    (fresh.run)().ok()?;
    let peak_bytes = device.memory().peak as u64 - before + inputs;
    Some(Memory { peak_bytes, least_bytes })
}

/// The time per kernel of one more execution, for language models on the CPU; empty otherwise.
fn profile(case: &Case, device: &Device, who: &mut Who<'_>) -> Vec<Share> {
    let (Suite::Llm, DeviceKind::Cpu, Who::Device(ready)) = (case.suite, device.info().kind, who) else {
        return vec![];
    };
    let begin = Instant::now();
    let (outcome, kernels) = wootz::profile_cpu(|| (ready.run)());
    let all = begin.elapsed().as_secs_f64();
    if outcome.is_err() {
        return vec![];
    }
    let rest = all - kernels.iter().map(|k| k.seconds).sum::<f64>();
    let mut shares: Vec<Share> =
        kernels.into_iter().map(|k| Share { kernel: k.kernel, share: k.seconds / all }).collect();
    shares.push(Share { kernel: "between steps".into(), share: rest.max(0.0) / all });
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

/// A device with its limits, measured now.
fn contender(device: &Device) -> Fallible<Contender> {
    let limits = Calibration::renew(device)?.limits;
    let info = device.info();
    let is_cpu = info.kind == DeviceKind::Cpu;
    let bandwidths = if is_cpu { wootz::measure_bandwidth() } else { vec![] };
    let of_size = |b: wootz::Bandwidth| report::Bandwidth {
        bytes: b.bytes as f64,
        read: b.read.round(),
        write: b.write.round(),
        copy: b.copy.round(),
    };
    let byte_ops_per_s = is_cpu.then(wootz::measure_byte_gops).flatten().map(|gops| (gops * 1e9).round());
    Ok(Contender {
        name: info.name.clone(),
        kind: if info.kind == DeviceKind::Software { Kind::Software } else { Kind::Device },
        description: info.description.clone(),
        limits: Some(report::Limits::new(limits.bytes_per_s, limits.flops_per_s)),
        bandwidths: bandwidths.into_iter().map(of_size).collect(),
        byte_ops_per_s,
    })
}

/// The first Ctrl-C ends the run after the current turn, the second exits at once.
fn watch_for_interrupt() -> Fallible<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\ninterrupted: keeping the results so far (press Ctrl-C again to abort)");
    })?;
    Ok(stop)
}

fn progress(cases: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:32.cyan/dim} {pos}/{len}  {eta} left  {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(cases as u64).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

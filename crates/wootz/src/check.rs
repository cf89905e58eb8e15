//! Validation of a device: runs the conformance cases on it and compares the results with the reference evaluator.

use crate::device::Device;
use crate::eval::{Evaluation, explain_nodes};
use crate::tensor::Tensor;
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use wootz_backend::inject::{Point, fails};
use wootz_backend::{DeviceKind, HostMemory};
use wootz_conformance::exceptions::{EXCEPTIONS, Ledger, Verdict};
use wootz_conformance::{Build, Case, Leaf, Leeway, Mismatch, cases, decode, expected_faults};
use wootz_ir::graph::NodeRef;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Error, Result};

pub use wootz_conformance::Level;

/// The results of one op family for one dtype.
#[derive(Clone, Debug, Default)]
pub struct CheckRow {
    /// Number of cases run.
    pub cases: usize,
    /// Cases that agreed with the reference.
    pub passed: usize,
    /// Cases that failed as expected.
    pub failed: usize,
    /// Known exceptions, with their reasons.
    pub exceptions: Vec<String>,
    /// Messages of the first failures.
    pub failures: Vec<String>,
}

/// The result of checking a device.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// The device.
    pub device: String,
    /// Results by op family and dtype.
    pub rows: BTreeMap<(String, DType), CheckRow>,
    /// Exceptions that no case needed any more.
    pub stale: Vec<String>,
}

/// Maximum number of failures reported in full per row.
const TOLD: usize = 3;

impl CheckReport {
    /// Totals: cases, passed, failed, excepted.
    pub fn totals(&self) -> (usize, usize, usize, usize) {
        let sum = |f: fn(&CheckRow) -> usize| self.rows.values().map(f).sum();
        (sum(|r| r.cases), sum(|r| r.passed), sum(|r| r.failed), sum(|r| r.exceptions.len()))
    }

    /// Whether every case of a family, in every dtype, agreed.
    pub fn is_valid(&self, family: &str) -> bool {
        let mut rows = self.rows.iter().filter(|((f, _), _)| f == family).peekable();
        rows.peek().is_some() && rows.all(|(_, row)| row.failed == 0)
    }

    fn record(&mut self, family: &str, dtype: DType, name: &str, outcome: Outcome) {
        let row = self.rows.entry((family.to_string(), dtype)).or_default();
        row.cases += 1;
        match outcome {
            Outcome::Passed => row.passed += 1,
            Outcome::Excepted(reason) => row.exceptions.push(format!("{name}: {reason}")),
            Outcome::Failed(detail) => {
                row.failed += 1;
                if row.failures.len() < TOLD {
                    row.failures.push(format!("{name}: {detail}"));
                }
            }
        }
    }
}

enum Outcome {
    Passed,
    Excepted(String),
    Failed(String),
}

/// Runs the cases of a level on a device. `progress` is called before each case with the number done and the total.
pub fn check(device: &Device, level: Level, mut progress: impl FnMut(usize, usize)) -> CheckReport {
    check_matching(device, level, |_| true, &mut progress)
}

/// The quick cases of one family.
pub(crate) fn check_family(
    device: &Device,
    family: &str,
    progress: &mut impl FnMut(usize, usize),
) -> CheckReport {
    check_where(device, Level::Quick, |own, _| own == family, progress)
}

/// Like [`check`], for the cases whose names `wanted` accepts.
pub fn check_matching(
    device: &Device,
    level: Level,
    wanted: impl Fn(&str) -> bool,
    progress: &mut impl FnMut(usize, usize),
) -> CheckReport {
    check_where(device, level, |_, name| wanted(name), progress)
}

/// The same, for the cases whose families and names `wanted` accepts.
fn check_where(
    device: &Device,
    level: Level,
    wanted: impl Fn(&str, &str) -> bool,
    progress: &mut impl FnMut(usize, usize),
) -> CheckReport {
    let mut report = CheckReport { device: device.name().into(), ..CheckReport::default() };
    let all = cases(level);
    let count = all.len();
    let cases: Vec<Case> = all.into_iter().filter(|c| wanted(c.family, &c.name)).collect();
    let faults: Vec<_> = expected_faults().into_iter().filter(|c| wanted(c.family, &c.name)).collect();
    let total = cases.len() + faults.len();
    let mut ledger = Ledger::new(device.name(), EXCEPTIONS);
    // Metal flushes subnormal results of single precision to zero.
    let leeway = Leeway { flushes_subnormals: device.name() == "metal" };
    let run_case = |i: usize| {
        let got = run(device, &cases[i].leaves, &cases[i].build).map_err(|e| e.to_string())?;
        Ok(cases[i].check_with(&got, leeway))
    };
    let mut outcomes = Vec::with_capacity(cases.len());
    for (part, start) in cases.chunks(AHEAD).zip((0..).step_by(AHEAD)) {
        prepare(device, part);
        let mut progress = |done| progress(start + done, total);
        outcomes.extend(in_parallel(device, part.len(), |i| run_case(start + i), &mut progress));
    }
    for (case, outcome) in cases.iter().zip(outcomes) {
        let result = outcome.unwrap_or_else(|error| Err(Mismatch::Failed(error)));
        let detail = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let outcome = match ledger.judge(case, result) {
            Verdict::Passed => Outcome::Passed,
            Verdict::Excused(reason) => Outcome::Excepted(reason.to_string()),
            _ => Outcome::Failed(detail),
        };
        report.record(case.family, case.dtype, &case.name, outcome);
    }
    let run_fault = |i: usize| run(device, &faults[i].leaves, &faults[i].build);
    let outcomes =
        in_parallel(device, faults.len(), run_fault, &mut |done| progress(cases.len() + done, total));
    for (case, outcome) in faults.iter().zip(outcomes) {
        let outcome = match outcome {
            Err(Error::Fault { fault, .. }) if fault == case.fault => Outcome::Passed,
            Err(error) => Outcome::Failed(format!("expected the fault {:?}, got: {error}", case.fault)),
            Ok(_) => Outcome::Failed(format!("expected the fault {:?}, but it succeeded", case.fault)),
        };
        report.record(case.family, case.dtype, &case.name, outcome);
    }
    // Of a part of the list no exception can be missed.
    if cases.len() == count {
        report.stale = ledger.stale().map(|e| e.reason.to_string()).collect();
    }
    report
}

/// Number of cases whose kernels may be compiled together.
const AHEAD: usize = 512;

/// Tells a device what it will be asked to run, so that it can compile many kernels at once.
fn prepare(device: &Device, cases: &[Case]) {
    if device.info().kind == DeviceKind::Cpu || device.candidates().is_some() {
        return;
    }
    let plan = |case: &Case| {
        let nodes = bind(device, &case.leaves).ok()?;
        Some(explain_nodes(device, &[(case.build)(&nodes).ok()?]).ok()?.plan)
    };
    let plans: Vec<_> = cases.iter().filter_map(plan).collect();
    device.backend().prepare(&plans);
}

/// Calls `f` for each of `count` jobs, several at a time if the device spends its time compiling, and returns the
/// results in order.
fn in_parallel<T: Send>(
    device: &Device,
    count: usize,
    f: impl Fn(usize) -> T + Sync,
    progress: &mut impl FnMut(usize),
) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    if device.info().kind == DeviceKind::Cpu || cores == 1 {
        let each = |i| {
            progress(i);
            f(i)
        };
        return (0..count).map(each).collect();
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    std::thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..cores {
            let (sender, next, f) = (sender.clone(), &next, &f);
            let work = move || {
                for i in
                    std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < count))
                {
                    let _ = sender.send((i, f(i)));
                }
            };
            let refused = fails(Point::Thread);
            started += usize::from(!refused && std::thread::Builder::new().spawn_scoped(scope, work).is_ok());
        }
        // Where the system refuses threads, this one does the work.
        (0..if started == 0 { count } else { 0 }).for_each(|i| {
            let _ = sender.send((i, f(i)));
        });
        drop(sender);
        for (done, (i, result)) in receiver.iter().enumerate() {
            progress(done);
            results[i] = Some(result);
        }
    });
    results.into_iter().flatten().collect()
}

/// Binds the leaves in their layouts, evaluates, and fetches the result.
fn run(device: &Device, leaves: &[Leaf], build: &Build) -> Result<HostTensor> {
    let nodes = bind(device, leaves)?;
    let small = Tensor::new(build(&nodes)?, device);
    let small = if crate::small::run(&small)? { Some(small.to_bytes()?) } else { None };
    let planned = Tensor::new(build(&nodes)?, device);
    if !planned.is_evaluated() {
        Evaluation::traced(&[&planned])?.run()?;
    }
    // What a device computes without a plan is what the plan computes, to the bit.
    let bytes = planned.to_bytes()?;
    if small.is_some_and(|small| small != bytes) {
        let detail = "a small graph gives different bits with and without a plan";
        return Err(Error::device(device.name(), detail));
    }
    fetch(&planned)
}

/// Leaf nodes on a device for a case's leaves.
pub fn bind(device: &Device, leaves: &[Leaf]) -> Result<Vec<NodeRef>> {
    let tensor = |leaf: &Leaf| {
        if leaf.donated {
            // Given away to be written in place, so it must be the device's own memory.
            let bytes = leaf.bytes();
            let value = Value::upload(&device.home(), &bytes)?;
            return Ok(Tensor::from_value(value, leaf.layout.clone(), leaf.dtype(), device).donate()?.node);
        }
        let memory = HostMemory::new(Aligned::new(&leaf.bytes()));
        Ok(Tensor::from_host_on(memory, leaf.dtype(), leaf.layout.clone(), device)?.node)
    };
    leaves.iter().map(tensor).collect()
}

/// A tensor's value on the host.
pub fn fetch(tensor: &Tensor) -> Result<HostTensor> {
    Ok(decode(tensor.shape(), tensor.dtype(), &tensor.to_bytes()?))
}

/// Evaluates nodes on a device in one batch, and fetches them.
pub fn evaluate(device: &Device, nodes: &[NodeRef]) -> Result<Vec<HostTensor>> {
    let tensors: Vec<Tensor> = nodes.iter().map(|n| Tensor::new(n.clone(), device)).collect();
    crate::eval(&tensors)?;
    tensors.iter().map(fetch).collect()
}

/// Bytes aligned for every dtype.
struct Aligned {
    words: Vec<u64>,
    len: usize,
}

impl Aligned {
    fn new(bytes: &[u8]) -> Aligned {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Aligned { words, len: bytes.len() }
    }
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

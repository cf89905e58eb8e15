//! `auto` chooses by what it measured: two artificial devices whose time is made up, so that the better choice is known
//! exactly and no noise of this machine comes in.

mod common;

use common::{Artificial, Clock};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use wootz::{Calibration, CostModel, DType, Device, Result, Tensor};
use wootz_plan::{Kernel, Plan, Step};

/// Multiply-adds of a step, as an honest device would do them.
fn flops(step: &Step) -> f64 {
    match step.kernel {
        Kernel::Matmul { batch, m, n, k } => 2.0 * (batch * m * n * k) as f64,
        _ => 0.0,
    }
}

/// Nanoseconds of a plan on a device: a start, and for each step a launch and the slower of memory and arithmetic. Small
/// work does not fill the device: rates rise with the size of the work.
fn time(plan: &Plan, start: f64, launch: f64, (bytes_per_ns, flops_per_ns): (f64, f64), ramp: f64) -> f64 {
    let step = |step: &Step| {
        let memory = (plan.step_bytes(step) as f64 + ramp) / bytes_per_ns;
        launch + memory.max(flops(step) / flops_per_ns)
    };
    start + plan.steps.iter().map(step).sum::<f64>()
}

/// Quick to start, 20 GB/s and 100 GFLOP/s; memory is the host's.
fn small(plan: &Plan) -> f64 {
    time(plan, 1500.0, 300.0, (20.0, 100.0), 0.0)
}

/// Slow to start, 200 GB/s and 4 TFLOP/s behind a bus of 10 GB/s.
fn large(plan: &Plan) -> f64 {
    time(plan, 40_000.0, 4000.0, (200.0, 4000.0), 20_000.0)
}

struct Pair {
    now: Arc<AtomicUsize>,
    devices: Vec<Device>,
    auto: Device,
}

impl Pair {
    fn new() -> Result<Pair> {
        let now = Arc::new(AtomicUsize::new(0));
        let make = |name: &str, run: fn(&Plan) -> f64, transfer: fn(usize) -> f64| {
            let mut artificial = Artificial::new(name);
            artificial.clock = Some(Clock { now: now.clone(), run, transfer });
            if name == "small" {
                artificial.info.kind = wootz::DeviceKind::Cpu;
            }
            Arc::new(artificial)
        };
        let backends = [make("small", small, |_| 0.0), make("large", large, |bytes| bytes as f64 / 10.0)];
        let mut devices = Vec::new();
        for backend in backends {
            let seconds = || now.load(Ordering::Relaxed) as f64 / 1e9;
            let costs = CostModel::measure_by(&Device::from_backend(backend.clone()), &seconds)?;
            devices.push(Device::with_costs(backend, costs));
        }
        devices.iter().for_each(|d| drop(d.validation()));
        Ok(Pair { auto: Device::auto_over(devices.clone()), now, devices })
    }

    /// Nanoseconds that a function takes with its inputs starting on a device of the pair, run on `on`.
    fn took(&self, inputs: &[Tensor], on: &Device, run: fn(&[Tensor]) -> Result<Tensor>) -> Result<f64> {
        let begin = self.now.load(Ordering::Relaxed);
        let inputs: Vec<Tensor> = inputs.iter().map(|t| t.to_device(on)).collect::<Result<_>>()?;
        run(&inputs)?.eval()?;
        Ok((self.now.load(Ordering::Relaxed) - begin) as f64)
    }
}

type Function = fn(&[Tensor]) -> Result<Tensor>;

const FUNCTIONS: [(&str, Function); 4] = [
    ("map", |t| t[0].exp()?.add(1.0)),
    ("matmul", |t| t[0].matmul(&t[0])),
    ("softmax of a sum", |t| t[0].cumsum(0)?.softmax(-1)),
    ("two products", |t| t[0].matmul(&t[0])?.matmul(&t[0])?.sum()),
];

#[test]
fn auto_is_within_a_tenth_of_the_better_choice() -> Result<()> {
    let pair = Pair::new()?;
    let mut chosen = [0, 0];
    for n in [4usize, 16, 32, 64, 96, 128, 192, 256, 384, 512] {
        for home in &pair.devices {
            for (name, run) in FUNCTIONS {
                let input = Tensor::zeros([n, n], DType::F32)?.copied()?.to_device(home)?;
                let inputs = [input];
                let each: Vec<f64> =
                    pair.devices.iter().map(|d| pair.took(&inputs, d, run)).collect::<Result<_>>()?;
                let best = each[0].min(each[1]);
                let auto = pair.took(&inputs, &pair.auto, run)?;
                chosen[usize::from((auto - each[1]).abs() < (auto - each[0]).abs())] += 1;
                let text = format!("{name} of {n}×{n} on {home}: auto {auto} ns, devices {each:?} ns");
                assert!(auto <= 1.1 * best, "{text}");
            }
        }
    }
    assert!(chosen.iter().all(|&n| n > 10), "both devices are the better one at times: {chosen:?}");
    Ok(())
}

#[test]
fn what_is_measured_is_what_the_device_was_given() -> Result<()> {
    let pair = Pair::new()?;
    let seconds = || pair.now.load(Ordering::Relaxed) as f64 / 1e9;
    let costs = CostModel::measure_by(&pair.devices[1], &seconds)?;
    let near = |value: f64, truth: f64| (value / truth - 1.0).abs() < 0.1;
    assert!(near(1e-9 / costs.byte, 200.0) && near(1e-9 / costs.flop, 4000.0), "{costs:?}");
    assert!(near(1e-9 / costs.transfer, 10.0) && near(costs.submit, 40e-6), "{costs:?}");
    Ok(())
}

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Kept;

impl log::Log for Kept {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        WARNINGS.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

/// Runs this test again in a process of its own, with another cache folder; returns what it logged.
fn reading_in(cache: &std::path::Path) -> String {
    let name = "a_damaged_calibration_is_reported_and_measured_again";
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env("XDG_CACHE_HOME", cache).env(READING, "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Set in the process that only reads its calibration.
const READING: &str = "WOOTZ_TEST_READING";

#[test]
fn a_damaged_calibration_is_reported_and_measured_again() -> Result<()> {
    if std::env::var_os(READING).is_some() {
        log::set_logger(&Kept).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
        Calibration::of(&Device::cpu())?;
        println!("{:?}", WARNINGS.lock().unwrap());
        return Ok(());
    }
    let cache = tempfile::tempdir().unwrap();
    assert!(!reading_in(cache.path()).contains("is damaged"), "there was none");
    let folder = cache.path().join("wootz/calibration");
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert!(reading_in(cache.path()).contains("is damaged"));
    assert!(!reading_in(cache.path()).contains("is damaged"), "it was written again");
    Ok(())
}

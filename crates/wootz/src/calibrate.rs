//! A device's costs and limits, measured once and cached on disk.
//!
//! The same code serves `auto`, which needs to estimate the cost of a plan, and `wootz bench`, which reports how
//! close a kernel comes to the limit. Results are stored per device in the user's cache folder.

use crate::device::Device;
use crate::disk;
use crate::dispatch::CostModel;
use crate::tensor::Tensor;
use std::path::PathBuf;
use std::time::Instant;
use wootz_backend::DeviceKind;
use wootz_ir::{DType, Result};
use wootz_system::cache;

/// A device's limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes read plus bytes written per second in a large copy.
    pub bytes_per_s: f64,
    /// Floating-point operations per second with multiply-adds.
    pub flops_per_s: f64,
}

/// A device's costs and limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Costs, for `auto`.
    pub costs: CostModel,
    /// Limits, to compare kernels with.
    pub limits: Limits,
}

impl Calibration {
    /// The calibration on disk; if there is none, it is measured now and stored.
    pub fn of(device: &Device) -> Result<Calibration> {
        match Calibration::stored(device) {
            Some(calibration) => Ok(calibration),
            None => Calibration::renew(device),
        }
    }

    /// Measures now, whatever is on disk, and stores the result. Failing to write it is not an error: the device is
    /// measured again next time.
    pub fn renew(device: &Device) -> Result<Calibration> {
        let calibration = Calibration::measure(device)?;
        if let Some(path) = Calibration::path(device) {
            let _ = cache::write(&path, calibration.to_text().as_bytes());
        }
        Ok(calibration)
    }

    /// Measures now.
    pub fn measure(device: &Device) -> Result<Calibration> {
        let costs = CostModel::measure(device)?;
        let mut limits = Limits::measure(device)?;
        // Nothing beats a limit: without optimisation the probe may be slower than a tuned product.
        limits.flops_per_s = limits.flops_per_s.max(1.0 / costs.flop);
        Ok(Calibration { costs, limits })
    }

    /// The calibration on disk, if it exists and is readable.
    pub fn stored(device: &Device) -> Option<Calibration> {
        Calibration::parse(&cache::read_text(&Calibration::path(device)?)?)
    }

    /// The file of a device's calibration; `None` without a home folder.
    pub fn path(device: &Device) -> Option<PathBuf> {
        disk::path(device, "calibration")
    }

    fn values(&self) -> [f64; FIELDS.len()] {
        let (c, l) = (&self.costs, &self.limits);
        [c.submit, c.step, c.byte, c.flop, c.transfer, l.bytes_per_s, l.flops_per_s]
    }

    fn to_text(self) -> String {
        FIELDS.iter().zip(self.values()).map(|(name, value)| format!("{name} {value:e}\n")).collect()
    }

    /// Parses the output of [`Calibration::to_text`]; `None` if a figure is missing or implausible.
    fn parse(text: &str) -> Option<Calibration> {
        let value = |name: &str| -> Option<f64> {
            let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '))?;
            line.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0)
        };
        let [submit, step, byte, flop, transfer, bytes_per_s, flops_per_s] = FIELDS;
        let costs = CostModel {
            submit: value(submit)?,
            step: value(step)?,
            byte: value(byte)?,
            flop: value(flop)?,
            transfer: value(transfer)?,
        };
        let limits = Limits { bytes_per_s: value(bytes_per_s)?, flops_per_s: value(flops_per_s)? };
        (limits.bytes_per_s > 0.0 && limits.flops_per_s > 0.0).then_some(Calibration { costs, limits })
    }
}

/// The figures of a file, in order.
const FIELDS: [&str; 7] =
    ["submit_s", "step_s", "byte_s", "flop_s", "transfer_s", "limit_bytes_per_s", "limit_flops_per_s"];

/// Seconds since some moment.
type Clock<'a> = dyn Fn() -> f64 + 'a;

fn wall() -> impl Fn() -> f64 {
    let start = Instant::now();
    move || start.elapsed().as_secs_f64()
}

fn best_of(runs: usize, clock: &Clock<'_>, mut f: impl FnMut() -> Result<()>) -> Result<f64> {
    f()?;
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let begin = clock();
        f()?;
        best = best.min(clock() - begin);
    }
    Ok(best)
}

impl CostModel {
    /// Measures a device with a few small runs.
    pub fn measure(device: &Device) -> Result<CostModel> {
        CostModel::measure_by(device, &wall())
    }

    /// Measures with any clock, in seconds: tests use devices with artificial time. All tensors are created on the
    /// device itself: the current device may be the automatic one, which would ask for the costs being measured.
    pub fn measure_by(device: &Device, clock: &Clock<'_>) -> Result<CostModel> {
        let tiny = Tensor::zeros_on([16], DType::F32, device)?.copied()?;
        let submit = best_of(20, clock, || tiny.add(1.0)?.eval().map(|_| ()))?;
        // A step costs what two steps cost more than one.
        let small = tiny.reshape([4, 4])?;
        let one = best_of(20, clock, || small.matmul(&small)?.eval().map(|_| ()))?;
        let two = best_of(20, clock, || small.matmul(&small)?.matmul(&small)?.eval().map(|_| ()))?;
        let step = (two - one).max(submit * 0.01);
        let count = 1 << 20;
        let long = Tensor::zeros_on([count], DType::F32, device)?.copied()?;
        let map = best_of(5, clock, || long.add(1.0)?.eval().map(|_| ()))?;
        let n = 256;
        let square = long.narrow(0, 0, n * n)?.reshape([n, n])?;
        let product = best_of(5, clock, || square.matmul(&square)?.eval().map(|_| ()))?;
        let mut bytes = vec![0; count * 4];
        let (value, _) = long.value()?;
        let transfer = best_of(3, clock, || value.read(0, &mut bytes))?;
        Ok(CostModel {
            submit: (submit - step).max(submit * 0.01),
            step,
            byte: (map - submit).max(1e-9) / (8 * count) as f64,
            flop: (product - submit).max(1e-9) / (2 * n * n * n) as f64,
            transfer: transfer / bytes.len() as f64,
        })
    }
}

/// Bytes of the copy that shows the bandwidth: far beyond the caches.
const COPY_BYTES: usize = 128 << 20;

impl Limits {
    /// Measures a device: the CPU with plain copies and multiply-adds in registers, others by the best rate that
    /// their own kernels reach.
    pub fn measure(device: &Device) -> Result<Limits> {
        let info = device.info();
        if info.kind == DeviceKind::Cpu {
            let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
            let flops_per_s = wootz_cpu::measure_fma_gflops() * 1e9;
            return Ok(Limits { bytes_per_s: host_copy(threads), flops_per_s });
        }
        // A device imitated in software takes minutes for what a GPU does at once.
        let software = info.kind == DeviceKind::Software;
        let (count, n) = if software { (1 << 18, 128) } else { (COPY_BYTES / 4, 1024) };
        let clock = wall();
        let long = Tensor::zeros_on([count], DType::F32, device)?.copied()?;
        let copy = best_of(4, &clock, || long.add(1.0)?.eval().map(|_| ()))?;
        let square = long.narrow(0, 0, n * n)?.reshape([n, n])?;
        let product = best_of(4, &clock, || square.matmul(&square)?.eval().map(|_| ()))?;
        let few = long.narrow(0, 0, count / 16)?;
        let chain = best_of(4, &clock, || multiply_adds(&few)?.eval().map(|_| ()))?;
        let flops = [(2 * n * n * n) as f64 / product, (2 * LINKS * few.count()) as f64 / chain];
        Ok(Limits { bytes_per_s: (8 * count) as f64 / copy, flops_per_s: flops[0].max(flops[1]) })
    }
}

const LINKS: usize = 64;

/// A chain of multiply-adds, fused into one kernel.
fn multiply_adds(x: &Tensor) -> Result<Tensor> {
    let mut sum = x.clone();
    for _ in 0..LINKS {
        sum = sum.mul(0.5)?.add(0.25)?;
    }
    Ok(sum)
}

/// Bytes per second of the best of several parallel copies.
fn host_copy(threads: usize) -> f64 {
    let source = vec![1u8; COPY_BYTES];
    let mut target = vec![0u8; COPY_BYTES];
    let part = COPY_BYTES.div_ceil(threads);
    let mut best = 0.0f64;
    for _ in 0..6 {
        let begin = Instant::now();
        let refused = std::thread::scope(|scope| {
            let mut parts = source.chunks(part).zip(target.chunks_mut(part));
            let own = parts.next();
            let mut started = parts.map(|(from, to)| {
                std::thread::Builder::new().spawn_scoped(scope, move || to.copy_from_slice(from))
            });
            let refused = started.any(|thread| thread.is_err());
            if let Some((from, to)) = own {
                to.copy_from_slice(from);
            }
            refused
        });
        if refused {
            return host_copy(1);
        }
        best = best.max(2.0 * COPY_BYTES as f64 / begin.elapsed().as_secs_f64());
        std::hint::black_box(&target);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_survives_its_file_and_a_bad_file_is_none() {
        let costs = CostModel { submit: 1e-6, step: 2e-7, byte: 5e-11, flop: 1e-11, transfer: 3e-10 };
        let calibration =
            Calibration { costs, limits: Limits { bytes_per_s: 2.2e10, flops_per_s: 1.234567e11 } };
        let text = calibration.to_text();
        assert_eq!(Calibration::parse(&text), Some(calibration));
        let cut = &text[..text.len() - 30];
        for bad in ["", "submit_s x", cut, &text.replace("2.2e10", "NaN"), &text.replace("2.2e10", "0")] {
            assert_eq!(Calibration::parse(bad), None, "{bad}");
        }
    }
}

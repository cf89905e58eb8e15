//! Work of Metal kernels, counted by SoftMetal: exact counts, no times.
//!
//! The counts are a JSON array of objects, one per kernel and problem. A chip's limits turn them into a lower bound
//! on the time that the chip needs, which is a prediction from arithmetic rate and bandwidth, not a measurement.

use crate::run::{Error, Limits};
use serde::{Deserialize, Serialize};

/// The counts of one kernel on one problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The project that the kernel comes from; ours if empty.
    #[serde(default = "ours")]
    pub project: String,
    /// The kernel; several where a problem takes several launches.
    pub kernel: String,
    /// Human-readable description of what it was run on.
    pub problem: String,
    /// The dtype or block format.
    pub dtype: String,
    /// Bytes loaded from device memory.
    pub reads: u64,
    /// Bytes stored to device memory.
    pub writes: u64,
    /// Floating-point operations, 1024 for each product of simdgroup matrices.
    pub flops: u64,
    /// Threadgroup barriers.
    pub barriers: u64,
    /// Simdgroup operations.
    pub simd_ops: u64,
    /// Bytes that passed through threadgroup memory, in and out.
    pub threadgroup_bytes: u64,
}

fn ours() -> String {
    "wootz".into()
}

/// A chip's limits, by its maker's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// The name.
    pub name: String,
    /// The limits.
    pub limits: Limits,
}

/// Counts placed under a chip's limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Operations per byte of device memory.
    pub intensity: f64,
    /// Whether memory is met before arithmetic.
    pub memory_bound: bool,
    /// Seconds that the chip needs at least.
    pub least_s: f64,
    /// Operations per second at that time.
    pub flops_per_s: f64,
}

impl Counted {
    /// Bytes to and from device memory.
    pub fn bytes(&self) -> f64 {
        (self.reads + self.writes) as f64
    }

    /// The place under a chip's limits.
    pub fn on(&self, chip: &Chip) -> Prediction {
        let (bytes, flops) = (self.bytes(), self.flops as f64);
        let least_s = chip.limits.least_seconds(bytes, flops);
        Prediction {
            intensity: flops / bytes.max(1.0),
            memory_bound: bytes / chip.limits.bytes_per_s >= flops / chip.limits.flops_per_s,
            least_s,
            flops_per_s: if least_s > 0.0 { flops / least_s } else { 0.0 },
        }
    }
}

/// Reads a file of counts; `path` is for messages.
pub fn parse_counted(text: &str, path: &str) -> Result<Vec<Counted>, Error> {
    serde_json::from_str(text).map_err(|e| Error::Malformed {
        path: path.into(),
        detail: format!("expected an array of kernel counters: {e}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_fall_under_a_chip() {
        let chip = Chip { name: "c".into(), limits: Limits { bytes_per_s: 1e9, flops_per_s: 1e12 } };
        let mut counted = Counted {
            project: ours(),
            kernel: "copy".into(),
            problem: "1 GB".into(),
            dtype: "f32".into(),
            reads: 500_000_000,
            writes: 500_000_000,
            flops: 0,
            barriers: 0,
            simd_ops: 0,
            threadgroup_bytes: 0,
        };
        assert_eq!(counted.on(&chip).least_s, 1.0);
        assert!(counted.on(&chip).memory_bound);
        counted.flops = 2_000_000_000_000;
        let p = counted.on(&chip);
        assert!(!p.memory_bound && p.least_s == 2.0 && p.flops_per_s == 1e12);
    }
}

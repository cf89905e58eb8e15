//! The position of a dispatch under a chip's two limits: memory and arithmetic.

use super::chips::Chip;
use super::counters::{Counters, DispatchProfile, LINE};
use serde::Serialize;
use std::fmt::Write;

/// Which limit a dispatch meets first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Memory bandwidth.
    Memory,
    /// Arithmetic.
    Compute,
}

/// The place of a dispatch on a roofline.
#[derive(Debug, Clone, Serialize)]
pub struct Roofline {
    /// Operations per byte of device memory, if every byte came from memory once per access.
    pub intensity: f64,
    /// The limit.
    pub bound: Bound,
    /// Gflop/s that the chip allows at this intensity.
    pub attainable: f64,
    /// Seconds that the chip needs at least: the larger of bytes over bandwidth and operations over rate.
    pub least_seconds: f64,
    /// Bytes that the loads and stores asked for, over bytes of the lines they touched: 1 is perfectly coalesced.
    pub coalescing: f64,
}

/// All operations, with 1024 per matrix product.
pub fn flops(c: &Counters) -> u64 {
    c.flops_f32 + c.flops_f16 + c.matrix_products * 1024
}

impl Roofline {
    /// Places counters on a chip.
    pub fn new(chip: &Chip, c: &Counters) -> Roofline {
        let bytes = (c.device_bytes_read + c.device_bytes_written) as f64;
        let work = flops(c) as f64;
        let seconds_memory = bytes / (chip.bandwidth * 1e9);
        let seconds_compute = (c.flops_f32 + c.matrix_products * 1024) as f64 / (chip.f32_rate * 1e9)
            + c.flops_f16 as f64 / (chip.f16_rate * 1e9);
        let bound = if seconds_memory >= seconds_compute { Bound::Memory } else { Bound::Compute };
        let intensity = if bytes > 0.0 { work / bytes } else { f64::INFINITY };
        let lines = c.transactions as f64 * LINE as f64;
        Roofline {
            intensity,
            bound,
            attainable: (intensity * chip.bandwidth).min(chip.f32_rate),
            least_seconds: seconds_memory.max(seconds_compute),
            coalescing: if lines > 0.0 { (bytes / lines).min(1.0) } else { 1.0 },
        }
    }
}

/// The profile and its place as JSON.
pub fn json(chip: &Chip, p: &DispatchProfile) -> serde_json::Value {
    let roofline = Roofline::new(chip, &p.counters);
    serde_json::json!({ "profile": p, "chip": chip, "roofline": roofline })
}

/// The profile and its place as lines of text.
pub fn text(chip: &Chip, p: &DispatchProfile) -> String {
    let c = &p.counters;
    let r = Roofline::new(chip, c);
    let mut s = String::new();
    let _ = writeln!(
        s,
        "kernel {}: {} threads in {} threadgroups of {:?}",
        p.kernel, c.threads, c.threadgroups, p.threads_per_threadgroup
    );
    let _ = writeln!(
        s,
        "  device memory       {} B read, {} B written, {} transactions by {} instructions ({:.0} % coalesced)",
        c.device_bytes_read,
        c.device_bytes_written,
        c.transactions,
        c.memory_instructions,
        r.coalescing * 100.0
    );
    let _ = writeln!(
        s,
        "  threadgroup memory  {} B per group; {} B read, {} B written",
        p.threadgroup_memory, c.threadgroup_bytes_read, c.threadgroup_bytes_written
    );
    let _ = writeln!(
        s,
        "  arithmetic          {} flop in float, {} in half, {} matrix products of 1024",
        c.flops_f32, c.flops_f16, c.matrix_products
    );
    let _ = writeln!(
        s,
        "  synchronisation     {} barriers, {} simd barriers, {} simd operations ({} divergent), {} atomics",
        c.barriers, c.simd_barriers, c.simd_operations, c.divergent_simd_operations, c.atomics
    );
    let bound = if r.bound == Bound::Memory { "memory" } else { "arithmetic" };
    let _ = writeln!(
        s,
        "  on {}: {:.3} flop/B, bound by {bound}, at most {:.1} Gflop/s, at least {:.3} us",
        chip.name,
        r.intensity,
        r.attainable,
        r.least_seconds * 1e6
    );
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::chip;

    #[test]
    fn a_copy_is_bound_by_memory_and_a_product_by_arithmetic() {
        let m1 = chip("m1").unwrap();
        let copy = Counters {
            device_bytes_read: 34_000_000,
            device_bytes_written: 34_000_000,
            ..Counters::default()
        };
        let r = Roofline::new(m1, &copy);
        assert_eq!(r.bound, Bound::Memory);
        assert!((r.least_seconds - 1e-3).abs() < 1e-9);
        let product = Counters { device_bytes_read: 1000, matrix_products: 1_000_000, ..Counters::default() };
        assert_eq!(Roofline::new(m1, &product).bound, Bound::Compute);
    }
}

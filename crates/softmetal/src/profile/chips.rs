//! Apple's chips: memory bandwidth and arithmetic rate.
//!
//! Bandwidth and cores are from Apple's announcements, for the largest GPU of each name. The float rate is cores ×
//! 128 lanes × 2 × clock; half runs at the float rate in the shader cores of all these chips. Clocks:
//! - M1 and M2 families: <https://github.com/philipturner/metal-benchmarks>, which measured them. (Apple's own
//!   figures, 2.6, 5.2, 10.4, 21 and 3.6 Tflop/s, agree within 2 %.) It gives 1398 MHz as the minimum for the larger
//!   M2 chips.
//! - M3 and M4 families: <https://hmc-tech.com/gpu/apple-8-core-m4-fl-vs-apple-30-core-m3-max>. Other pages give up
//!   to 1578 MHz for M4; the lower figure is used here, so that no prediction is optimistic.
//! - M5: <https://hmc-tech.com/gpu/apple-10-core-m4-fl-vs-apple-10-core-m5-fl>. Its matrix units are not counted.

use crate::error::{Error, Result};
use serde::Serialize;

/// One chip.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Chip {
    /// Name as on the command line.
    pub name: &'static str,
    /// GPU family.
    pub family: &'static str,
    /// GPU cores.
    pub cores: u32,
    /// Memory bandwidth in GB/s.
    pub bandwidth: f64,
    /// GPU clock in MHz.
    pub clock: f64,
    /// Float rate in Gflop/s.
    pub f32_rate: f64,
    /// Half rate in Gflop/s.
    pub f16_rate: f64,
}

const fn row(name: &'static str, family: &'static str, cores: u32, bandwidth: f64, clock: f64) -> Chip {
    let rate = cores as f64 * 256.0 * clock / 1000.0;
    Chip { name, family, cores, bandwidth, clock, f32_rate: rate, f16_rate: rate }
}

/// All chips of the table.
pub const CHIPS: &[Chip] = &[
    row("m1", "apple7", 8, 68.0, 1278.0),
    row("m1-pro", "apple7", 16, 200.0, 1296.0),
    row("m1-max", "apple7", 32, 400.0, 1296.0),
    row("m1-ultra", "apple7", 64, 800.0, 1296.0),
    row("m2", "apple8", 10, 100.0, 1398.0),
    row("m2-pro", "apple8", 19, 200.0, 1398.0),
    row("m2-max", "apple8", 38, 400.0, 1398.0),
    row("m2-ultra", "apple8", 76, 800.0, 1398.0),
    row("m3", "apple9", 10, 100.0, 1398.0),
    row("m3-pro", "apple9", 18, 150.0, 1398.0),
    row("m3-max", "apple9", 40, 400.0, 1398.0),
    row("m3-ultra", "apple9", 80, 819.0, 1398.0),
    row("m4", "apple9", 10, 120.0, 1470.0),
    row("m4-pro", "apple9", 20, 273.0, 1470.0),
    row("m4-max", "apple9", 40, 546.0, 1470.0),
    row("m5", "apple10", 10, 153.0, 1740.0),
];

/// A chip by name.
pub fn chip(name: &str) -> Result<&'static Chip> {
    let wanted = name.to_ascii_lowercase().replace([' ', '_'], "-");
    CHIPS.iter().find(|c| c.name == wanted).ok_or_else(|| {
        let known = CHIPS.iter().map(|c| c.name).collect::<Vec<_>>().join(", ");
        Error::Invalid(format!("unknown chip `{name}`; known: {known}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_unknown_ones_listed() {
        assert_eq!(chip("M2 Max").unwrap().bandwidth, 400.0);
        assert_eq!(chip("m1").unwrap().f32_rate.round(), 2617.0);
        assert!(chip("m99").unwrap_err().to_string().contains("m1-ultra"));
    }
}

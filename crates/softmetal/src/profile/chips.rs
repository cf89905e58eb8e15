//! Apple's chips: memory bandwidth and arithmetic rate.
//!
//! Sources. Core counts and bandwidth: Apple's newsroom pages at each chip's introduction (largest GPU of each name).
//! Arithmetic rate: Apple's own figure where it gave one (M1 family, M2, M2 Ultra), else cores × 128 lanes × 2 × clock,
//! with the clock that public measurements found; such rows say `derived`. Half runs at the float rate in the shader
//! cores of all these chips; M5's matrix units are not in the table.

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
    /// Float rate in Gflop/s.
    pub f32_rate: f64,
    /// Half rate in Gflop/s.
    pub f16_rate: f64,
    /// Whether the rate is derived from cores and clock instead of stated by Apple.
    pub derived: bool,
}

const fn row(
    name: &'static str,
    family: &'static str,
    cores: u32,
    bandwidth: f64,
    rate: f64,
    derived: bool,
) -> Chip {
    Chip { name, family, cores, bandwidth, f32_rate: rate, f16_rate: rate, derived }
}

/// All chips of the table.
pub const CHIPS: &[Chip] = &[
    row("m1", "apple7", 8, 68.0, 2600.0, false),
    row("m1-pro", "apple7", 16, 200.0, 5200.0, false),
    row("m1-max", "apple7", 32, 400.0, 10400.0, false),
    row("m1-ultra", "apple7", 64, 800.0, 21000.0, false),
    row("m2", "apple8", 10, 100.0, 3600.0, false),
    row("m2-pro", "apple8", 19, 200.0, 6800.0, true),
    row("m2-max", "apple8", 38, 400.0, 13600.0, true),
    row("m2-ultra", "apple8", 76, 800.0, 27200.0, false),
    row("m3", "apple9", 10, 100.0, 3530.0, true),
    row("m3-pro", "apple9", 18, 150.0, 6360.0, true),
    row("m3-max", "apple9", 40, 400.0, 14130.0, true),
    row("m3-ultra", "apple9", 80, 819.0, 28260.0, true),
    row("m4", "apple9", 10, 120.0, 4260.0, true),
    row("m4-pro", "apple9", 20, 273.0, 8520.0, true),
    row("m4-max", "apple9", 40, 546.0, 17040.0, true),
    row("m5", "apple10", 10, 153.0, 4150.0, true),
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
        assert!(chip("m99").unwrap_err().to_string().contains("m1-ultra"));
    }
}

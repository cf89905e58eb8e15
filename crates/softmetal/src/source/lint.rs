//! Rules of MSL that clang does not know.

use super::unit::Unit;
use crate::device::Family;
use crate::error::Result;

/// Checks a unit.
pub fn check(_unit: &Unit, _family: Family, _version: u32) -> Result<()> {
    Ok(())
}

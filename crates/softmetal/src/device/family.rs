//! GPU families that the device can emulate, and their limits.

use crate::error::{Error, Result};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A GPU family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Intel Macs: no simdgroup matrices, no bfloat.
    Mac2,
    /// M1.
    #[default]
    Apple7,
    /// M2.
    Apple8,
    /// M3 and M4.
    Apple9,
    /// M5.
    Apple10,
}

impl Family {
    /// Whether `simdgroup_matrix` exists.
    pub fn has_simdgroup_matrix(self) -> bool {
        self >= Family::Apple7
    }

    /// Whether `bfloat` exists.
    pub fn has_bfloat(self) -> bool {
        self >= Family::Apple7
    }

    /// Whether the GPU is Apple's own: no Intel Mac has imageblocks or sparse textures.
    pub fn is_apple(self) -> bool {
        self >= Family::Apple7
    }

    /// Whether 64-bit atomic minimum and maximum exist.
    pub fn has_atomic64(self) -> bool {
        self >= Family::Apple8
    }
}

impl FromStr for Family {
    type Err = Error;

    fn from_str(s: &str) -> Result<Family> {
        match s {
            "mac2" => Ok(Family::Mac2),
            "apple7" => Ok(Family::Apple7),
            "apple8" => Ok(Family::Apple8),
            "apple9" => Ok(Family::Apple9),
            "apple10" => Ok(Family::Apple10),
            _ => Err(Error::Invalid(format!(
                "unknown GPU family `{s}`; known: mac2, apple7, apple8, apple9, apple10"
            ))),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Mac2 => "mac2",
            Family::Apple7 => "apple7",
            Family::Apple8 => "apple8",
            Family::Apple9 => "apple9",
            Family::Apple10 => "apple10",
        })
    }
}

/// Limits of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Lanes per simdgroup.
    pub simd_width: u32,
    /// Threads per threadgroup, in each dimension and in all.
    pub max_threads_per_threadgroup: u32,
    /// Bytes of threadgroup memory.
    pub max_threadgroup_memory: u32,
    /// Bytes of one buffer.
    pub max_buffer_length: u64,
    /// Bytes of one inline constant.
    pub max_inline_bytes: u32,
}

impl Limits {
    /// Limits of a family; `simd_width` is 32, or 64 on `mac2` when asked for.
    pub fn of(family: Family, simd_width: Option<u32>) -> Result<Limits> {
        let simd_width = match (family, simd_width) {
            (_, None | Some(32)) => 32,
            (Family::Mac2, Some(64)) => 64,
            (_, Some(w)) => {
                return Err(Error::Invalid(format!("family {family} has no simdgroups of {w} lanes")));
            }
        };
        Ok(Limits {
            simd_width,
            max_threads_per_threadgroup: 1024,
            max_threadgroup_memory: 32 << 10,
            max_buffer_length: 64 << 30,
            max_inline_bytes: 4096,
        })
    }
}

//! Faults in the data, as recorded by devices while steps run.
//!
//! Every device reports the lowest faulting step, whichever thread found it first: kernels keep the minimum of
//! [`word`]s, and [`Plan::fault`] decodes it into the error.

use crate::{Plan, Step};
use wootz_ir::{DType, Error, Fault, Result};

/// The fault word of a run without faults.
pub const NO_FAULT: u32 = u32::MAX;

/// The fault word that a step records: smaller for earlier steps.
pub fn word(step: usize, fault: Fault) -> u32 {
    (step as u32) << 4 | fault as u32
}

impl Plan {
    /// The error for the smallest fault word of a run, if any.
    pub fn fault(&self, word: u32, device: &str) -> Result<()> {
        if word == NO_FAULT {
            return Ok(());
        }
        let step = &self.steps[((word >> 4) as usize).min(self.steps.len() - 1)];
        Err(match Fault::from_code(word & 15) {
            Some(fault) => Error::Fault {
                op: step.label.clone(),
                fault,
                shape: step.shape.clone(),
                dtype: step.dtype,
                device: device.into(),
            },
            None => Error::device(device, format!("{}: invalid fault word {word:#x}", step.label)),
        })
    }
}

impl Step {
    /// The error of a device that cannot run the step for a dtype.
    pub fn refused(&self, dtype: DType, device: impl Into<String>, reason: impl Into<String>) -> Error {
        Error::Unsupported { op: self.label.clone(), dtype, device: device.into(), reason: reason.into() }
    }
}

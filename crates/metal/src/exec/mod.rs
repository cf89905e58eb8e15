//! From a step to launches: one file per kernel family, named like its `.metal` file.

mod attention;
mod map;
mod matmul;
mod quant_matmul;
mod wkv7;

use crate::codegen::Parts;
use crate::driver::{Constant, Facts};
use wootz_ir::{Error, Result};
use wootz_plan::{Kernel, Plan, Step};

/// One launch of a kernel for a step.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The family's source, from `kernels/`.
    pub family: &'static str,
    /// The kernel's name in it.
    pub kernel: &'static str,
    /// Macros put behind the prelude: name and value.
    pub defines: Vec<(&'static str, String)>,
    /// Function constants by index.
    pub constants: Vec<(u32, Constant)>,
    /// Which generated code the kernel uses.
    pub parts: Parts,
    /// `args.dims`; what they mean is at the head of the family's file.
    pub dims: Vec<u64>,
    /// Threadgroups.
    pub groups: [u32; 3],
    /// Threads of each. The kernel's `max_total_threads_per_threadgroup` allows them.
    pub threads: [u32; 3],
    /// Bytes of threadgroup memory at index 0.
    pub threadgroup_memory: u32,
    /// Whether the launch reads what an earlier one of the same step wrote.
    pub barrier: bool,
}

/// The launches of a step, and the memory that they pass on to each other.
#[derive(Clone, Debug, Default)]
pub struct Launches {
    /// In order.
    pub list: Vec<Launch>,
    /// Bytes of scratch beyond the plan's own.
    pub scratch: usize,
}

impl Launch {
    /// A launch of the whole step with neither macros nor constants.
    pub fn new(family: &'static str, kernel: &'static str) -> Launch {
        Launch {
            family,
            kernel,
            defines: vec![],
            constants: vec![],
            parts: Parts::WHOLE,
            dims: vec![],
            groups: [1; 3],
            threads: [1; 3],
            threadgroup_memory: 0,
            barrier: false,
        }
    }

    /// With a macro.
    #[must_use]
    pub fn define(mut self, name: &'static str, value: impl ToString) -> Launch {
        self.defines.push((name, value.to_string()));
        self
    }

    /// Groups of `threads` that cover `points`, one each, but no more groups than `most`.
    #[must_use]
    pub fn over(mut self, points: usize, threads: u32, most: u32) -> Launch {
        let groups = points.div_ceil(threads as usize).clamp(1, most as usize);
        self.groups = [groups as u32, 1, 1];
        self.threads = [threads, 1, 1];
        self
    }

    /// Alone in its step.
    pub fn alone(self) -> Launches {
        Launches { list: vec![self], scratch: 0 }
    }
}

/// The launches of a step; none where there is nothing to compute.
pub fn launches(plan: &Plan, step: &Step, facts: &Facts) -> Result<Launches> {
    let _ = plan;
    match &step.kernel {
        Kernel::Map => Ok(map::launches(step)),
        Kernel::Matmul { .. } => matmul::launches(step, facts),
        Kernel::Attention(_) => attention::launches(step, facts),
        Kernel::QuantMatmul { .. } => quant_matmul::launches(step, facts),
        Kernel::Wkv7 => wkv7::launches(step, facts),
        Kernel::Reduce { .. }
        | Kernel::ArgReduce(_)
        | Kernel::Scan(_)
        | Kernel::Sort { .. }
        | Kernel::ArgSort { .. }
        | Kernel::Softmax { .. }
        | Kernel::RmsNorm { .. }
        | Kernel::LayerNorm { .. }
        | Kernel::Rope(_)
        | Kernel::Gather { .. }
        | Kernel::Scatter { .. }
        | Kernel::WriteAt { .. }
        | Kernel::QuantGather { .. } => {
            refuse(step, facts, "the Metal backend has no kernel for it yet; use the cpu")
        }
    }
}

/// The error of a step that cannot run.
pub fn refuse<T>(step: &Step, facts: &Facts, reason: &str) -> Result<T> {
    Err(Error::Unsupported {
        op: step.label.clone(),
        dtype: step.dtype,
        device: format!("metal ({})", facts.family),
        reason: reason.into(),
    })
}

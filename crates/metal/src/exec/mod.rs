//! From steps to dispatches: one file per kernel family, named like its `.metal` file.

mod arg_reduce;
mod attention;
mod custom;
mod expert_matmul;
mod index;
mod map;
mod matmul;
mod norm;
mod quant_matmul;
mod reduce;
mod rope;
mod rows;
mod scan;
mod search_sorted;
mod softmax;
mod sort;
mod wkv7;

use crate::codegen::Parts;
use crate::driver::{Constant, ConstantKey, Facts, Grid};
use crate::source::Texts;
use std::sync::Arc;
use wootz_gpu::problem::MatmulProblem;
use wootz_ir::{BlockFormat, CustomKernel, Result};
use wootz_plan::{Kernel, Step};

/// One launch of a kernel for a step.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The family's source, from `kernels/`.
    pub texts: Texts,
    /// The kernel's name in it.
    pub kernel: &'static str,
    /// Macros put behind the prelude: name and value.
    pub defines: Vec<(&'static str, String)>,
    /// Function constants.
    pub constants: Vec<(ConstantKey, Constant)>,
    /// Which generated code the kernel uses.
    pub parts: Parts,
    /// `args.dims`; what they mean is at the head of the family's file.
    pub dims: Vec<u64>,
    /// Threadgroups.
    pub groups: [u32; 3],
    /// Threads of each. The kernel's `max_total_threads_per_threadgroup` allows them.
    pub threads: [u32; 3],
    /// A user's own source instead of a family's; `groups` then are threads in all.
    pub custom: Option<Arc<CustomKernel>>,
}

/// The launches of a step, and the memory that they hand on to each other.
pub type Launches = wootz_gpu::Launches<Launch>;

impl Launch {
    /// A launch of the whole step with neither macros nor constants.
    pub fn new(texts: Texts, kernel: &'static str) -> Launch {
        Launch {
            texts,
            kernel,
            defines: vec![],
            constants: vec![],
            parts: Parts::WHOLE,
            dims: vec![],
            groups: [1; 3],
            threads: [1; 3],
            custom: None,
        }
    }

    /// With a macro.
    #[must_use]
    pub fn define(mut self, name: &'static str, value: impl ToString) -> Launch {
        self.defines.push((name, value.to_string()));
        self
    }

    /// The block format that a kernel of `blocks.metal` reads, and the points of its grid if it has one.
    #[must_use]
    pub fn format(self, format: BlockFormat) -> Launch {
        let launch = self.define("FORMAT", format.name());
        let Some(grid) = format.grid() else { return launch };
        let points: Vec<String> = grid.points.iter().map(u16::to_string).collect();
        launch.define("GRID", points.join(","))
    }

    /// Groups of `threads` that cover `points`, one each, but no more groups than `most`.
    #[must_use]
    pub fn over(mut self, points: usize, threads: u32, most: u32) -> Launch {
        let groups = points.div_ceil(threads as usize).clamp(1, most as usize);
        self.groups = [groups as u32, 1, 1];
        self.threads = [threads, 1, 1];
        self
    }

    /// The size of the launch.
    pub fn grid(&self) -> Grid {
        match self.custom {
            Some(_) => Grid::Threads(self.groups),
            None => Grid::Groups(self.groups),
        }
    }

    /// Alone in its step.
    pub fn alone(self) -> Launches {
        self.into()
    }
}

/// The launches of a step; none where there is nothing to compute.
pub fn launches(step: &Step, facts: &Facts) -> Result<Launches> {
    match &step.kernel {
        Kernel::Map => Ok(map::launches(step)),
        Kernel::Reduce { op, inner } => reduce::launches(step, facts, *op, *inner),
        Kernel::ArgReduce(op) => arg_reduce::launches(step, facts, *op),
        Kernel::Scan(op) => scan::launches(step, facts, *op),
        Kernel::Sort { descending, limit } => {
            let order = sort::Order { descending: *descending, limit: *limit, positions: false };
            sort::launches(step, facts, order)
        }
        Kernel::ArgSort { descending, limit } => {
            let order = sort::Order { descending: *descending, limit: *limit, positions: true };
            sort::launches(step, facts, order)
        }
        Kernel::Softmax { log } => softmax::launches(step, facts, *log),
        Kernel::RmsNorm { eps } => norm::launches(step, facts, *eps, false),
        Kernel::LayerNorm { eps } => norm::launches(step, facts, *eps, true),
        Kernel::Rope(style) => Ok(rope::launches(step, *style)),
        Kernel::SearchSorted { right } => Ok(search_sorted::launches(step, *right)),
        Kernel::Gather { axis } => Ok(index::gather(step, *axis)),
        Kernel::Scatter { axis, mode } => index::scatter(step, facts, *axis, *mode),
        Kernel::WriteAt { axis } => Ok(index::write_at(step, *axis)),
        Kernel::QuantGather { format } => index::quant_gather(step, facts, *format),
        Kernel::Custom(kernel) => custom::launches(step, facts, kernel),
        Kernel::Matmul { batch, m, n, k } => {
            matmul::launches(step, facts, MatmulProblem { batch: *batch, m: *m, n: *n, k: *k })
        }
        Kernel::Attention(spec) => attention::launches(step, facts, *spec),
        Kernel::QuantMatmul { format, .. } => quant_matmul::launches(step, facts, *format),
        Kernel::ExpertMatmul { format, .. } => expert_matmul::launches(step, facts, *format),
        Kernel::Wkv7 => wkv7::launches(step, facts),
    }
}

/// The error of a step that cannot run.
pub fn refuse<T>(step: &Step, facts: &Facts, reason: &str) -> Result<T> {
    Err(step.refused(step.dtype, format!("metal ({})", facts.family), reason))
}

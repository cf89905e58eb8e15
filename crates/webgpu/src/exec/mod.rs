//! From steps to launches: the choice of a variant per kernel family, and its sizes.

mod arg_reduce;
mod attention;
mod broadcast;
mod custom;
mod expert_matmul;
mod index;
mod map;
mod matmul;
mod norm;
mod quant_broadcast;
mod quant_matmul;
mod reduce;
mod rope;
mod scan;
mod search_sorted;
mod softmax;
mod sort;
mod wkv7;

use crate::NAME;
use crate::codegen::{Launch, Shader, Task};
use wootz_gpu::problem::MatmulProblem;
use wootz_ir::Result;
use wootz_plan::Kernel;

/// Invocations of most workgroups.
pub(crate) const WG: usize = 64;

/// The launches of a step, and the memory that they hand on to each other.
pub(crate) type Launches = wootz_gpu::Launches<Launch>;

/// The launches of a step; none where there is nothing to compute.
pub(crate) fn launches(task: &Task<'_>) -> Result<Launches> {
    check(task)?;
    let launches = match &task.step.kernel {
        Kernel::Map => map::launches(task),
        Kernel::Reduce { op, inner } => reduce::launches(task, *op, *inner),
        Kernel::ArgReduce(op) => arg_reduce::launches(task, *op),
        Kernel::Scan(op) => scan::launches(task, *op),
        Kernel::Sort { descending, limit } => sort::launches(task, *descending, *limit, false),
        Kernel::ArgSort { descending, limit } => sort::launches(task, *descending, *limit, true),
        Kernel::Softmax { log } => softmax::launches(task, *log),
        Kernel::RmsNorm { eps } => norm::launches(task, norm::RMS, eps.get()),
        Kernel::LayerNorm { eps } => norm::launches(task, norm::LAYER, eps.get()),
        Kernel::Rope(style) => rope::launches(task, *style),
        Kernel::Matmul { batch, m, n, k } => {
            matmul::launches(task, MatmulProblem { batch: *batch, m: *m, n: *n, k: *k })
        }
        Kernel::Attention(spec) => attention::launches(task, spec),
        Kernel::SearchSorted { right } => search_sorted::launches(task, *right),
        Kernel::Gather { axis } => index::gather(task, *axis as usize),
        Kernel::Scatter { axis, mode } => index::scatter(task, *axis as usize, *mode),
        Kernel::WriteAt { axis } => index::write_at(task, *axis as usize),
        Kernel::QuantMatmul { format, .. } => quant_matmul::matmul(task, *format),
        Kernel::QuantGather { format } => quant_matmul::gather(task, *format),
        Kernel::ExpertMatmul { format, .. } => expert_matmul::launches(task, *format)?,
        Kernel::Wkv7 => wkv7::launches(task),
        Kernel::Custom(kernel) => custom::launches(task, kernel)?,
    };
    for launch in &launches.list {
        if launch.bindings.len() > task.facts.max_bindings {
            let (needed, limit) = (launch.bindings.len(), task.facts.max_bindings);
            let reason = format!("the step needs {needed} storage bindings, the adapter has {limit}");
            return Err(task.step.refused(task.step.dtype, NAME, reason));
        }
    }
    Ok(launches)
}

/// Positions are 32-bit: what does not fit is refused, not wrapped.
fn check(task: &Task<'_>) -> Result<()> {
    let step = task.step;
    let limit = u32::MAX as usize;
    let reach = |layout: &wootz_ir::Layout| layout.reach().map_or(0, |(_, high)| high);
    let inputs = step.inputs.iter().chain([&step.epilogue]);
    let reached = inputs
        .flat_map(|f| f.loads.iter().map(|l| reach(&l.layout)).chain([f.shape.count()]))
        .chain(step.stores.iter().map(|s| reach(&s.layout)))
        .chain(step.input_shapes.iter().map(|s| s.count()))
        .chain([step.shape.count()])
        .max()
        .unwrap_or(0);
    if reached >= limit {
        let reason = format!("positions up to {reached} do not fit in 32 bits; split the tensor");
        return Err(step.refused(step.dtype, NAME, reason));
    }
    let quantised = match step.kernel {
        Kernel::QuantMatmul { .. } | Kernel::ExpertMatmul { .. } => Some(1),
        Kernel::QuantGather { .. } => Some(0),
        _ => None,
    };
    if let Some(layout) = quantised.map(|slot| &step.inputs[slot].loads[0].layout)
        && layout.shape.last() > Some(&1)
        && layout.strides.last() != Some(&1)
    {
        let reason = "the bytes of a quantised row are not contiguous; copy it";
        return Err(step.refused(step.dtype, NAME, reason));
    }
    Ok(())
}

/// Workgroups for kernels that walk over `count` points, a run of them in each. A CPU likes fewer and longer runs.
pub(crate) fn spread(code: &mut Shader<'_>, count: usize) -> usize {
    let wg = code.facts.row_group();
    let per_invocation = if code.facts.cpu { 64 } else { 8 };
    let run = (wg * per_invocation).max(count.div_ceil(1 << 16).next_multiple_of(wg));
    code.arg("points", count);
    code.arg("run", run);
    code.constant("WG", wg);
    count.div_ceil(run).max(1)
}

/// How a kernel keeps a row of whole quads in registers: invocations of a workgroup, and quads for each; `None` for other
/// rows and for longer ones.
fn kept(width: usize) -> Option<(usize, usize)> {
    const MOST: usize = 8;
    let quads = width / 4;
    let wg = if quads <= 4 * WG { WG } else { 4 * WG };
    let keep = quads.div_ceil(wg).next_power_of_two();
    (width.is_multiple_of(4) && width > 0 && keep <= MOST).then_some((wg, keep))
}

//! From steps to launches: per kernel family the choice of a variant, and the sizes it runs at.

mod arg_reduce;
mod attention;
mod broadcast;
mod custom;
mod index;
mod map;
mod matmul;
mod norm;
mod quant;
mod quant_broadcast;
mod reduce;
mod rope;
mod scan;
mod softmax;
mod sort;
mod wkv7;

use crate::codegen::{Code, Dispatch, Target, Task};
use wootz_ir::{DType, Error, Result, ScalarType};
use wootz_plan::{Kernel, Plan, Step};

/// Invocations of most workgroups.
pub(crate) const WG: usize = 64;

/// The launches that run a step.
pub(crate) fn lower(task: &Task<'_>) -> Result<Vec<Dispatch>> {
    check(task)?;
    let dispatches = match &task.step.kernel {
        Kernel::Map => map::lower(task),
        Kernel::Reduce { op, inner } => reduce::lower(task, *op, *inner),
        Kernel::ArgReduce(op) => arg_reduce::lower(task, *op),
        Kernel::Scan(op) => scan::lower(task, *op),
        Kernel::Sort { descending, limit } => sort::lower(task, *descending, *limit, false),
        Kernel::ArgSort { descending, limit } => sort::lower(task, *descending, *limit, true),
        Kernel::Softmax { log } => softmax::lower(task, *log),
        Kernel::RmsNorm { eps } => norm::lower(task, norm::RMS, eps.get()),
        Kernel::LayerNorm { eps } => norm::lower(task, norm::LAYER, eps.get()),
        Kernel::Rope(style) => rope::lower(task, *style),
        Kernel::Matmul { batch, m, n, k } => {
            matmul::lower(task, matmul::Problem { batch: *batch, m: *m, n: *n, k: *k })
        }
        Kernel::Attention(spec) => attention::lower(task, spec),
        Kernel::Gather { axis } => index::gather(task, *axis as usize),
        Kernel::Scatter { axis, mode } => index::scatter(task, *axis as usize, *mode),
        Kernel::WriteAt { axis } => index::write_at(task, *axis as usize),
        Kernel::QuantMatmul { format, .. } => quant::matmul(task, *format),
        Kernel::QuantGather { format } => quant::gather(task, *format),
        Kernel::Wkv7 => wkv7::lower(task),
        Kernel::Custom(kernel) => custom::lower(task, kernel)?,
    };
    for dispatch in &dispatches {
        if dispatch.bindings.len() > task.target.max_bindings {
            let (needed, limit) = (dispatch.bindings.len(), task.target.max_bindings);
            let reason = format!("the step needs {needed} storage bindings, the adapter has {limit}");
            return Err(unsupported(task.step, reason));
        }
    }
    Ok(dispatches)
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
        let reason = format!("positions up to {reached} do not fit 32 bits; split the tensor");
        return Err(unsupported(step, reason));
    }
    let quantised = match step.kernel {
        Kernel::QuantMatmul { .. } => Some(1),
        Kernel::QuantGather { .. } => Some(0),
        _ => None,
    };
    if let Some(layout) = quantised.map(|slot| &step.inputs[slot].loads[0].layout)
        && layout.shape[1] > 1
        && layout.strides[1] != 1
    {
        return Err(unsupported(
            step,
            "the bytes of a quantised row do not follow one another; copy it".into(),
        ));
    }
    Ok(())
}

fn unsupported(step: &Step, reason: String) -> Error {
    Error::Unsupported { op: step.label.clone(), dtype: step.dtype, device: crate::NAME.into(), reason }
}

/// Bytes of working memory that a step's launches share.
pub(crate) fn temp_bytes(step: &Step, _target: &Target) -> usize {
    match &step.kernel {
        Kernel::Reduce { inner, .. } => reduce::temp_bytes(step, *inner),
        Kernel::Sort { .. } | Kernel::ArgSort { .. } => sort::temp_bytes(step),
        Kernel::Attention(_) => attention::temp_bytes(step),
        Kernel::Map
        | Kernel::ArgReduce(_)
        | Kernel::Scan(_)
        | Kernel::Softmax { .. }
        | Kernel::RmsNorm { .. }
        | Kernel::LayerNorm { .. }
        | Kernel::Rope(_)
        | Kernel::Matmul { .. }
        | Kernel::Gather { .. }
        | Kernel::Scatter { .. }
        | Kernel::WriteAt { .. }
        | Kernel::QuantMatmul { .. }
        | Kernel::QuantGather { .. }
        | Kernel::Wkv7
        | Kernel::Custom(_) => 0,
    }
}

/// The dtypes that a plan touches and the device lacks.
pub(crate) fn refused(plan: &Plan) -> Option<(&Step, DType)> {
    let is_f64 = |t: ScalarType| t == ScalarType::F64;
    plan.steps.iter().find_map(|step| {
        let fused = step.inputs.iter().chain([&step.epilogue]);
        let in_code = fused.flat_map(|f| f.program.instrs.iter()).any(|i| is_f64(i.result()));
        let in_memory = step.stores.iter().any(|s| s.dtype == DType::F64) || step.dtype == DType::F64;
        (in_code || in_memory).then_some((step, DType::F64))
    })
}

/// Workgroups for kernels that walk over `count` points, a run of them in each. A CPU likes fewer and longer runs.
pub(crate) fn spread(code: &mut Code<'_>, count: usize) -> usize {
    let wg = code.target.row_group();
    let per_invocation = if code.target.cpu { 64 } else { 8 };
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

/// Rows of a kernel that works along the last axis of its first input: how many, and how long.
fn rows(step: &Step) -> (usize, usize) {
    let shape = &step.input_shapes[0];
    let width = shape.last().copied().unwrap_or(1);
    (shape.count().checked_div(width).unwrap_or(0), width)
}

/// A value of a compute type as words of working memory: how many, how they are put and got.
fn words_of(t: ScalarType) -> usize {
    if matches!(t, ScalarType::I64 | ScalarType::U64) { 2 } else { 1 }
}

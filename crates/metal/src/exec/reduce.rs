//! Reductions over any axes; long ones in two passes.

use super::{Launch, Launches, rows};
use crate::codegen::{Msl, Parts};
use crate::driver::Facts;
use crate::source::kernels;
use wootz_gpu::Language;
use wootz_gpu::problem::Split;
use wootz_ir::op::ReduceOp;
use wootz_ir::{Result, ScalarType};
use wootz_plan::{Fused, Step};

/// Rows shorter than this are walked by one thread.
const SHORT: usize = 64;
/// Threads that keep a GPU busy; below, rows are split into parts.
const BUSY: usize = 1 << 14;
/// Minimum length of a part.
const LEAST_PART: usize = 1024;

/// How the inner points of each outer one are shared out, to threads or to groups of 256.
fn split(outer: usize, inner: usize, threads: bool) -> Split {
    let workers = if threads { outer } else { outer.saturating_mul(256) };
    let least = if threads { SHORT } else { LEAST_PART * 4 };
    let wanted = if workers < BUSY { BUSY / workers.max(1) } else { 1 };
    // Whole groups of four, so that vector accesses stay inside a part.
    Split::new(inner, wanted, least, 4)
}

/// The macro of an op, and its neutral value in a type.
pub fn combination(op: ReduceOp, t: ScalarType) -> (&'static str, String) {
    let combine = match op {
        ReduceOp::Sum => "Sum",
        ReduceOp::Prod => "Product",
        ReduceOp::Any | ReduceOp::Max => "Largest",
        ReduceOp::All | ReduceOp::Min => "Smallest",
    };
    (combine, Msl::literal(op.identity(t), t))
}

/// Whether outer points lie side by side in memory and inner ones do not.
fn by_columns(input: &Fused, inner: usize) -> bool {
    let rank = input.shape.rank();
    let split = input.axes_of(input.shape.count() / inner.max(1));
    split.is_some_and(|split| {
        input.loads.iter().any(|load| {
            let strides = &load.layout.strides;
            strides[split - 1].abs() == 1 && strides[rank - 1].abs() != 1
        })
    })
}

pub fn launches(step: &Step, facts: &Facts, op: ReduceOp, inner: usize) -> Result<Launches> {
    let outer = step.shape.count();
    if outer == 0 {
        return Ok(Launches::default());
    }
    let input = &step.inputs[0];
    let accumulator = input.program.result_type(0);
    // A thread per outer point and part, else a group.
    let threads = by_columns(input, inner) || inner < SHORT;
    let split = split(outer, inner, threads);
    let (combine, identity) = combination(op, accumulator);
    let dims = vec![outer as u64, inner as u64, split.parts as u64, split.length as u64];
    let partial = split.parts > 1;
    let kernel = if threads { "reduce_threads" } else { "reduce_groups" };
    let mut first = Launch::new(kernels!("lanes", "reduce"), kernel)
        .define("FIRST_PASS", 1)
        .define("COMBINE", combine)
        .define("IDENTITY", &identity);
    first.dims = dims.clone();
    let input_four = !threads && rows::input_by_four(input, inner);
    first.parts = Parts { inputs: true, epilogue: !partial, four: false, input_four, scratch: partial };
    if threads {
        first = first.over(outer, 256, u32::MAX / 256);
        first.groups[1] = split.parts as u32;
    } else {
        let group = rows::threads_for(split.length, 4, 256, facts);
        first.threads = [group, 1, 1];
        first.groups = [rows::groups(step, facts, outer, group)?, split.parts as u32, 1];
    }
    if !partial {
        return Ok(first.alone());
    }
    let mut second = Launch::new(kernels!("lanes", "reduce"), "reduce_parts")
        .define("ACCUMULATOR", Msl::name(accumulator))
        .define("COMBINE", combine)
        .define("IDENTITY", &identity)
        .over(outer, 256, u32::MAX / 256);
    second.dims = dims;
    second.parts = Parts { inputs: false, scratch: true, ..Parts::WHOLE };
    let scratch = outer * split.parts * accumulator.dtype().size();
    Ok(Launches { list: vec![first.define("PARTIAL", 1), second], scratch })
}

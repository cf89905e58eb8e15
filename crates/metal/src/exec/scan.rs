//! Cumulative sums and products along rows; a few long rows take two passes.

use super::reduce::combination;
use super::{Launch, Launches, rows};
use crate::codegen::Parts;
use crate::driver::Facts;
use crate::source::kernels;
use wootz_gpu::problem::{RowsProblem, Split};
use wootz_ir::Result;
use wootz_ir::op::ScanOp;
use wootz_plan::Step;

/// Rows shorter than this are walked by one thread.
const SHORT: usize = 64;
/// Groups that keep a GPU busy; where there are fewer rows, long ones are split into parts.
const BUSY: usize = 64;
/// Parts are about this long at least: a second reading of the row has to be worth it.
const LEAST_PART: usize = 4096;

pub fn launches(step: &Step, facts: &Facts, op: ScanOp) -> Result<Launches> {
    let RowsProblem { rows, width } = RowsProblem::of(&step.shape);
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let total = step.inputs[0].program.result_type(0);
    let (combine, identity) = combination(op.reduction(), total);
    // Whole tiles of 256 threads.
    let split = Split::new(width, BUSY.div_ceil(rows), LEAST_PART, 1024);
    let base = |kernel: &'static str| {
        let mut launch = Launch::new(kernels!("lanes", "scan"), kernel);
        launch.dims = [rows, width, split.parts, split.length].map(|n| n as u64).to_vec();
        // The neutral value is written In0(…), so that choices between it and a value have one type.
        launch.define("COMBINE", combine).define("IDENTITY", format!("In0({identity})"))
    };
    if width < SHORT {
        return Ok(base("scan_threads").over(rows, 256, u32::MAX / 256).alone());
    }
    let threads = rows::threads_for(width, 4, 256, facts);
    let groups = [rows::groups(step, facts, rows, threads)?, split.parts as u32, 1];
    let mut launch = base("scan_group");
    (launch.threads, launch.groups) = ([threads, 1, 1], groups);
    if split.parts == 1 {
        return Ok(launch.alone());
    }
    let mut totals = base("scan_totals").define("TOTALS", 1);
    (totals.threads, totals.groups) = (launch.threads, groups);
    totals.parts = Parts { epilogue: false, scratch: true, ..Parts::WHOLE };
    launch.parts = Parts { scratch: true, ..Parts::WHOLE };
    let scratch = rows * split.parts * total.dtype().size();
    Ok(Launches { list: vec![totals, launch.define("PARTIAL", 1)], scratch })
}

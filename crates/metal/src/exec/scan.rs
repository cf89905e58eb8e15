//! Running sums and products along rows.

use super::reduce::combination;
use super::{Launch, Launches, rows};
use crate::driver::Facts;
use wootz_ir::Result;
use wootz_ir::op::{ReduceOp, ScanOp};
use wootz_plan::Step;

/// Rows shorter than this are walked by one thread.
const SHORT: usize = 64;

pub fn launches(step: &Step, facts: &Facts, op: ScanOp) -> Result<Launches> {
    let width = step.shape.last().copied().unwrap_or(1);
    let rows = step.shape.count() / width.max(1);
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let op = match op {
        ScanOp::Sum => ReduceOp::Sum,
        ScanOp::Prod => ReduceOp::Prod,
    };
    let (combine, identity) = combination(op, step.inputs[0].program.result_type(0));
    let mut launch = if width < SHORT {
        Launch::new("scan", "scan_threads").over(rows, 256, u32::MAX / 256)
    } else {
        let threads = rows::threads_for(width, 4, 256, facts);
        let mut launch = Launch::new("scan", "scan_group");
        launch.threads = [threads, 1, 1];
        launch.groups = [rows::groups(step, facts, rows, threads)?, 1, 1];
        launch
    };
    launch.dims = vec![rows as u64, width as u64];
    // The neutral value is written In0(…), so that choices between it and a value have one type.
    Ok(launch.define("COMBINE", combine).define("IDENTITY", format!("In0({identity})")).alone())
}

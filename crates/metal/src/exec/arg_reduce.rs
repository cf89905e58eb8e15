//! Arg-reductions: the position of the minimum or maximum of each row.

use super::{Launch, Launches, rows};
use crate::driver::Facts;
use crate::source::kernels;
use wootz_ir::Result;
use wootz_ir::op::ArgOp;
use wootz_plan::Step;

/// Rows shorter than this are walked by one thread.
const SHORT: usize = 64;

pub fn launches(step: &Step, facts: &Facts, op: ArgOp) -> Result<Launches> {
    let rows = step.shape.count();
    let width = step.input_shapes[0].count().checked_div(rows).unwrap_or(0);
    if rows == 0 || width == 0 {
        return Ok(Launches::default());
    }
    let mut launch = if width < SHORT {
        Launch::new(kernels!("arg_reduce"), "arg_reduce_threads").over(rows, 256, u32::MAX / 256)
    } else {
        // The largest power of two that is at most the row's length.
        let threads = 1 << width.min(256).ilog2();
        let mut launch = Launch::new(kernels!("arg_reduce"), "arg_reduce_group");
        launch.threads = [threads, 1, 1];
        launch.groups = [rows::groups(step, facts, rows, threads)?, 1, 1];
        launch
    };
    launch.dims = vec![rows as u64, width as u64];
    Ok(if op == ArgOp::Min { launch.define("MINIMUM", 1) } else { launch }.alone())
}

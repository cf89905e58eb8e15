//! Running sums and products along rows; few long ones in two passes.

use super::reduce::combination;
use super::{Launch, Launches, rows};
use crate::codegen::Parts;
use crate::driver::Facts;
use wootz_gpu::problem::RowsProblem;
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
    let split = Split::new(rows, width);
    let base = |kernel: &'static str| {
        let mut launch = Launch::new("scan", kernel);
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

/// How rows are shared out to groups.
#[derive(Clone, Copy, Debug)]
struct Split {
    parts: usize,
    length: usize,
}

impl Split {
    fn new(rows: usize, width: usize) -> Split {
        let wanted = BUSY.div_ceil(rows.max(1));
        let parts = wanted.min(width / LEAST_PART).max(1);
        // Whole tiles of 256 threads.
        let length = width.div_ceil(parts).next_multiple_of(1024);
        Split { parts: width.div_ceil(length).max(1), length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_are_shared_out_and_many_are_not() {
        for (rows, width) in [(1, 1), (1, 8191), (1, 8192), (3, 100_001), (1, 1 << 24), (64, 1 << 20)] {
            let split = Split::new(rows, width);
            assert!(split.parts * split.length >= width, "{rows} {width} {split:?}");
            assert!((split.parts - 1) * split.length < width, "{rows} {width} {split:?}");
        }
        assert_eq!(Split::new(1, 8191).parts, 1);
        assert_eq!(Split::new(64, 1 << 20).parts, 1);
        assert_eq!(Split::new(1, 1 << 24).parts, 64);
    }
}

//! Running sums and products.

use super::reduce::monoid;
use super::{WG, rows};
use crate::codegen::{Code, Dispatch, Task};
use wootz_ir::op::{ReduceOp, ScanOp};

/// Rows up to this length are run over by one invocation.
const SHORT: usize = 64;

pub fn lower(task: &Task<'_>, op: ScanOp) -> Vec<Dispatch> {
    let (count, width) = rows(task.step);
    if count * width == 0 {
        return vec![];
    }
    let mut code = Code::new(task, None);
    let t = code.input(0);
    code.alias("T", t);
    let op = match op {
        ScanOp::Sum => ReduceOp::Sum,
        ScanOp::Prod => ReduceOp::Prod,
    };
    monoid(&mut code, op, t);
    code.constant("WG", WG);
    code.arg("width", width);
    code.finish(t);
    if width <= SHORT || count >= 64 * WG {
        code.arg("rows_count", count);
        return vec![code.dispatch("scan_serial", count.div_ceil(WG))];
    }
    vec![code.dispatch("scan_pieces", count)]
}

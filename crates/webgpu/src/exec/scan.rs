//! Cumulative sums and products.

use super::Launches;
use super::WG;
use super::reduce::monoid;
use crate::codegen::{Shader, Task};
use wootz_gpu::problem::RowsProblem;
use wootz_ir::op::ScanOp;

/// Rows up to this length are run over by one invocation.
const SHORT: usize = 64;

pub fn launches(task: &Task<'_>, op: ScanOp) -> Launches {
    let RowsProblem { rows, width } = RowsProblem::of(&task.step.input_shapes[0]);
    if rows * width == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    let t = code.input(0);
    code.alias("T", t);
    monoid(&mut code, op.reduction(), t);
    code.constant("WG", WG);
    code.arg("width", width);
    code.finish(Some(t));
    if width <= SHORT || rows >= 64 * WG {
        code.arg("rows_count", rows);
        return code.launch("scan_serial", rows.div_ceil(WG)).into();
    }
    code.launch("scan_pieces", rows).into()
}

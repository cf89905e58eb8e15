//! Softmax along rows.

use super::{Launches, WG, kept};
use crate::codegen::{Shader, Task};
use wootz_gpu::problem::RowsProblem;

pub fn launches(task: &Task<'_>, log: bool) -> Launches {
    let RowsProblem { rows, width } = RowsProblem::of(&task.step.input_shapes[0]);
    if rows * width == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    let t = code.input(0);
    code.constant("LOG", usize::from(log));
    code.arg("width", width);
    let Some((wg, keep)) = kept(width) else {
        code.finish(Some(t));
        code.constant("WG", WG);
        code.by_subgroups(WG, None);
        return code.launch("softmax_rows", rows).into();
    };
    code.input_4(0);
    code.finish_4(Some(t));
    code.constant("WG", wg);
    code.constant("KEEP", keep);
    code.by_subgroups(wg, None);
    code.launch("softmax_kept", rows).into()
}

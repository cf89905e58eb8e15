//! Rotary embedding.

use super::Launches;
use super::WG;
use crate::codegen::{Shader, Task};
use wootz_gpu::problem::RowsProblem;
use wootz_ir::op::RopeStyle;

pub fn launches(task: &Task<'_>, style: RopeStyle) -> Launches {
    let problem = RowsProblem::of(&task.step.input_shapes[0]);
    let points = problem.count();
    if points == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    let t = code.input(0);
    code.input(1);
    code.input(2);
    code.finish(Some(t));
    code.constant("WG", WG);
    code.constant("INTERLEAVED", usize::from(style == RopeStyle::Interleaved));
    code.arg("points", points);
    code.arg("width", problem.width);
    code.arg("half", task.step.input_shapes[2].count());
    code.launch("rope_points", points.div_ceil(WG)).into()
}

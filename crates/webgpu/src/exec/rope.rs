//! Rotary embedding.

use super::{WG, rows};
use crate::codegen::{Code, Dispatch, Task};
use wootz_ir::op::RopeStyle;

pub fn lower(task: &Task<'_>, style: RopeStyle) -> Vec<Dispatch> {
    let (count, width) = rows(task.step);
    let points = count * width;
    if points == 0 {
        return vec![];
    }
    let mut code = Code::new(task, None);
    let t = code.input(0);
    code.input(1);
    code.input(2);
    code.finish(t);
    code.constant("WG", WG);
    code.constant("INTERLEAVED", usize::from(style == RopeStyle::Interleaved));
    code.arg("points", points);
    code.arg("width", width);
    code.arg("half", task.step.input_shapes[2].count());
    vec![code.dispatch("rope_points", points.div_ceil(WG))]
}

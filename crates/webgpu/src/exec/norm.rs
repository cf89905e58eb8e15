//! Norms of rows.

use super::{WG, rows};
use crate::codegen::{Code, Dispatch, Task};

pub fn lower(task: &Task<'_>, entry: &'static str, eps: f64) -> Vec<Dispatch> {
    let (count, width) = rows(task.step);
    if count * width == 0 {
        return vec![];
    }
    let mut code = Code::new(task, None);
    let t = code.input(0);
    let value = match task.step.inputs.len() {
        1 => "x",
        2 => "x * in1(k)",
        _ => "x * in1(k) + in2(k)",
    };
    for slot in 1..task.step.inputs.len() {
        code.input(slot);
    }
    code.push(&format!("fn weighted(k: u32, x: f32) -> f32 {{\n    return {value};\n}}\n"));
    code.finish(t);
    code.constant("WG", WG);
    code.arg("width", width);
    code.arg_f32("eps", eps);
    vec![code.dispatch(entry, count)]
}

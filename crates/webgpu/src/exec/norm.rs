//! Norms of rows.

use super::{Launches, WG, kept};
use crate::codegen::{Shader, Task};
use wootz_gpu::problem::RowsProblem;

/// Entry points of a norm: for rows of any length, and for those that stay in registers.
pub type Entries = (&'static str, &'static str);
pub const RMS: Entries = ("rms_norm_rows", "rms_norm_kept");
pub const LAYER: Entries = ("layer_norm_rows", "layer_norm_kept");

pub fn launches(task: &Task<'_>, (in_rows, in_registers): Entries, eps: f64) -> Launches {
    let RowsProblem { rows, width } = RowsProblem::of(&task.step.input_shapes[0]);
    if rows * width == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    let t = code.input(0);
    for slot in 1..task.step.inputs.len() {
        code.input(slot);
    }
    code.arg("width", width);
    code.arg_f32("eps", eps);
    let Some((wg, keep)) = kept(width) else {
        weighted(&mut code, "weighted", "f32", "");
        code.finish(Some(t));
        code.constant("WG", WG);
        code.by_subgroups(WG, None);
        return code.launch(in_rows, rows).into();
    };
    for slot in 0..task.step.inputs.len() {
        code.input_4(slot);
    }
    weighted(&mut code, "weighted_4", "vec4<f32>", "_4");
    code.finish_4(Some(t));
    code.constant("WG", wg);
    code.constant("KEEP", keep);
    code.by_subgroups(wg, None);
    code.launch(in_registers, rows).into()
}

/// The function that applies weight and bias at place `k` of a row.
fn weighted(code: &mut Shader<'_>, name: &str, t: &str, suffix: &str) {
    let value = match code.step.inputs.len() {
        1 => "x".to_string(),
        2 => format!("x * in1{suffix}(k)"),
        _ => format!("x * in1{suffix}(k) + in2{suffix}(k)"),
    };
    code.push(&format!("fn {name}(k: u32, x: {t}) -> {t} {{\n    return {value};\n}}\n"));
}

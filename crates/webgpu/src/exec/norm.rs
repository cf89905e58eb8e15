//! Norms of rows.

use super::{WG, kept, rows};
use crate::codegen::{Code, Dispatch, Task};

/// Entry points of a norm: for rows of any length, and for those that stay in registers.
pub struct Norm {
    pub rows: &'static str,
    pub kept: &'static str,
}

pub const RMS: Norm = Norm { rows: "rms_norm_rows", kept: "rms_norm_kept" };
pub const LAYER: Norm = Norm { rows: "layer_norm_rows", kept: "layer_norm_kept" };

pub fn lower(task: &Task<'_>, norm: Norm, eps: f64) -> Vec<Dispatch> {
    let (count, width) = rows(task.step);
    if count * width == 0 {
        return vec![];
    }
    let mut code = Code::new(task, None);
    let t = code.input(0);
    for slot in 1..task.step.inputs.len() {
        code.input(slot);
    }
    code.arg("width", width);
    code.arg_f32("eps", eps);
    let Some((wg, keep)) = kept(width) else {
        weighted(&mut code, "weighted", "f32", "");
        code.finish(t);
        code.constant("WG", WG);
        code.by_subgroups(WG, None);
        return vec![code.dispatch(norm.rows, count)];
    };
    for slot in 0..task.step.inputs.len() {
        code.input_4(slot);
    }
    weighted(&mut code, "weighted_4", "vec4<f32>", "_4");
    code.finish_4(t);
    code.constant("WG", wg);
    code.constant("KEEP", keep);
    code.by_subgroups(wg, None);
    vec![code.dispatch(norm.kept, count)]
}

/// The function that applies weight and bias at place `k` of a row.
fn weighted(code: &mut Code<'_>, name: &str, t: &str, suffix: &str) {
    let value = match code.step.inputs.len() {
        1 => "x".to_string(),
        2 => format!("x * in1{suffix}(k)"),
        _ => format!("x * in1{suffix}(k) + in2{suffix}(k)"),
    };
    code.push(&format!("fn {name}(k: u32, x: {t}) -> {t} {{\n    return {value};\n}}\n"));
}

//! Scaled-dot-product attention.

use super::WG;
use super::reduce::temp_access;
use crate::codegen::{Code, Dispatch, Task};
use wootz_ir::ScalarType;
use wootz_ir::op::AttentionSpec;
use wootz_plan::Step;

/// Keys of one part where they are split between workgroups.
const PART: usize = 128;
/// Workgroups that keep a device busy.
const BUSY: usize = 64;

/// How many parts the keys are split into; 1 where there are queries enough, or few keys.
fn parts(step: &Step) -> usize {
    let shape = &step.input_shapes[0];
    let (rows, keys) = (shape[0] * shape[1] * shape[2], step.input_shapes[1][2]);
    if rows < BUSY && keys >= 2 * PART { keys.div_ceil(PART) } else { 1 }
}

/// Values that the parts of all queries come to.
fn part_values(step: &Step) -> usize {
    let shape = &step.input_shapes[0];
    shape[0] * shape[1] * shape[2] * parts(step) * (step.input_shapes[2][3] + 2)
}

pub fn temp_bytes(step: &Step) -> usize {
    if parts(step) > 1 { part_values(step) * 4 } else { 0 }
}

pub fn lower(task: &Task<'_>, spec: &AttentionSpec) -> Vec<Dispatch> {
    let step = task.step;
    let [batch, heads, queries, depth] = *step.input_shapes[0] else {
        unreachable!("attention has four axes")
    };
    let (groups, keys, columns) = (step.input_shapes[1][1], step.input_shapes[1][2], step.input_shapes[2][3]);
    if batch * heads * queries * columns == 0 {
        return vec![];
    }
    let rows = batch * heads * queries;
    let start = || {
        let mut code = Code::new(task, None);
        let t = operands(&mut code, spec);
        code.arg("keys", keys);
        visible(&mut code, spec, step.inputs.len() - 1);
        code.constant("WG", WG);
        code.arg_f32("scale", spec.scale.get());
        code.arg("queries", queries);
        code.arg("heads", heads);
        code.arg("sharing", heads / groups.max(1));
        code.arg("depth", depth);
        code.arg("columns", columns);
        (code, t)
    };
    let parts = parts(step);
    if parts == 1 {
        let (mut code, t) = start();
        code.finish(t);
        return vec![code.dispatch("attention_rows", rows)];
    }
    let (mut first, t) = start();
    first.arg("parts", parts);
    first.arg("part", PART);
    temp_access(&mut first, ScalarType::F32, part_values(step));
    let mut second = Code::new(task, None);
    second.constant("WG", WG);
    second.arg("parts", parts);
    second.arg("columns", columns);
    temp_access(&mut second, ScalarType::F32, part_values(step));
    second.finish(t);
    vec![first.dispatch("attention_parts", rows * parts), second.dispatch("attention_joined", rows)]
}

/// How q, k, v and the mask are read, and what becomes of a score.
fn operands(code: &mut Code<'_>, spec: &AttentionSpec) -> ScalarType {
    let t = code.plain_input(0);
    code.plain_input(1);
    code.plain_input(2);
    let added = if spec.mask {
        code.plain_input(3);
        "at3(b, h, t, s)"
    } else {
        "0.0"
    };
    code.push(&format!("fn masked(b: u32, h: u32, t: u32, s: u32) -> f32 {{\n    return {added};\n}}\n"));
    let capped = match spec.softcap {
        Some(cap) => {
            code.arg_f32("cap", cap.get());
            "arg_cap() * tanh_f32(score / arg_cap())"
        }
        None => "score",
    };
    code.push(&format!("fn capped(score: f32) -> f32 {{\n    return {capped};\n}}\n"));
    t
}

/// `visible(t)`: the first key that query `t` sees, and the one after the last.
fn visible(code: &mut Code<'_>, spec: &AttentionSpec, slot: usize) {
    if !spec.causal {
        code.push("fn visible(t: u32) -> vec2<u32> {\n    return vec2<u32>(0u, arg_keys());\n}\n");
        return;
    }
    code.input(slot);
    let first = match spec.window {
        Some(window) => {
            code.arg("window", window.min(i32::MAX as usize));
            "max(last + 1 - i32(arg_window()), 0)"
        }
        None => "0",
    };
    code.push(&format!(
        "fn visible(t: u32) -> vec2<u32> {{\n    let last = in{slot}(0u) + i32(t);\n    \
         let end = clamp(last + 1, 0, i32(arg_keys()));\n    return vec2<u32>(u32({first}), u32(end));\n}}\n"
    ));
}

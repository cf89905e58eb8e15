//! Scaled-dot-product attention.

use super::WG;
use super::reduce::temp_access;
use crate::codegen::{Code, Dispatch, Task};
use std::fmt::Write;
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
    if parts == 1 && queries >= 16 && columns <= 256 {
        let (mut code, t) = start();
        for (slot, extent) in [depth, depth, columns].into_iter().enumerate() {
            quads(&mut code, slot, extent);
        }
        put_columns(&mut code, t, columns);
        code.constant("CHUNKS", columns.div_ceil(64));
        return vec![code.dispatch("attention_tiles", batch * heads * queries.div_ceil(32))];
    }
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

/// `atN_4`: four neighbours along the last axis, zeros beyond its end, in one access where they are a quad.
fn quads(code: &mut Code<'_>, slot: usize, extent: usize) {
    if extent.is_multiple_of(4) && code.plain_quads(slot) {
        return;
    }
    let end = code.word(extent as u32);
    let mut text = format!(
        "fn at{slot}_4(c0: u32, c1: u32, c2: u32, c3: u32) -> vec4<f32> {{\n    var v = vec4<f32>();\n"
    );
    for (j, part) in ["x", "y", "z", "w"].iter().enumerate() {
        let _ = writeln!(
            text,
            "    if c3 + {j}u < {end} {{\n        v.{part} = at{slot}(c0, c1, c2, c3 + {j}u);\n    }}"
        );
    }
    text.push_str("    return v;\n}\n");
    code.push(&text);
}

/// `put_columns(row, e, v)`: four columns of a row of the result that starts at point `row`, as far as there are any.
fn put_columns(code: &mut Code<'_>, t: ScalarType, columns: usize) {
    let body = if columns.is_multiple_of(4) {
        code.finish_4(t);
        "    if e < arg_columns() {\n        finish_4(row + e, v);\n    }\n".to_string()
    } else {
        code.finish(t);
        let one = |(j, part): (usize, &&str)| {
            format!("    if e + {j}u < arg_columns() {{\n        finish(row + e + {j}u, v.{part});\n    }}\n")
        };
        ["x", "y", "z", "w"].iter().enumerate().map(one).collect()
    };
    code.push(&format!("fn put_columns(row: u32, e: u32, v: vec4<f32>) {{\n{body}}}\n"));
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

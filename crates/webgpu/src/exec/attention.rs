//! Scaled-dot-product attention.

use super::reduce::scratch_access;
use super::{Launches, WG};
use crate::codegen::{Shader, Task};
use wootz_gpu::problem::AttentionProblem;
use wootz_ir::ScalarType;
use wootz_ir::op::AttentionSpec;

/// Keys of one part where they are split between workgroups.
const PART: usize = 128;
/// Workgroups that keep a device busy.
const BUSY: usize = 64;

/// How many parts the keys are split into; 1 where there are queries enough, or few keys.
fn parts(problem: AttentionProblem) -> usize {
    let AttentionProblem { s: keys, .. } = problem;
    if problem.rows() < BUSY && keys >= 2 * PART { keys.div_ceil(PART) } else { 1 }
}

pub fn launches(task: &Task<'_>, spec: &AttentionSpec) -> Launches {
    let problem = AttentionProblem::of(task.step, *spec);
    let AttentionProblem { b: batch, h: heads, t: queries, s: keys, d: depth, e: columns, .. } = problem;
    let rows = problem.rows();
    if rows * columns == 0 {
        return Launches::default();
    }
    let start = || {
        let mut code = Shader::new(task, None);
        let t = operands(&mut code, spec);
        code.arg("keys", keys);
        visible(&mut code, spec, task.step.inputs.len() - 1);
        code.constant("WG", WG);
        code.arg_f32("scale", spec.scale.get());
        code.arg("queries", queries);
        code.arg("heads", heads);
        code.arg("sharing", problem.sharing());
        code.arg("depth", depth);
        code.arg("columns", columns);
        (code, t)
    };
    let parts = parts(problem);
    if parts == 1 && queries >= 16 && columns <= 256 {
        let (mut code, t) = start();
        for (slot, extent) in [depth, depth, columns].into_iter().enumerate() {
            // Four neighbours along the last axis, in one access where they are a quad.
            if !extent.is_multiple_of(4) || !code.plain_quads(slot) {
                let signature = format!("fn at{slot}_4(c0: u32, c1: u32, c2: u32, c3: u32) -> vec4<f32>");
                code.four_in_range(&signature, "c3", extent, |at| format!("at{slot}(c0, c1, c2, {at})"));
            }
        }
        code.put_columns(t, columns);
        code.constant("CHUNKS", columns.div_ceil(64));
        return code.launch("attention_tiles", batch * heads * queries.div_ceil(32)).into();
    }
    if parts == 1 {
        let (mut code, t) = start();
        code.finish(Some(t));
        return code.launch("attention_rows", rows).into();
    }
    let (mut first, t) = start();
    first.arg("parts", parts);
    first.arg("part", PART);
    // The sum of a part's columns, its largest score and the sum of its weights.
    let values = rows * parts * (columns + 2);
    scratch_access(&mut first, ScalarType::F32, values);
    let mut second = Shader::new(task, None);
    second.constant("WG", WG);
    second.arg("parts", parts);
    second.arg("columns", columns);
    second.arg("queries", queries);
    second.arg("heads", heads);
    sinks(&mut second, spec);
    scratch_access(&mut second, ScalarType::F32, values);
    second.finish(Some(t));
    let list = vec![first.launch("attention_parts", rows * parts), second.launch("attention_joined", rows)];
    Launches { list, scratch: values * 4 }
}

/// How q, k, v and the mask are read, and what becomes of a score.
fn operands(code: &mut Shader<'_>, spec: &AttentionSpec) -> ScalarType {
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
    sinks(code, spec);
    t
}

/// `sink_of(h)`: the score of a head's sink, so low that it has no weight where there are none.
fn sinks(code: &mut Shader<'_>, spec: &AttentionSpec) {
    let slot = 3 + usize::from(spec.mask);
    let score = if spec.sinks {
        code.plain_input(slot);
        format!("at{slot}(h)")
    } else {
        "-inf_f32()".to_string()
    };
    code.push(&format!("fn sink_of(h: u32) -> f32 {{\n    return {score};\n}}\n"));
}

/// `visible(t)`: the first key that query `t` sees, and the one after the last.
fn visible(code: &mut Shader<'_>, spec: &AttentionSpec, slot: usize) {
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

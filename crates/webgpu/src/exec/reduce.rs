//! Reductions: rows by a workgroup, columns and short rows by an invocation each, few long rows in two launches.

use super::{Launches, WG};
use crate::codegen::wgsl::{from_words, is_wide};
use crate::codegen::{Shader, Task, Wgsl};
use wootz_gpu::{Access, Bound, Language};
use wootz_ir::ScalarType;
use wootz_ir::op::ReduceOp;
use wootz_plan::{Fused, Step};

/// Elements that a workgroup combines before a row is split.
const PART: usize = 8192;
/// Workgroups that keep a device busy.
const BUSY: usize = 64;

enum Variant {
    Rows,
    Columns,
    Parts(usize),
}

fn choose(step: &Step, inner: usize) -> Variant {
    let outer = step.shape.count();
    if outer < BUSY && inner >= 2 * PART {
        return Variant::Parts(inner.div_ceil(PART));
    }
    let along = runs_along(&step.inputs[0]);
    if inner <= 16 || (!along && outer >= WG) { Variant::Columns } else { Variant::Rows }
}

/// Whether neighbours in the linear order of an input are neighbours in memory.
fn runs_along(input: &Fused) -> bool {
    let last = |layout: &wootz_ir::Layout| layout.collapse().strides.last().is_none_or(|s| s.abs() <= 1);
    input.loads.iter().all(|load| last(&load.layout))
}

pub fn launches(task: &Task<'_>, op: ReduceOp, inner: usize) -> Launches {
    let outer = task.step.shape.count();
    if outer == 0 {
        return Launches::default();
    }
    let start = || {
        let mut code = Shader::new(task, None);
        let t = code.input_type(0);
        code.alias("T", t);
        monoid(&mut code, op, t);
        code.arg("inner", inner);
        (code, t)
    };
    let wg = task.facts.row_group();
    // Whether quads of points stay in a row and are values that quads can be of.
    let quads = |t| inner.is_multiple_of(4) && !is_wide(t);
    match choose(task.step, inner) {
        Variant::Rows => {
            let (mut code, t) = start();
            code.input(0);
            code.finish(Some(t));
            code.constant("WG", wg);
            code.by_subgroups(wg, Some(t));
            if quads(t) {
                code.input_4(0);
                return code.launch("reduce_rows_quads", outer).into();
            }
            code.launch("reduce_rows", outer).into()
        }
        Variant::Columns => {
            let (mut code, t) = start();
            code.arg("outer", outer);
            if let Some(across) = rotated(task.step, outer).filter(|_| !is_wide(t)) {
                code.function_4("across", &across);
                code.finish_4(Some(t));
                // Lanes that share columns, where whole columns for each are too few; a CPU is busy with few.
                let split = if task.facts.cpu || outer / 4 >= WG * BUSY || inner < 64 { 1 } else { 8 };
                let keep = if task.facts.cpu { 4 } else { 1 };
                code.constant("WG", wg);
                code.constant("SPLIT", split);
                code.constant("KEEP", keep);
                let groups = (outer / 4).div_ceil(wg / split * keep);
                return code.launch("reduce_columns_quads", groups).into();
            }
            code.constant("WG", WG);
            code.input(0);
            code.finish(Some(t));
            code.launch("reduce_columns", outer.div_ceil(WG)).into()
        }
        Variant::Parts(parts) => {
            let (mut first, t) = start();
            first.input(0);
            first.constant("WG", wg);
            first.by_subgroups(wg, Some(t));
            first.arg("parts", parts);
            first.arg("part", PART);
            scratch_access(&mut first, t, outer * parts);
            let (mut second, _) = start();
            second.constant("WG", wg);
            second.by_subgroups(wg, Some(t));
            second.arg("parts", parts);
            scratch_access(&mut second, t, outer * parts);
            second.finish(Some(t));
            let first = if quads(t) {
                first.input_4(0);
                first.launch("reduce_parts_quads", outer * parts)
            } else {
                first.launch("reduce_parts", outer * parts)
            };
            let list = vec![first, second.launch("reduce_joined", outer)];
            Launches { list, scratch: outer * parts * bytes_of(t) }
        }
    }
}

/// The input with its outer axes last, where neighbours among outer points are neighbours in memory, by quads.
fn rotated(step: &Step, outer: usize) -> Option<Fused> {
    let mut fused = step.inputs[0].clone();
    let (rank, split) = (fused.shape.rank(), fused.axes_of(outer)?);
    fused.shape.extents_mut().rotate_left(split);
    for load in &mut fused.loads {
        load.layout.shape.extents_mut().rotate_left(split);
        load.layout.strides.rotate_left(split);
    }
    let near = fused.loads.iter().all(|load| load.layout.strides.last().is_none_or(|s| s.abs() <= 1));
    (near && fused.shape[rank - 1].is_multiple_of(4)).then_some(fused)
}

/// `combine` and `identity` of a reduction.
pub fn monoid(code: &mut Shader<'_>, op: ReduceOp, t: ScalarType) {
    let identity = Wgsl::literal(op.identity(t), t);
    let combined = Wgsl::binary(op.function(), t, "a", "b");
    code.push(&format!(
        "fn combine(a: T, b: T) -> T {{\n    return {combined};\n}}\nfn identity() -> T {{\n    return {identity};\n}}\n"
    ));
}

/// Bytes of a value in scratch memory.
fn bytes_of(t: ScalarType) -> usize {
    if is_wide(t) { 8 } else { 4 }
}

/// `put_part` and `get_part`: values of the type in scratch memory.
pub fn scratch_access(code: &mut Shader<'_>, t: ScalarType, count: usize) {
    let k = code.open(Bound::Scratch(0), count * bytes_of(t), Access::Write);
    let (put, get) = match t {
        ScalarType::I64 | ScalarType::U64 => (
            format!("s{k}(2u * i, v.x);\n    s{k}(2u * i + 1u, v.y);"),
            format!("vec2<u32>(g{k}(2u * i), g{k}(2u * i + 1u))"),
        ),
        ScalarType::Bool => (format!("s{k}(i, select(0u, 1u, v));"), format!("(g{k}(i) != 0u)")),
        _ => (format!("s{k}(i, bitcast<u32>(v));"), from_words(t, &format!("vec2<u32>(g{k}(i), 0u)"))),
    };
    code.push(&format!(
        "fn put_part(i: u32, v: {t}) {{\n    {put}\n}}\nfn get_part(i: u32) -> {t} {{\n    return {get};\n}}\n",
        t = Wgsl::name(t)
    ));
}

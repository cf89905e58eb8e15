//! Reductions: rows by a workgroup, columns and short rows by an invocation each, few long rows in two launches.

use super::{WG, words_of};
use crate::codegen::types::{from_words, literal, name};
use crate::codegen::{Access, Bound, Code, Dispatch, Task, binary};
use wootz_ir::op::ReduceOp;
use wootz_ir::scalar::BinaryFn;
use wootz_ir::{Number, ScalarType};
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

pub fn temp_bytes(step: &Step, inner: usize) -> usize {
    match choose(step, inner) {
        Variant::Parts(parts) => {
            step.shape.count() * parts * 4 * words_of(step.inputs[0].program.result_type(0))
        }
        Variant::Rows | Variant::Columns => 0,
    }
}

pub fn lower(task: &Task<'_>, op: ReduceOp, inner: usize) -> Vec<Dispatch> {
    let outer = task.step.shape.count();
    if outer == 0 {
        return vec![];
    }
    let start = || {
        let mut code = Code::new(task, None);
        let t = code.input_type(0);
        code.alias("T", t);
        monoid(&mut code, op, t);
        code.arg("inner", inner);
        (code, t)
    };
    let wg = task.target.row_group();
    // Whether quads of points stay in a row and are values that quads can be of.
    let quads = |t| inner.is_multiple_of(4) && words_of(t) == 1;
    match choose(task.step, inner) {
        Variant::Rows => {
            let (mut code, t) = start();
            code.input(0);
            code.finish(t);
            code.constant("WG", wg);
            code.by_subgroups(wg, Some(t));
            if quads(t) {
                code.input_4(0);
                return vec![code.dispatch("reduce_rows_quads", outer)];
            }
            vec![code.dispatch("reduce_rows", outer)]
        }
        Variant::Columns => {
            let (mut code, t) = start();
            code.arg("outer", outer);
            if let Some(across) = rotated(task.step, outer).filter(|_| words_of(t) == 1) {
                code.fused_4("across", &across);
                code.finish_4(t);
                // Lanes that share columns, where whole columns for each are too few; a CPU is busy with few.
                let split = if task.target.cpu || outer / 4 >= WG * BUSY || inner < 64 { 1 } else { 8 };
                let keep = if task.target.cpu { 4 } else { 1 };
                code.constant("WG", wg);
                code.constant("SPLIT", split);
                code.constant("KEEP", keep);
                let groups = (outer / 4).div_ceil(wg / split * keep);
                return vec![code.dispatch("reduce_columns_quads", groups)];
            }
            code.constant("WG", WG);
            code.input(0);
            code.finish(t);
            vec![code.dispatch("reduce_columns", outer.div_ceil(WG))]
        }
        Variant::Parts(parts) => {
            let (mut first, t) = start();
            first.input(0);
            first.constant("WG", wg);
            first.by_subgroups(wg, Some(t));
            first.arg("parts", parts);
            first.arg("part", PART);
            temp_access(&mut first, t, outer * parts);
            let (mut second, _) = start();
            second.constant("WG", wg);
            second.by_subgroups(wg, Some(t));
            second.arg("parts", parts);
            temp_access(&mut second, t, outer * parts);
            second.finish(t);
            let first = if quads(t) {
                first.input_4(0);
                first.dispatch("reduce_parts_quads", outer * parts)
            } else {
                first.dispatch("reduce_parts", outer * parts)
            };
            vec![first, second.dispatch("reduce_joined", outer)]
        }
    }
}

/// The input with its outer axes last, where neighbours among outer points are neighbours in memory, by quads.
fn rotated(step: &Step, outer: usize) -> Option<Fused> {
    let mut fused = step.inputs[0].clone();
    let rank = fused.shape.rank();
    let split = (1..rank).find(|&at| fused.shape[..at].iter().product::<usize>() == outer)?;
    fused.shape.extents_mut().rotate_left(split);
    for load in &mut fused.loads {
        load.layout.shape.extents_mut().rotate_left(split);
        load.layout.strides.rotate_left(split);
    }
    let near = fused.loads.iter().all(|load| load.layout.strides.last().is_none_or(|s| s.abs() <= 1));
    (near && fused.shape[rank - 1].is_multiple_of(4)).then_some(fused)
}

/// `combine` and `identity` of a reduction.
pub fn monoid(code: &mut Code<'_>, op: ReduceOp, t: ScalarType) {
    let function = match op {
        ReduceOp::Sum => BinaryFn::Add,
        ReduceOp::Prod => BinaryFn::Mul,
        ReduceOp::Min => BinaryFn::Min,
        ReduceOp::Max => BinaryFn::Max,
        ReduceOp::Any => BinaryFn::Or,
        ReduceOp::All => BinaryFn::And,
    };
    let identity = literal(identity(op, t), t);
    let combined = binary(function, t, "a", "b");
    code.push(&format!(
        "fn combine(a: T, b: T) -> T {{\n    return {combined};\n}}\nfn identity() -> T {{\n    return {identity};\n}}\n"
    ));
}

fn identity(op: ReduceOp, t: ScalarType) -> Number {
    match op {
        ReduceOp::Sum | ReduceOp::Any => Number::Int(0),
        ReduceOp::Prod | ReduceOp::All => Number::Int(1),
        ReduceOp::Min | ReduceOp::Max if t.is_float() => {
            Number::Float(if op == ReduceOp::Min { f64::INFINITY } else { f64::NEG_INFINITY })
        }
        ReduceOp::Min | ReduceOp::Max if t == ScalarType::Bool => Number::Bool(op == ReduceOp::Min),
        ReduceOp::Min | ReduceOp::Max => {
            let (low, high) =
                t.dtype().integer_range().expect("what is neither float nor bool is an integer");
            Number::Uint(if op == ReduceOp::Min { high } else { low } as u64)
        }
    }
}

/// `put_part` and `get_part`: values of the type in working memory.
pub fn temp_access(code: &mut Code<'_>, t: ScalarType, count: usize) {
    let k = code.open(Bound::Temp(0), count * 4 * words_of(t), Access::Write);
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
        t = name(t)
    ));
}

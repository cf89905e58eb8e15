//! Matrix products: tiles for large ones (of cooperative matrices where the adapter has them), split dots for few rows or columns, an invocation per element for the rest.

use super::broadcast::{self, Right};
use super::{Launches, WG};
use crate::codegen::{Launch, Shader, Task, Wgsl};
use std::fmt::Write;
use wootz_gpu::Language;
use wootz_gpu::problem::MatmulProblem;
use wootz_ir::scalar::BinaryFn;
use wootz_ir::{DType, Number, ScalarType};
use wootz_plan::Fused;

/// Rows that share one pass over a column in the split-dot variant.
const ROWS: usize = 4;
/// Lanes that split a column in it.
const LANES: usize = 16;

/// The launch over operands that `a_at` and `b_at` read; columns of b may lie along k.
pub fn launch(problem: MatmulProblem, mut code: Shader<'_>, t: ScalarType, columns_along_k: bool) -> Launch {
    let MatmulProblem { batch, m, n, k } = problem;
    code.arg("m", m);
    code.arg("n", n);
    code.arg("k", k);
    if t == ScalarType::F32 && m >= 16 && n >= 16 && k >= 8 {
        let tiles = batch * m.div_ceil(64) * n.div_ceil(64);
        if code.facts.cooperative {
            code.enable("wgpu_cooperative_matrix");
            // Halves that were widened are halves again without rounding.
            let halves = code.facts.cooperative_halves && code.step.inputs.iter().all(is_halves);
            if halves {
                code.enable("f16");
            }
            code.push(if halves { "alias Operand = f16;\n" } else { "alias Operand = f32;\n" });
            return code.launch("matmul_cooperative", tiles);
        }
        return code.launch("matmul_tiles", tiles);
    }
    code.constant("WG", WG);
    if t == ScalarType::F32 && k >= 32 && (columns_along_k || n < WG) {
        code.constant("LANES", LANES);
        code.constant("ROWS", ROWS);
        code.constant("LANE_SUMS", ROWS * WG);
        let groups = batch * m.div_ceil(ROWS) * n.div_ceil(WG / LANES);
        return code.launch("matmul_dot", groups);
    }
    code.arg("points", problem.count());
    code.push(&format!(
        "fn zero() -> {t} {{\n    return {zero};\n}}\nfn multiply_add(a: {t}, b: {t}, c: {t}) -> {t} {{\n    \
         return {sum};\n}}\n",
        t = Wgsl::name(t),
        zero = Wgsl::literal(Number::Int(0), t),
        sum = Wgsl::binary(BinaryFn::Add, t, "c", &Wgsl::binary(BinaryFn::Mul, t, "a", "b"))
    ));
    code.launch("matmul_points", problem.count().div_ceil(WG))
}

/// Whether an input is read from memory as it is, and that is f16.
fn is_halves(input: &Fused) -> bool {
    input.plain().is_some_and(|load| load.dtype == DType::F16)
}

pub fn launches(task: &Task<'_>, problem: MatmulProblem) -> Launches {
    if problem.count() == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    let t = operand(&mut code, 0, "a_at", problem.m, problem.k);
    operand(&mut code, 1, "b_at", problem.k, problem.n);
    let lanes = broadcast::lanes(task.facts).filter(|_| t == ScalarType::F32 && broadcast::pays(problem));
    if let Some(lanes) = lanes {
        operand_4(&mut code, 0, "a_at", problem.k);
        operand_4(&mut code, 1, "b_at", problem.n);
        code.put_columns(t, problem.n);
        return broadcast::launch(problem, code, lanes, Right::Floats).into();
    }
    code.finish(Some(t));
    let along = task.step.inputs[1].plain().is_some_and(|load| {
        let rank = load.layout.strides.len();
        load.layout.strides[rank - 2].abs() == 1 && load.layout.strides[rank - 1].abs() != 1
    });
    launch(problem, code, t, along).into()
}

/// A function beside [`operand`]'s that reads four neighbours of a row: in one access where they are a quad.
fn operand_4(code: &mut Shader<'_>, slot: usize, function: &str, columns: usize) {
    let signature = format!("fn {function}_4(batch: u32, row: u32, column: u32) -> vec4<f32>");
    if columns.is_multiple_of(4) && code.plain_quads(slot) {
        let rank = code.step.inputs[slot].loads[0].layout.shape.rank();
        let (body, arguments) = batch_coordinates(code, slot, rank);
        code.push(&format!("{signature} {{\n{body}    return at{slot}_4({arguments});\n}}\n"));
        return;
    }
    code.four_in_range(&signature, "column", columns, |at| format!("{function}(batch, row, {at})"));
}

/// Lines that find the coordinates of a batch in a plain operand, and all its coordinates as arguments.
fn batch_coordinates(code: &mut Shader<'_>, slot: usize, rank: usize) -> (String, String) {
    let layout = &code.step.inputs[slot].loads[0].layout;
    let mut body = String::from("    var rest = batch;\n");
    let mut arguments = Vec::new();
    for axis in (0..rank - 2).rev() {
        if axis == 0 {
            body.push_str("    let c0 = rest;\n");
        } else {
            let extent = code.word(layout.shape[axis].max(1) as u32);
            let _ = writeln!(body, "    let c{axis} = rest % {extent};\n    rest = rest / {extent};");
        }
        arguments.insert(0, format!("c{axis}"));
    }
    arguments.extend(["row".to_string(), "column".to_string()]);
    (body, arguments.join(", "))
}

/// A function that reads an operand by batch, row and column: by strides where it is plain, else by linear index.
fn operand(code: &mut Shader<'_>, slot: usize, function: &str, rows: usize, columns: usize) -> ScalarType {
    let step = code.step;
    let t = code.input_type(slot);
    let signature = format!("fn {function}(batch: u32, row: u32, column: u32) -> {}", Wgsl::name(t));
    let Some(load) = step.inputs[slot].plain() else {
        code.input(slot);
        let (rows, columns) = (code.word(rows as u32), code.word(columns as u32));
        code.push(&format!(
            "{signature} {{\n    return in{slot}((batch * {rows} + row) * {columns} + column);\n}}\n"
        ));
        return t;
    };
    let rank = load.layout.shape.rank();
    let (body, arguments) = batch_coordinates(code, slot, rank);
    code.plain_input(slot);
    code.push(&format!("{signature} {{\n{body}    return at{slot}({arguments});\n}}\n"));
    t
}

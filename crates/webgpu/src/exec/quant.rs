//! Products with, and rows of, block-quantised matrices.

use super::broadcast::{self, Right};
use super::matmul::Problem;
use super::quant_broadcast::{self, Place};
use super::{WG, spread};
use crate::codegen::{Access, Bound, Code, Dispatch, Task, convert};
use wootz_ir::{BlockFormat, ScalarType};
use wootz_plan::Source;

/// Rows of x that are few: blocks are decoded for them (or, of [`ROWS`], for each so many) alone.
const FEW: usize = 8;
const ROWS: usize = 4;
const LANES: usize = 16;

pub fn matmul(task: &Task<'_>, format: BlockFormat) -> Vec<Dispatch> {
    let step = task.step;
    let k = step.input_shapes[0].last().copied().unwrap_or(0);
    let (m, n) = (step.input_shapes[0].count().checked_div(k).unwrap_or(0), step.input_shapes[1][0]);
    if m * n == 0 {
        return vec![];
    }
    let problem = Problem { batch: 1, m, n, k };
    if let Some(lanes) = broadcast::lanes(task.target).filter(|_| !format.is_float()) {
        return vec![on_a_cpu(task, format, problem, lanes)];
    }
    let mut code = Code::new(task, None);
    let t = code.input(0);
    weights(&mut code, 1, format);
    code.finish(t);
    if format.is_float() {
        let columns = code.word(k as u32);
        code.push(&format!(
            "fn a_at(batch: u32, row: u32, k: u32) -> f32 {{\n    return in0(row * {columns} + k);\n}}\n\
             fn b_at(batch: u32, k: u32, column: u32) -> f32 {{\n    return quant_value(column, k);\n}}\n"
        ));
        return vec![problem.launch(code, t, true)];
    }
    code.arg("m", m);
    code.arg("n", n);
    code.arg("k", k);
    if m > FEW {
        return vec![code.dispatch("quant_tiles", n.div_ceil(64) * m.div_ceil(32))];
    }
    let rows = if m == 1 { 1 } else { ROWS };
    code.constant("WG", WG);
    code.constant("LANES", LANES);
    code.constant("ROWS", rows);
    code.constant("LANE_SUMS", rows * WG);
    vec![code.dispatch("quant_dot", n.div_ceil(WG / LANES) * m.div_ceil(rows))]
}

/// The product on an adapter that is a CPU.
fn on_a_cpu(task: &Task<'_>, format: BlockFormat, problem: Problem, lanes: usize) -> Dispatch {
    let mut code = Code::new(task, None);
    let t = code.input(0);
    code.input_4(0);
    if problem.m <= FEW {
        let place = rows(&mut code, 1, format);
        quant_broadcast::block_in_registers(&mut code, place, format);
        format_functions(&mut code, format);
        code.finish(t);
        return quant_broadcast::launch_few(problem, code, lanes, format);
    }
    weights(&mut code, 1, format);
    let columns = code.word(problem.k as u32);
    code.push(&format!(
        "fn a_at_4(batch: u32, row: u32, k: u32) -> vec4<f32> {{\n    return in0_4(row * {columns} + k);\n}}\n"
    ));
    if problem.n.is_multiple_of(4) {
        code.finish_4(t);
    } else {
        code.finish(t);
    }
    broadcast::launch(problem, code, lanes, Right::Blocks)
}

pub fn gather(task: &Task<'_>, format: BlockFormat) -> Vec<Dispatch> {
    let count = task.step.shape.count();
    let width = task.step.shape.last().copied().unwrap_or(0);
    if count == 0 {
        return vec![];
    }
    let mut code = Code::new(task, None);
    weights(&mut code, 0, format);
    let index = convert(code.input(1), ScalarType::I64, "in1(i)");
    code.push(&format!("fn row_index(i: u32) -> vec2<u32> {{\n    return {index};\n}}\n"));
    code.finish(ScalarType::F32);
    code.arg("width", width);
    code.arg("extent", task.step.input_shapes[0][0]);
    let groups = spread(&mut code, count);
    vec![code.dispatch("quant_rows", groups)]
}

/// `row_start(row)`, the address of a row of the matrix in an input slot.
fn rows(code: &mut Code<'_>, slot: usize, format: BlockFormat) -> Place {
    let load = code.step.inputs[slot].loads[0].clone();
    let Source::Buffer(id) = load.source else { unreachable!("quantised rows are in memory") };
    let bytes = code.plan.buffers[id as usize].bytes;
    let buffer = code.open(Bound::Plan(id), bytes, Access::Read);
    let layout = &load.layout;
    debug_assert!(layout.strides[1] == 1 || layout.shape[1] <= 1, "bytes of a row follow one another");
    let (first, stride) = (code.word(layout.offset as u32), code.word(layout.strides[0] as i32 as u32));
    code.push(&format!("fn row_start(row: u32) -> u32 {{\n    return {first} + row * {stride};\n}}\n"));
    let steps = layout.offset | layout.strides[0].unsigned_abs() | format.block_bytes();
    Place { buffer, alignment: 1 << steps.trailing_zeros() }
}

/// How the matrix in an input slot is read: bytes and words by address, the start of a row, and the format's code.
fn weights(code: &mut Code<'_>, slot: usize, format: BlockFormat) {
    let Place { buffer: k, alignment } = rows(code, slot, format);
    code.push(&format!(
        "fn weight_byte(at: u32) -> u32 {{\n    return (g{k}(at >> 2u) >> (8u * (at & 3u))) & 0xffu;\n}}\n"
    ));
    let word = if alignment.is_multiple_of(4) {
        format!("    return g{k}(at >> 2u);\n")
    } else {
        format!(
            "    let up = 8u * (at & 3u);\n    let low = g{k}(at >> 2u) >> up;\n    if up == 0u {{\n        return low;\n    \
             }}\n    return low | (g{k}((at >> 2u) + 1u) << (32u - up));\n"
        )
    };
    code.push(&format!("fn weight_word(at: u32) -> u32 {{\n{word}}}\n"));
    if !format.is_float() {
        return format_functions(code, format);
    }
    let value = match format {
        BlockFormat::F32 => "bitcast<f32>(weight_word(row_start(row) + 4u * k))",
        BlockFormat::F16 => "half_at(row_start(row) + 2u * k)",
        _ => {
            "f32_of((weight_byte(row_start(row) + 2u * k) | (weight_byte(row_start(row) + 2u * k + 1u) << 8u)) << 16u)"
        }
    };
    code.push(&format!("fn quant_value(row: u32, k: u32) -> f32 {{\n    return {value};\n}}\n"));
}

/// The functions of a block format, over `weight_word` and `weight_byte`.
fn format_functions(code: &mut Code<'_>, format: BlockFormat) {
    let name = format.name();
    code.constant("BLOCK_LEN", format.block_len());
    code.constant("BLOCK_BYTES", format.block_bytes());
    code.push(&format!(
        "fn block_scales(at: u32, c: u32) -> vec4<f32> {{\n    return scales_{name}(at, c);\n}}\n\
         fn block_codes(at: u32, c: u32, q: u32) -> vec4<f32> {{\n    return codes_{name}(at, c, q);\n}}\n"
    ));
}

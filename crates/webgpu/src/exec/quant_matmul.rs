//! Products with, and rows of, block-quantised matrices.

use super::broadcast::{self, Right};
use super::matmul;
use super::quant_broadcast::{self, WeightRows};
use super::{Launches, WG, spread};
use crate::codegen::{Launch, Shader, Task, Wgsl};
use wootz_gpu::problem::MatmulProblem as Problem;
use wootz_gpu::{Access, Language};
use wootz_ir::{BlockFormat, ScalarType};
use wootz_plan::Source;

/// Rows of x that are few: blocks are decoded for them (or, of [`ROWS`], for each so many) alone.
const FEW: usize = 8;
const ROWS: usize = 4;
/// Lanes that share a row of W.
pub const LANES: usize = 16;

pub fn matmul(task: &Task<'_>, format: BlockFormat) -> Launches {
    let problem = Problem::quantised(task.step);
    if problem.count() == 0 {
        return Launches::default();
    }
    let Problem { m, n, k, .. } = problem;
    // What unpacks points of a grid or trits is too long to be unrolled, as a CPU wants it: its driver would compile for minutes.
    let is_long = format.grid().is_some() || format == BlockFormat::TQ1_0;
    let unrolls = !format.is_float() && !is_long;
    if let Some(lanes) = broadcast::lanes(task.facts).filter(|_| unrolls) {
        return on_a_cpu(task, format, problem, lanes).into();
    }
    let mut code = Shader::new(task, None);
    let t = code.input(0);
    weights(&mut code, 1, format);
    code.finish(Some(t));
    if format.is_float() {
        let columns = code.word(k as u32);
        code.push(&format!(
            "fn a_at(batch: u32, row: u32, k: u32) -> f32 {{\n    return in0(row * {columns} + k);\n}}\n\
             fn b_at(batch: u32, k: u32, column: u32) -> f32 {{\n    return quant_value(column, k);\n}}\n"
        ));
        return matmul::launch(problem, code, t, true).into();
    }
    code.arg("m", m);
    code.arg("n", n);
    code.arg("k", k);
    if m > FEW {
        return code.launch("quant_tiles", n.div_ceil(64) * m.div_ceil(32)).into();
    }
    let rows = if m == 1 { 1 } else { ROWS };
    code.constant("WG", WG);
    code.constant("LANES", LANES);
    code.constant("ROWS", rows);
    code.constant("LANE_SUMS", rows * WG);
    code.launch("quant_dot", n.div_ceil(WG / LANES) * m.div_ceil(rows)).into()
}

/// The product on an adapter that is a CPU.
fn on_a_cpu(task: &Task<'_>, format: BlockFormat, problem: Problem, lanes: usize) -> Launch {
    let mut code = Shader::new(task, None);
    let t = code.input(0);
    code.input_4(0);
    if problem.m <= FEW {
        let weights = rows(&mut code, 1, format);
        quant_broadcast::block_in_registers(&mut code, weights, format);
        format_functions(&mut code, format);
        code.finish(Some(t));
        return quant_broadcast::launch_few(problem, code, lanes, format);
    }
    weights(&mut code, 1, format);
    let columns = code.word(problem.k as u32);
    code.push(&format!(
        "fn a_at_4(batch: u32, row: u32, k: u32) -> vec4<f32> {{\n    return in0_4(row * {columns} + k);\n}}\n"
    ));
    code.put_columns(t, problem.n);
    broadcast::launch(problem, code, lanes, Right::Blocks)
}

pub fn gather(task: &Task<'_>, format: BlockFormat) -> Launches {
    let count = task.step.shape.count();
    let width = task.step.shape.last().copied().unwrap_or(0);
    if count == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    weights(&mut code, 0, format);
    let index = Wgsl::convert(code.input(1), ScalarType::I64, "in1(i)");
    code.push(&format!("fn row_index(i: u32) -> vec2<u32> {{\n    return {index};\n}}\n"));
    code.finish(Some(ScalarType::F32));
    code.arg("width", width);
    code.arg("extent", task.step.input_shapes[0][0]);
    let groups = spread(&mut code, count);
    code.launch("quant_rows", groups).into()
}

/// `row_start(row)`, the address of a row of the matrix in an input slot; a stack of matrices is one tall matrix.
fn rows(code: &mut Shader<'_>, slot: usize, format: BlockFormat) -> WeightRows {
    let load = code.step.inputs[slot].loads[0].clone();
    let Source::Buffer(id) = load.source else { unreachable!("quantised rows are in memory") };
    let buffer = code.open_buffer(id, Access::Read);
    let layout = &load.layout;
    let pitch = layout.strides[layout.shape.rank() - 2];
    let (first, stride) = (code.word(layout.offset as u32), code.word(pitch as i32 as u32));
    code.push(&format!("fn row_start(row: u32) -> u32 {{\n    return {first} + row * {stride};\n}}\n"));
    let steps = layout.offset | pitch.unsigned_abs() | format.block_bytes();
    WeightRows { buffer, alignment: 1 << steps.trailing_zeros() }
}

/// How the matrix in an input slot is read: bytes and words by address, the start of a row, and the format's code.
fn weights(code: &mut Shader<'_>, slot: usize, format: BlockFormat) {
    weight_rows(code, slot, format);
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

/// The rows of the matrix in an input slot, and bytes and words of it by address.
pub fn weight_rows(code: &mut Shader<'_>, slot: usize, format: BlockFormat) {
    let WeightRows { buffer: k, alignment } = rows(code, slot, format);
    weight_access(code, alignment.is_multiple_of(4), |index| format!("g{k}({index})"));
}

/// `weight_byte` and `weight_word` by address, over words by index; words start at multiples of four where `aligned`.
pub fn weight_access(code: &mut Shader<'_>, aligned: bool, word: impl Fn(&str) -> String) {
    let (own, next) = (word("at >> 2u"), word("(at >> 2u) + 1u"));
    let whole = if aligned {
        format!("    return {own};\n")
    } else {
        format!(
            "    let up = 8u * (at & 3u);\n    if up == 0u {{\n        return {own};\n    }}\n    \
             return ({own} >> up) | ({next} << (32u - up));\n"
        )
    };
    code.push(&format!(
        "fn weight_byte(at: u32) -> u32 {{\n    return ({own} >> (8u * (at & 3u))) & 0xffu;\n}}\n\
         fn weight_word(at: u32) -> u32 {{\n{whole}}}\n"
    ));
}

/// The functions of a block format, over `weight_word` and `weight_byte`.
pub fn format_functions(code: &mut Shader<'_>, format: BlockFormat) {
    let name = format.name();
    code.constant("BLOCK_LEN", format.block_len());
    code.constant("BLOCK_BYTES", format.block_bytes());
    if let Some(grid) = format.grid() {
        let words = grid.points.chunks_exact(2).map(|two| u32::from(two[0]) | u32::from(two[1]) << 16);
        let first = code.table(words);
        code.push(&format!(
            "fn grid_point(i: u32) -> u32 {{\n    \
             return (p[{first}u + (i >> 3u)][(i >> 1u) & 3u] >> (16u * (i & 1u))) & 0xffffu;\n}}\n"
        ));
    }
    code.push(&format!(
        "fn block_scales(at: u32, c: u32) -> vec4<f32> {{\n    return scales_{name}(at, c);\n}}\n\
         fn block_codes(at: u32, c: u32, q: u32) -> vec4<f32> {{\n    return codes_{name}(at, c, q);\n}}\n"
    ));
}

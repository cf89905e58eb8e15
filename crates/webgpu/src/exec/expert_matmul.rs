//! Products of rows with the matrices chosen for them.

use super::quant_matmul::{LANES, format_functions, weight_rows};
use super::{Launches, WG};
use crate::NAME;
use crate::codegen::{Shader, Task, Wgsl};
use wootz_gpu::{Access, Bound, Language};
use wootz_ir::{BlockFormat, Result, ScalarType};

/// Matrices whose counts fit workgroup memory.
const MOST_EXPERTS: usize = 1024;

/// Rows that a matrix has on average where sorting them pays: from there on a matrix is read once for all of them.
const SORTED_FROM: usize = 4;

/// Pairs of a tile.
const TILE: usize = 32;

pub fn launches(task: &Task<'_>, format: BlockFormat) -> Result<Launches> {
    let step = task.step;
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let (experts, k) = (step.input_shapes[1][0], step.input_shapes[0][1]);
    let (slots, n) = (step.shape[1], step.shape[2]);
    let layout = &step.inputs[1].loads[0].layout;
    let reason = if layout.strides[0] != layout.strides[1] * n as isize {
        Some("the stacked matrices are not contiguous; copy them")
    } else if !k.is_multiple_of(32) {
        Some("the rows of its matrices are not multiples of 32 values; use the cpu")
    } else {
        None
    };
    if let Some(reason) = reason {
        return Err(step.refused(step.dtype, NAME, reason));
    }
    let pairs = step.shape[0] * slots;
    let tiles = pairs / TILE + experts.min(pairs);
    let start = || {
        let mut code = Shader::new(task, None);
        let choice = Wgsl::convert(code.input(2), ScalarType::I64, "in2(i)");
        code.push(&format!("fn choice(i: u32) -> vec2<u32> {{\n    return {choice};\n}}\n"));
        let sizes = [("n", n), ("k", k), ("slots", slots), ("experts", experts), ("pairs", pairs)];
        sizes.into_iter().chain([("tiles", tiles)]).for_each(|(name, size)| code.arg(name, size));
        code
    };
    let operands = |code: &mut Shader<'_>| {
        let t = code.input(0);
        weight_rows(code, 1, format);
        if format.is_float() {
            float_format(code, format)
        } else {
            format_functions(code, format)
        }
        code.finish(Some(t));
    };
    if experts > MOST_EXPERTS || pairs < SORTED_FROM * experts {
        let mut code = start();
        operands(&mut code);
        code.constant("WG", WG);
        code.constant("LANES", LANES);
        code.constant("ROWS", 1);
        code.constant("LANE_SUMS", WG);
        return Ok(code.launch("expert_dot", n.div_ceil(WG / LANES) * pairs).into());
    }
    let bytes = (3 * tiles + pairs) * 4;
    let mut order = start();
    order.constant("WG", 256);
    order.constant("MOST_EXPERTS", MOST_EXPERTS);
    let buffer = order.open(Bound::Scratch(0), bytes, Access::Write);
    order.push(&format!("fn set_tile_word(i: u32, v: u32) {{\n    s{buffer}(i, v);\n}}\n"));
    let mut product = start();
    operands(&mut product);
    let buffer = product.open(Bound::Scratch(0), bytes, Access::Write);
    product.push(&format!("fn tile_word(i: u32) -> u32 {{\n    return g{buffer}(i);\n}}\n"));
    let list = vec![order.launch("expert_order", 1), product.launch("expert_tiles", n.div_ceil(64) * tiles)];
    Ok(Launches { list, scratch: bytes })
}

/// Floats as a format: blocks of 32 values, whose codes are the values.
fn float_format(code: &mut Shader<'_>, format: BlockFormat) {
    let size = format.block_bytes();
    let value = match format {
        BlockFormat::F32 => "bitcast<f32>(weight_word(at))",
        BlockFormat::F16 => "half_at(at)",
        BlockFormat::BF16 => "f32_of((weight_byte(at) | (weight_byte(at + 1u) << 8u)) << 16u)",
        blocks => unreachable!("{blocks:?} has scales and codes"),
    };
    code.constant("BLOCK_LEN", 32);
    code.constant("BLOCK_BYTES", 32 * size);
    code.push(&format!(
        "fn float_at(at: u32) -> f32 {{\n    return {value};\n}}\n\
         fn block_scales(at: u32, c: u32) -> vec4<f32> {{\n    return vec4<f32>(1.0, 0.0, 1.0, 0.0);\n}}\n\
         fn block_codes(at: u32, c: u32, q: u32) -> vec4<f32> {{\n    let i = at + {four}u * q;\n    \
         return vec4<f32>(float_at(i), float_at(i + {size}u), float_at(i + {two}u), float_at(i + {three}u));\n}}\n",
        four = 4 * size,
        two = 2 * size,
        three = 3 * size,
    ));
}

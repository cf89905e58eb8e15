//! Products of rows with the matrices chosen for them, on the kernels of [`super::quant_matmul`].

use super::quant_matmul::{few, many};
use super::{Launch, Launches, refuse};
use crate::codegen::{Parts, storage};
use crate::driver::Facts;
use crate::source::kernels;
use wootz_ir::{BlockFormat, DType, Result};
use wootz_plan::Step;

/// Vectors of a tile in `quant_gemm.metal`.
const TILE: usize = 32;

/// Matrices whose counts fit threadgroup memory.
const MOST_EXPERTS: usize = 1024;

/// Rows that a matrix has on average where sorting them pays: from there on a matrix is read once for all of them.
const SORTED_FROM: usize = 4;

pub fn launches(step: &Step, facts: &Facts, format: BlockFormat) -> Result<Launches> {
    let (Some(x), Some(bytes)) = (step.inputs[0].plain(), step.inputs[1].plain()) else {
        return refuse(step, facts, "its operands are not in memory, as requested from the planner");
    };
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let (x, bytes) = (&x.layout, &bytes.layout);
    let unit = DType::of_format(format).map_or(format.alignment(), DType::size);
    let aligned = [bytes.offset, bytes.strides[0].unsigned_abs(), bytes.strides[1].unsigned_abs()];
    if bytes.strides[2] != 1 || aligned.iter().any(|at| !at.is_multiple_of(unit)) {
        return refuse(step, facts, "the rows of its matrices are not aligned for their format; copy them");
    }
    let (experts, n, k) = (bytes.shape[0], bytes.shape[1], x.shape[1]);
    let slots = step.shape[1];
    let pairs = step.shape[0] * slots;
    let sorted = facts.simdgroup_matrix
        && facts.simd_width == 32
        && experts <= MOST_EXPERTS
        && pairs >= SORTED_FROM * experts;
    let tiles = pairs / TILE + experts.min(pairs);
    let dims: Vec<u64> =
        [pairs, n, k, 1, slots, experts, tiles, pairs, 0].into_iter().map(|n| n as u64).collect();
    let on_blocks = |launch: Launch| {
        let mut launch = launch.format(format).define("X_UNIT", x.strides[1] == 1);
        launch = launch.define("EXPERTS", 1);
        launch.dims = dims.clone();
        launch
    };
    if let Some(dtype) = DType::of_format(format) {
        let mut launch = Launch::new(kernels!("products", "expert_matmul"), "expert_floats")
            .define("EXPERTS", 1)
            .define("FLOATS", storage(dtype));
        launch.groups = [n.div_ceil(4) as u32, pairs as u32, 1];
        launch.threads = [4 * facts.simd_width, 1, 1];
        launch.dims = dims;
        return Ok(launch.alone());
    }
    if !sorted {
        let mut launch = on_blocks(few(1, n, facts));
        launch.texts = kernels!("products", "expert_matmul", "blocks", "quant_gemv");
        launch.groups[1] = pairs as u32;
        return Ok(launch.alone());
    }
    let mut order = Launch::new(kernels!("products", "expert_matmul"), "expert_order")
        .define("EXPERTS", 1)
        .define("ORDERS", 1)
        .define("TILE_M", TILE)
        .define("MOST_EXPERTS", MOST_EXPERTS);
    order.parts = Parts { epilogue: false, scratch: true, ..Parts::WHOLE };
    order.threads = [256, 1, 1];
    order.dims = dims.clone();
    let mut product = on_blocks(many(TILE, n));
    product.texts = kernels!("products", "expert_matmul", "blocks", "matrix_sums", "quant_gemm");
    product.parts.scratch = true;
    product.groups[1] = tiles as u32;
    Ok(Launches { list: vec![order, product], scratch: (3 * tiles + pairs) * 4 })
}

//! Products with quantised matrices.
//!
//! Products with up to eight vectors (or more, without simdgroup matrices) go to `quant_gemv.metal`, others to
//! `quant_gemm.metal`; both read the blocks in place. Matrices of plain floats use the kernels of [`super::matmul`].
//! Bytes that are misaligned for their format or not contiguous are packed first.

use super::matmul::{StridedMatmul, Strides, product};
use super::{Launch, Launches, refuse};
use crate::codegen::{Parts, storage};
use crate::driver::Facts;
use crate::source::kernels;
use wootz_gpu::problem::MatmulProblem;
use wootz_ir::{BlockFormat, DType, Layout, Result};
use wootz_plan::Step;

/// A matrix given as bytes.
#[derive(Clone, Debug)]
pub struct Weights {
    /// The bytes from row to row, if the rows are packed into scratch.
    pub pitch: Option<usize>,
}

impl Weights {
    /// Marks the right operand of a `matmul` kernel as bytes of this dtype.
    pub fn define(&self, launch: Launch, dtype: DType) -> Launch {
        self.packed(launch.define("WEIGHTS", 1).define("B_TYPE", storage(dtype)))
    }

    fn packed(&self, mut launch: Launch) -> Launch {
        if self.pitch.is_none() {
            return launch;
        }
        launch.parts.scratch = true;
        launch.define("PACKED", 1)
    }
}

/// Vectors up to which a product is done by `quant_gemv.metal`.
const FEW: usize = 8;

pub fn launches(step: &Step, facts: &Facts, format: BlockFormat) -> Result<Launches> {
    let (Some(x), Some(bytes)) = (step.inputs[0].plain(), step.inputs[1].plain()) else {
        return refuse(step, facts, "its operands are not in memory, as requested from the planner");
    };
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let (x, bytes) = (&x.layout, &bytes.layout);
    let (rows, width) = (bytes.shape[0], bytes.shape[1]);
    let aligned = bytes.strides[1] == 1
        && bytes.offset.is_multiple_of(format.alignment())
        && bytes.strides[0].unsigned_abs().is_multiple_of(format.alignment());
    let pitch = (!aligned && width > 0).then(|| width.next_multiple_of(16));
    let weights = Weights { pitch };
    let mut rest = match DType::of_format(format) {
        Some(dtype) => product(&float_problem(x, rows, dtype, weights), facts),
        None => blocks(x, rows, format, &weights, facts).alone(),
    };
    if let Some(pitch) = pitch {
        rest.list.insert(0, pack(rows, width, pitch));
        rest.scratch = rows * pitch;
    }
    Ok(rest)
}

fn pack(rows: usize, width: usize, pitch: usize) -> Launch {
    let mut launch =
        Launch::new(kernels!("products", "pack_bytes"), "pack_bytes").over(rows * width, 256, 1 << 16);
    launch.parts = Parts { epilogue: false, scratch: true, ..Parts::WHOLE };
    launch.dims = vec![rows as u64, width as u64, pitch as u64];
    launch
}

/// Rows of floats are an ordinary product whose right operand happens to be bytes.
fn float_problem(x: &Layout, n: usize, dtype: DType, weights: Weights) -> StridedMatmul {
    let rank = x.shape.rank();
    let k = x.shape[rank - 1];
    // All axes before k as one where they are one step apart; else the last of them is m, and the others are batches.
    let lead = rank - 1;
    let one_step = (1..lead).all(|a| x.strides[a - 1] == x.strides[a] * x.shape[a] as isize);
    let (axes, m) = match lead {
        0 => (0, 1),
        _ if one_step => (0, x.shape[..lead].iter().product()),
        _ => (lead - 1, x.shape[lead - 1]),
    };
    StridedMatmul {
        extents: MatmulProblem { batch: x.shape[..axes].iter().product(), m, n, k },
        axes,
        a: Strides {
            outer: if lead == 0 { 0 } else { x.strides[lead - 1] as i64 },
            k: x.strides[lead] as i64,
        },
        b: Strides { outer: k as i64, k: 1 },
        dtypes: (DType::F32, dtype),
        weights: Some(weights),
    }
}

fn blocks(x: &Layout, n: usize, format: BlockFormat, weights: &Weights, facts: &Facts) -> Launch {
    let lead = x.shape.rank() - 1;
    let m: usize = x.shape[..lead].iter().product();
    let matrices = facts.simdgroup_matrix && facts.simd_width == 32;
    let mut launch = if m <= FEW || !matrices { few(m, n, facts) } else { many(m, n) };
    launch = launch.format(format).define("X_UNIT", x.strides[lead] == 1);
    launch.dims = vec![m as u64, n as u64, x.shape[lead] as u64, lead as u64, 0, 0, 0, 0];
    launch.dims.push(weights.pitch.unwrap_or(0) as u64);
    weights.packed(launch)
}

/// The launch for `m` vectors, a few at a time.
pub fn few(m: usize, n: usize, facts: &Facts) -> Launch {
    let vectors = m.min(FEW);
    // More rows reuse x more often, more vectors the decoded weights; both want registers.
    let rows = if vectors <= 2 { 4 } else { 2 };
    let simds = 2;
    let mut launch = Launch::new(kernels!("products", "blocks", "quant_gemv"), "quant_gemv")
        .define("ROWS", rows)
        .define("VECTORS", vectors);
    launch.groups = [n.div_ceil(rows * simds) as u32, m.div_ceil(vectors) as u32, 1];
    launch.threads = [simds as u32 * facts.simd_width, 1, 1];
    launch
}

/// The launch for `m` vectors in tiles.
pub fn many(m: usize, n: usize) -> Launch {
    let tile_m = if m <= 32 { 32 } else { 64 };
    let mut launch = Launch::new(kernels!("products", "blocks", "matrix_sums", "quant_gemm"), "quant_gemm")
        .define("TILE_M", tile_m)
        .define("TILE_N", 64)
        .define("TILE_K", 32)
        .define("SIMDS_M", 2)
        .define("SIMDS_N", 2)
        .define("TILE_TYPE", "float");
    launch.groups = [n.div_ceil(64) as u32, m.div_ceil(tile_m) as u32, 1];
    launch.threads = [128, 1, 1];
    launch
}

//! Matrix products: from a problem to a configuration, and from that to dispatches.
//!
//! Products with at most eight rows or columns go to `gemv.metal`, other float products to `gemm.metal` if the GPU
//! has simdgroup matrices, and the rest (integers, other GPUs) to `gemm_tiled.metal`. If the grid is too small to
//! fill a GPU, k is split, and `split_sum.metal` adds up the parts.

use super::{Launch, Launches, refuse};
use crate::codegen::Parts;
use crate::driver::Facts;
use crate::source::kernels;
use wootz_gpu::problem::MatmulProblem;
use wootz_ir::{DType, Result};
use wootz_plan::{Load, Step};

/// The steps of a matrix along its two axes, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Strides {
    /// Along m or n.
    pub outer: i64,
    /// Along k.
    pub k: i64,
}

/// What is asked for, and how its operands lie.
#[derive(Clone, Debug)]
pub struct StridedMatmul {
    pub extents: MatmulProblem,
    /// Axes before the last two.
    pub axes: usize,
    pub a: Strides,
    pub b: Strides,
    pub dtypes: (DType, DType),
    /// The right operand is a matrix of bytes that hold elements of its dtype; see [`super::quant_matmul`].
    pub weights: Option<super::quant_matmul::Weights>,
}

/// How it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Config {
    /// Few vectors with a matrix; swapped when the vectors are the right operand's columns.
    Gemv { swapped: bool, lanes_along_rows: bool, splits: usize },
    /// Tiles on simdgroup matrices.
    Gemm { tile_m: usize, tile_n: usize, tile_k: usize, splits: usize },
    /// Tiles without them.
    Tiled,
}

/// Threadgroups that fill a GPU of medium size.
const ENOUGH_GROUPS: usize = 48;
/// The most vectors of `gemv.metal`.
const MOST_VECTORS: usize = 8;

impl std::ops::Deref for StridedMatmul {
    type Target = MatmulProblem;

    fn deref(&self) -> &MatmulProblem {
        &self.extents
    }
}

pub fn launches(step: &Step, facts: &Facts, extents: MatmulProblem) -> Result<Launches> {
    let (Some(a), Some(b)) = (step.inputs[0].plain(), step.inputs[1].plain()) else {
        return refuse(step, facts, "its operands are not in memory, as requested from the planner");
    };
    let axes = step.input_shapes[0].rank() - 2;
    let problem = StridedMatmul {
        extents,
        axes,
        a: strides(a, axes, axes + 1),
        b: strides(b, axes + 1, axes),
        dtypes: (a.dtype, b.dtype),
        weights: None,
    };
    Ok(product(&problem, facts))
}

fn strides(load: &Load, outer: usize, k: usize) -> Strides {
    Strides { outer: load.layout.strides[outer] as i64, k: load.layout.strides[k] as i64 }
}

/// The launches of a product.
pub fn product(p: &StridedMatmul, facts: &Facts) -> Launches {
    if p.count() == 0 {
        return Launches::default();
    }
    match configure(p, facts) {
        config @ Config::Gemv { .. } => gemv(p, config, facts),
        config @ Config::Gemm { .. } => gemm(p, config),
        Config::Tiled => tiled(p),
    }
}

/// How a problem is done on a GPU.
pub fn configure(p: &StridedMatmul, facts: &Facts) -> Config {
    let may_split = p.weights.as_ref().is_none_or(|w| w.pitch.is_none());
    let splits = |groups: usize, least: usize| {
        let wanted = ENOUGH_GROUPS / groups.max(1);
        if may_split { wanted.min(p.k / least).max(1) } else { 1 }
    };
    let float = p.dtypes.0.is_float();
    // Bytes of weights are always the matrix, never the vectors.
    let few = if p.weights.is_some() { p.m } else { p.m.min(p.n) };
    if float && few <= MOST_VECTORS {
        let swapped = p.weights.is_none() && p.n < p.m;
        let (rows, matrix) = if swapped { (p.m, p.a) } else { (p.n, p.b) };
        let lanes_along_rows = matrix.outer == 1 && matrix.k != 1 && rows >= 4;
        let splits = if lanes_along_rows { splits(p.batch * rows.div_ceil(64), 256) } else { 1 };
        return Config::Gemv { swapped, lanes_along_rows, splits };
    }
    if !float || !facts.simdgroup_matrix || facts.simd_width != 32 {
        return Config::Tiled;
    }
    let tile = |extent: usize| if extent <= 32 { 32 } else { 64 };
    let (mut tile_m, mut tile_n) = (tile(p.m), tile(p.n));
    let groups = |tm: usize, tn: usize| p.batch * p.m.div_ceil(tm) * p.n.div_ceil(tn);
    if tile_n == 64 && groups(tile_m, tile_n) < ENOUGH_GROUPS {
        tile_n = 32;
    }
    if tile_m == 64 && groups(tile_m, tile_n) < ENOUGH_GROUPS / 4 {
        tile_m = 32;
    }
    // Longer steps need fewer barriers; two large tiles of floats would leave room for one threadgroup on a core.
    let half = p.dtypes == (DType::F16, DType::F16);
    let tile_k = if half || tile_m + tile_n < 128 { 32 } else { 16 };
    Config::Gemm { tile_m, tile_n, tile_k, splits: splits(groups(tile_m, tile_n), 512) }
}

/// Macros for operands that are bytes of weights.
fn with_weights(launch: Launch, p: &StridedMatmul) -> Launch {
    match &p.weights {
        Some(weights) => weights.define(launch, p.dtypes.1),
        None => launch,
    }
}

fn dims(p: &StridedMatmul, k_of_split: usize) -> Vec<u64> {
    let pitch = p.weights.as_ref().and_then(|w| w.pitch).unwrap_or(0);
    [p.batch, p.m, p.n, p.k, k_of_split, p.axes]
        .into_iter()
        .map(|d| d as u64)
        .chain([p.a.outer as u64, p.a.k as u64, pitch as u64])
        .collect()
}

fn gemv(p: &StridedMatmul, config: Config, facts: &Facts) -> Launches {
    let Config::Gemv { swapped, lanes_along_rows, splits } = config else { unreachable!("chosen by caller") };
    let (vectors, rows, x, matrix) = if swapped { (p.n, p.m, p.b, p.a) } else { (p.m, p.n, p.a, p.b) };
    let rows_each = if vectors <= 4 { 4 } else { 2 };
    let simds = 2;
    let per_group = simds * if lanes_along_rows { 32 } else { rows_each };
    let k_of_split = p.k.div_ceil(splits).max(1);
    let splits = p.k.div_ceil(k_of_split).max(1);
    let mut launch = Launch::new(kernels!("products", "gemv"), "gemv")
        .define("SWAPPED", u32::from(swapped))
        .define("VECTORS", vectors)
        .define("ROWS", rows_each)
        .define("X_UNIT", x.k == 1)
        .define("M_UNIT", matrix.k == 1);
    if lanes_along_rows {
        launch = launch.define("LANES_ALONG_ROWS", 1);
    }
    let mut launch = with_weights(launch, p);
    launch.dims = dims(p, k_of_split);
    (launch.dims[1], launch.dims[2]) = (vectors as u64, rows as u64);
    launch.groups = [rows.div_ceil(per_group) as u32, p.batch as u32, splits as u32];
    launch.threads = [simds as u32 * facts.simd_width, 1, 1];
    finished(launch, p, splits)
}

fn gemm(p: &StridedMatmul, config: Config) -> Launches {
    let Config::Gemm { tile_m, tile_n, tile_k, splits } = config else { unreachable!("chosen by caller") };
    let k_of_split = p.k.div_ceil(splits).div_ceil(tile_k).max(1) * tile_k;
    let splits = p.k.div_ceil(k_of_split).max(1);
    // A run of neighbours goes along k where k is contiguous, else along the other axis where that is, else along k.
    let along_k = |s: Strides| s.k == 1 || s.outer != 1;
    let half = p.dtypes == (DType::F16, DType::F16);
    let launch = Launch::new(kernels!("products", "matrix_sums", "gemm"), "gemm")
        .define("TILE_M", tile_m)
        .define("TILE_N", tile_n)
        .define("TILE_K", tile_k)
        .define("SIMDS_M", 2)
        .define("SIMDS_N", 2)
        .define("TILE_TYPE", if half { "half" } else { "float" })
        .define("A_ALONG_K", along_k(p.a))
        .define("A_UNIT", p.a.k == 1 || p.a.outer == 1)
        .define("B_ALONG_K", along_k(p.b))
        .define("B_UNIT", p.b.k == 1 || p.b.outer == 1);
    let mut launch = with_weights(launch, p);
    launch.dims = dims(p, k_of_split);
    launch.groups = [p.n.div_ceil(tile_n) as u32, p.m.div_ceil(tile_m) as u32, (p.batch * splits) as u32];
    launch.threads = [128, 1, 1];
    finished(launch, p, splits)
}

fn tiled(p: &StridedMatmul) -> Launches {
    let mut launch = with_weights(Launch::new(kernels!("products", "gemm_tiled"), "gemm_tiled"), p);
    launch.dims = dims(p, p.k.max(1));
    launch.groups = [p.n.div_ceil(32) as u32, p.m.div_ceil(32) as u32, p.batch as u32];
    launch.threads = [64, 1, 1];
    finished(launch, p, 1)
}

/// The launch alone, or followed by the sum of its splits.
fn finished(mut launch: Launch, p: &StridedMatmul, splits: usize) -> Launches {
    if splits == 1 {
        return launch.alone();
    }
    launch = launch.define("SPLIT", 1);
    launch.parts = Parts { epilogue: false, scratch: true, ..Parts::WHOLE };
    let points = p.count();
    let mut sum = Launch::new(kernels!("split_sum"), "split_sum").over(points, 256, 1 << 16);
    sum.parts = Parts { inputs: false, scratch: true, ..Parts::WHOLE };
    sum.dims = launch.dims.clone();
    Launches { list: vec![launch, sum], scratch: splits * points * size_of::<f32>() }
}

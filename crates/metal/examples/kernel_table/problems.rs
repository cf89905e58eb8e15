//! The standard problems, and what our kernels do with them.

use crate::rig::{Rig, noise};
use softmetal::profile::{Counters, DispatchProfile};
use wootz_blocks::{BlockFormat, quantize};
use wootz_ir::build::{self, AttentionOptions};
use wootz_ir::graph::NodeRef;
use wootz_ir::op::Activations;
use wootz_ir::{DType, Layout, Shape};
use wootz_report::Counted;

/// The sum over the launches of a problem.
pub fn counted(project: &str, problem: &StandardProblem, launches: &[DispatchProfile]) -> Counted {
    let mut c = Counters::default();
    launches.iter().for_each(|l| c.add(&l.counters));
    Counted {
        project: project.into(),
        kernel: launches.iter().map(|l| l.kernel.as_str()).collect::<Vec<_>>().join(" + "),
        problem: problem.name(),
        dtype: problem.dtype(),
        reads: c.device_bytes_read,
        writes: c.device_bytes_written,
        flops: c.flops_f32 + c.flops_f16 + c.matrix_products * 1024,
        barriers: c.barriers,
        simd_ops: c.simd_operations,
        threadgroup_bytes: c.threadgroup_bytes_read + c.threadgroup_bytes_written,
    }
}

/// A standard problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StandardProblem {
    /// A square product, row-major.
    Gemm { size: usize, dtype: DType },
    /// A vector times the rows of a matrix.
    Gemv { n: usize, k: usize },
    /// A vector times quantised rows.
    QuantGemv { format: BlockFormat, n: usize, k: usize },
    /// Many vectors times quantised rows.
    QuantGemm { format: BlockFormat, m: usize, n: usize, k: usize },
    /// One query per head.
    Decode { heads: usize, groups: usize, keys: usize, width: usize },
    /// As many queries as keys.
    Prefill { heads: usize, keys: usize, width: usize },
    /// Softmax of rows.
    Softmax { rows: usize, width: usize },
    /// RMS norm of rows, with weights.
    RmsNorm { rows: usize, width: usize },
}

/// Small enough to be counted in seconds, large enough that edges do not matter.
pub const PROBLEMS: [StandardProblem; 14] = [
    StandardProblem::Gemm { size: 256, dtype: DType::F32 },
    StandardProblem::Gemm { size: 256, dtype: DType::F16 },
    StandardProblem::Gemv { n: 512, k: 1024 },
    StandardProblem::QuantGemv { format: BlockFormat::Q4_0, n: 256, k: 2048 },
    StandardProblem::QuantGemv { format: BlockFormat::Q8_0, n: 256, k: 2048 },
    StandardProblem::QuantGemv { format: BlockFormat::Q4_K, n: 256, k: 2048 },
    StandardProblem::QuantGemv { format: BlockFormat::Q5_K, n: 256, k: 2048 },
    StandardProblem::QuantGemv { format: BlockFormat::Q6_K, n: 256, k: 2048 },
    StandardProblem::QuantGemm { format: BlockFormat::Q4_0, m: 64, n: 256, k: 512 },
    StandardProblem::QuantGemm { format: BlockFormat::Q4_K, m: 64, n: 256, k: 512 },
    StandardProblem::Decode { heads: 8, groups: 2, keys: 512, width: 128 },
    StandardProblem::Prefill { heads: 2, keys: 128, width: 64 },
    StandardProblem::Softmax { rows: 64, width: 1024 },
    StandardProblem::RmsNorm { rows: 64, width: 1024 },
];

impl StandardProblem {
    pub fn name(&self) -> String {
        match *self {
            StandardProblem::Gemm { size, .. } => format!("gemm {size}×{size}×{size}"),
            StandardProblem::Gemv { n, k } => format!("gemv {n}×{k}"),
            StandardProblem::QuantGemv { n, k, .. } => format!("quantised gemv {n}×{k}"),
            StandardProblem::QuantGemm { m, n, k, .. } => format!("quantised gemm {m}×{n}×{k}"),
            StandardProblem::Decode { heads, groups, keys, width } => {
                format!("attention, 1 query, {heads}/{groups} heads of {width}, {keys} keys")
            }
            StandardProblem::Prefill { heads, keys, width } => {
                format!("attention, {keys} queries, {heads} heads of {width}, {keys} keys")
            }
            StandardProblem::Softmax { rows, width } => format!("softmax {rows}×{width}"),
            StandardProblem::RmsNorm { rows, width } => format!("rms_norm {rows}×{width}"),
        }
    }

    pub fn dtype(&self) -> String {
        match self {
            StandardProblem::Gemm { dtype, .. } => dtype.name().into(),
            StandardProblem::QuantGemv { format, .. } | StandardProblem::QuantGemm { format, .. } => {
                format.name().into()
            }
            StandardProblem::Gemv { .. }
            | StandardProblem::Decode { .. }
            | StandardProblem::Prefill { .. } => "f16".into(),
            StandardProblem::Softmax { .. } | StandardProblem::RmsNorm { .. } => "f32".into(),
        }
    }

    fn node(&self, rig: &Rig) -> NodeRef {
        let f16 = |shape: [usize; 4]| rig.floats(&noise(1, shape.iter().product()), shape, DType::F16);
        let made = match *self {
            StandardProblem::Gemm { size, dtype } => {
                let of = |seed| rig.floats(&noise(seed, size * size), [size, size], dtype);
                build::matmul(&of(1), &of(2))
            }
            StandardProblem::Gemv { n, k } => {
                let rows = rig.floats(&noise(2, n * k), [n, k], DType::F16);
                let x = rig.floats(&noise(1, k), [1, k], DType::F16);
                build::permute(&rows, &[1, 0]).and_then(|matrix| build::matmul(&x, &matrix))
            }
            StandardProblem::QuantGemv { format, n, k } => quantised(rig, format, (1, n, k)),
            StandardProblem::QuantGemm { format, m, n, k } => quantised(rig, format, (m, n, k)),
            StandardProblem::Decode { heads, groups, keys, width } => {
                let (k, v) = (f16([1, groups, keys, width]), f16([1, groups, keys, width]));
                build::attention(&f16([1, heads, 1, width]), &k, &v, AttentionOptions::default())
            }
            StandardProblem::Prefill { heads, keys, width } => {
                let of = || f16([1, heads, keys, width]);
                build::attention(&of(), &of(), &of(), AttentionOptions::default())
            }
            StandardProblem::Softmax { rows, width } => {
                build::softmax(&rig.floats(&noise(1, rows * width), [rows, width], DType::F32), -1, false)
            }
            StandardProblem::RmsNorm { rows, width } => {
                let weight = rig.floats(&noise(2, width), [width], DType::F32);
                let x = rig.floats(&noise(1, rows * width), [rows, width], DType::F32);
                build::rms_norm(&x, Some(&weight), 1e-5)
            }
        };
        made.expect("standard problems are well formed")
    }

    /// What our kernels do with it.
    pub fn ours(&self, rig: &Rig) -> Counted {
        counted("wootz", self, &rig.profiles(&self.node(rig)))
    }
}

/// Quantised rows of noise.
pub fn blocks(format: BlockFormat, n: usize, k: usize) -> Vec<u8> {
    let mut bytes = vec![0; format.bytes_of(n * k).expect("whole blocks")];
    quantize(format, &noise(9, n * k), None, &mut bytes).expect("finite values");
    bytes
}

fn quantised(rig: &Rig, format: BlockFormat, (m, n, k): (usize, usize, usize)) -> wootz_ir::Result<NodeRef> {
    let bytes = blocks(format, n, k);
    let layout = Layout::contiguous(&Shape::from([n, bytes.len() / n]));
    let w = rig.place(&bytes, layout, DType::U8);
    build::quant_matmul(&rig.floats(&noise(1, m * k), [m, k], DType::F32), &w, format, Activations::Precise)
}

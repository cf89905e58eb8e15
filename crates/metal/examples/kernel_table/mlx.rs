//! MLX's kernels on the same problems: what Apple's compiler made of them, from the metallib of the package mlx-metal, with the launch
//! sizes that its host chooses on a medium GPU.
//!
//! Its quantised weights are groups of codes with a scale and a bias in the type of the activations; groups of 32 in f16 are the
//! nearest to our formats, which have 4.5 to 8.5 bits a weight where these have one more half bit.

use crate::peers::{Arg, Fields, Launch, Peer, ceil, float, floats, halves, int, long, of};
use crate::problems::{StandardProblem, counted};
use softmetal::Result;
use std::path::Path;
use wootz_blocks::BlockFormat;
use wootz_ir::DType;
use wootz_report::Counted;

/// The metallib's kernels for a problem; `None` where MLX has none for it.
pub fn mlx(metallib: &Path, problem: &StandardProblem) -> Option<Result<Counted>> {
    let launch = match *problem {
        StandardProblem::Gemm { size, dtype } => gemm(size, dtype),
        StandardProblem::Gemv { n, k } => gemv(n, k),
        StandardProblem::QuantGemv { format, n, k } => qmv(bits(format), n, k),
        StandardProblem::QuantGemm { format, m, n, k } => qmm(bits(format), (m, n, k)),
        StandardProblem::Decode { heads, groups, keys, width } => sdpa_vector((heads, groups), keys, width),
        StandardProblem::Prefill { heads, keys, width } => steel_attention(heads, keys, width),
        StandardProblem::Softmax { rows, width } => softmax(rows, width),
        StandardProblem::RmsNorm { rows, width } => rms_norm(rows, width),
    };
    let run = || Ok(counted("mlx", problem, &Peer::compiled(metallib)?.run(&launch)?));
    Some(run())
}

/// The bits of its codes that are nearest to a format.
fn bits(format: BlockFormat) -> usize {
    match format {
        BlockFormat::Q8_0 => 8,
        BlockFormat::Q6_K => 6,
        BlockFormat::Q5_K => 5,
        _ => 4,
    }
}

/// How its names spell a dtype.
fn spelled(dtype: DType) -> &'static str {
    if dtype == DType::F16 { "float16" } else { "float32" }
}

fn gemm(size: usize, dtype: DType) -> Launch {
    let (tile, steps) = (64, 16);
    let tiles = size.div_ceil(tile);
    let params = Fields::default()
        .i32(&[size, size, size, size, size, size, tiles, tiles])
        .i64(&[0, 0, 0])
        .i32(&[0, size / steps, 1]);
    let whole = [(200, tile), (201, tile), (202, steps)].map(|(index, of)| (index, size.is_multiple_of(of)));
    let name = spelled(dtype);
    Launch {
        kernel: format!("steel_gemm_fused_nn_{name}_{name}_bm64_bn64_bk16_wm2_wn2"),
        groups: (ceil(size, tile), ceil(size, tile), 1),
        threads: (32, 2, 2),
        memory: 0,
        constants: [(10, false), (100, false), (110, false)].into_iter().chain(whole).collect(),
        args: vec![
            of(dtype, size * size),
            of(dtype, size * size),
            Arg::Nothing,
            Arg::Room(size * size * dtype.size()),
            params.done(),
        ],
    }
}

fn gemv(n: usize, k: usize) -> Launch {
    Launch {
        kernel: "gemv_float16_bm4_bn1_sm1_sn32_tm4_tn4_nc0_axpby0".into(),
        groups: (ceil(n, 16), 1, 1),
        threads: (32, 1, 4),
        memory: 0,
        constants: vec![],
        args: vec![
            halves(n * k),
            halves(k),
            Arg::Room(n * 2),
            Arg::Room(n * 2),
            int(k),
            int(n),
            int(k),
            float(1.0),
            float(0.0),
            int(1),
            int(1),
            long(0),
            long(0),
            long(0),
            int(1),
        ],
    }
}

/// Codes, scales and biases of `n` rows of `k` weights.
fn weights(bits: usize, n: usize, k: usize) -> [Arg; 3] {
    let codes = (0..n * k * bits / 8).map(|i| (i * 37) as u8).collect();
    [Arg::Data(codes), halves(n * k / 32), halves(n * k / 32)]
}

/// No batches.
fn no_batches() -> [Arg; 8] {
    [int(0), int(1), long(0), int(0), int(1), long(0), long(0), long(0)]
}

fn qmv(bits: usize, n: usize, k: usize) -> Launch {
    let operands = [halves(k), Arg::Room(n * 2), int(k), int(n)];
    Launch {
        kernel: format!("affine_qmv_fast_float16_t_gs_32_b_{bits}_batch_0_pr_0_hgs_0_r_4"),
        groups: (1, ceil(n, 8), 1),
        threads: (32, 2, 1),
        memory: 0,
        constants: vec![],
        args: weights(bits, n, k).into_iter().chain(operands).chain(no_batches()).collect(),
    }
}

fn qmm(bits: usize, (m, n, k): (usize, usize, usize)) -> Launch {
    let operands = [halves(m * k), Arg::Room(m * n * 2), int(k), int(n), int(m)];
    Launch {
        kernel: format!("affine_qmm_t_float16_t_gs_32_b_{bits}_alN_true_batch_0"),
        groups: (ceil(n, 32), ceil(m, 32), 1),
        threads: (32, 2, 2),
        memory: 0,
        constants: vec![],
        args: weights(bits, n, k).into_iter().chain(operands).chain(no_batches()).collect(),
    }
}

fn sdpa_vector((heads, groups): (usize, usize), keys: usize, width: usize) -> Launch {
    Launch {
        kernel: format!("sdpa_vector_float16_t_{width}_{width}"),
        groups: (heads as u32, 1, 1),
        threads: (1024, 1, 1),
        memory: 0,
        constants: (20..26).map(|index| (index, false)).collect(),
        args: vec![
            halves(heads * width),
            halves(groups * keys * width),
            halves(groups * keys * width),
            Arg::Room(heads * width * 2),
            int(heads / groups),
            int(keys),
            long(keys * width),
            long(width),
            long(keys * width),
            long(width),
            float(1.0 / (width as f32).sqrt()),
        ],
    }
}

fn steel_attention(heads: usize, keys: usize, width: usize) -> Launch {
    let (bq, bk) = (32, if width < 128 { 32 } else { 16 });
    let steps = [heads * keys * width, keys * width, width];
    let params = Fields::default()
        .i32(&[1, heads, width, keys, keys, 1])
        .f32(&[1.0 / (width as f32).sqrt()])
        .i32(&[keys.div_ceil(bq), keys.div_ceil(bk), keys / bq, keys / bk, keys % bq, keys % bk, 0])
        .i64(&steps.repeat(4));
    let count = heads * keys * width;
    let whole = [(200, keys.is_multiple_of(bq)), (201, keys.is_multiple_of(bk))];
    Launch {
        kernel: format!("steel_attention_float16_bq{bq}_bk{bk}_bd{width}_bv{width}_wm4_wn1_maskfloat16"),
        groups: (ceil(keys, bq), heads as u32, 1),
        threads: (32, 4, 1),
        memory: 0,
        constants: whole.into_iter().chain((300..304).map(|index| (index, false))).collect(),
        args: vec![halves(count), halves(count), halves(count), Arg::Room(count * 2), params.done()],
    }
}

fn softmax(rows: usize, width: usize) -> Launch {
    Launch {
        kernel: "block_softmax_float32".into(),
        groups: (rows as u32, 1, 1),
        threads: (width.div_ceil(4).next_multiple_of(32) as u32, 1, 1),
        memory: 0,
        constants: vec![],
        args: vec![floats(rows * width), Arg::Room(rows * width * 4), int(width)],
    }
}

fn rms_norm(rows: usize, width: usize) -> Launch {
    Launch {
        kernel: "rmsfloat32".into(),
        groups: (rows as u32, 1, 1),
        threads: (width.div_ceil(4).next_multiple_of(32) as u32, 1, 1),
        memory: 0,
        constants: vec![],
        args: vec![
            floats(rows * width),
            floats(width),
            Arg::Room(rows * width * 4),
            float(1e-5),
            int(width),
            int(1),
        ],
    }
}

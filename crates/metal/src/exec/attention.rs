//! Scaled-dot-product attention: a vector variant for few rows, a tiled one with simdgroup matrices for many, and a
//! plain one for other GPUs.

use super::{Launch, Launches, refuse};
use crate::codegen::Parts;
use crate::driver::Facts;
use crate::source::{Texts, kernels};
use wootz_gpu::problem::AttentionProblem as StridedMatmul;
use wootz_ir::op::AttentionSpec;
use wootz_ir::{DType, Result};
use wootz_plan::{Load, Step};

/// Rows (heads of a group times queries) that one threadgroup of the vector variant takes.
const FEW_ROWS: usize = 8;
/// Threadgroups that fill a GPU of medium size.
const ENOUGH_GROUPS: usize = 64;
/// Keys that are worth a threadgroup of their own.
const KEYS_OF_SPLIT: usize = 256;
/// Threadgroup memory that leaves room for a second group on a core.
const MODEST_MEMORY: usize = 16 << 10;
/// Row widths up to which queries and sums fit in registers.
const WIDEST: usize = 256;

pub fn launches(step: &Step, facts: &Facts, spec: AttentionSpec) -> Result<Launches> {
    let plain: Option<Vec<&Load>> = step.inputs.iter().map(|input| input.plain()).collect();
    let Some(loads) = plain else {
        return refuse(step, facts, "its operands are not in memory, as requested from the planner");
    };
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let p = StridedMatmul::of(step, spec);
    let rows = p.sharing() * p.t;
    let half = loads[..3].iter().all(|load| load.dtype == DType::F16);
    let tile = prefill_keys(&p, half);
    let lanes = facts.simd_width == 32 && p.d > 0;
    if lanes && rows <= FEW_ROWS && decode_memory(&p, rows, 1) <= 2 * MODEST_MEMORY {
        return Ok(decode(&p, rows, &loads));
    }
    if let Some(keys) = tile.filter(|_| lanes && facts.simdgroup_matrix) {
        return Ok(prefill(&p, rows, keys, half, &loads));
    }
    Ok(tiled(&p, &loads))
}

/// Macros and numbers that all variants share.
fn common(p: &StridedMatmul, splits: usize, loads: &[&Load], texts: Texts, kernel: &'static str) -> Launch {
    let unit = |slot: usize| loads[slot].layout.strides[3] == 1;
    let mut launch = Launch::new(texts, kernel)
        .define("K_WIDTH", p.d)
        .define("V_WIDTH", p.e)
        .define("MASK", u32::from(p.spec.mask))
        .define("SINKS", u32::from(p.spec.sinks))
        .define("CAUSAL", u32::from(p.spec.causal))
        .define("WINDOW", u32::from(p.spec.window.is_some()))
        .define("SOFTCAP", u32::from(p.spec.softcap.is_some()))
        .define("K_UNIT", unit(1))
        .define("V_UNIT", unit(2));
    let bits = |v: f64| u64::from((v as f32).to_bits());
    launch.dims = [p.b, p.h, p.g, p.t, p.s, splits].map(|d| d as u64).to_vec();
    launch.dims.push(bits(p.spec.scale.get()));
    launch.dims.push(bits(p.spec.softcap.map_or(1.0, |cap| cap.get())));
    launch.dims.push(p.spec.window.unwrap_or(0).min(1 << 30) as u64);
    launch
}

/// Bytes of threadgroup memory of the vector variant.
fn decode_memory(p: &StridedMatmul, rows: usize, simds: usize) -> usize {
    rows * (p.d.next_multiple_of(4) * 4 + simds * (32 * 4 + p.e * 4 + 8))
}

fn decode(p: &StridedMatmul, rows: usize, loads: &[&Load]) -> Launches {
    let simds = [4, 2].into_iter().find(|&n| decode_memory(p, rows, n) <= MODEST_MEMORY).unwrap_or(1);
    let splits = (ENOUGH_GROUPS / (p.b * p.g)).min(p.s / KEYS_OF_SPLIT).max(1);
    let mut launch = common(
        p,
        splits,
        loads,
        kernels!("products", "attention", "attention_share", "attention_decode"),
        "attention_decode",
    )
    .define("ROWS", rows)
    .define("SIMDS", simds);
    launch.groups = [1, (p.b * p.g) as u32, splits as u32];
    launch.threads = [32 * simds as u32, 1, 1];
    if splits == 1 {
        return launch.alone();
    }
    let mut launch = launch.define("SPLIT", 1);
    launch.parts = Parts { epilogue: false, scratch: true, ..Parts::WHOLE };
    let out_rows = p.rows();
    let mut combine =
        Launch::new(kernels!("products", "attention_share", "attention_combine"), "attention_combine")
            .define("V_WIDTH", p.e)
            .define("MASK", u32::from(p.spec.mask))
            .define("SINKS", u32::from(p.spec.sinks))
            .over(out_rows * p.e, 256, 1 << 16);
    combine.parts = Parts { inputs: p.spec.sinks, scratch: true, ..Parts::WHOLE };
    combine.dims = launch.dims.clone();
    Launches { list: vec![launch, combine], scratch: splits * out_rows * (p.e + 2) * size_of::<f32>() }
}

/// Keys of a tile whose K and V fit in threadgroup memory; none if rows are too wide for registers.
fn prefill_keys(p: &StridedMatmul, half: bool) -> Option<usize> {
    if p.d.max(p.e) > WIDEST {
        return None;
    }
    let (d, e) = (p.d.next_multiple_of(8), p.e.next_multiple_of(8));
    let size = if half { 2 } else { 4 };
    let bytes = |keys: usize| (d * (keys + 4)).max(keys * (e + 4)) * size;
    [32, 16].into_iter().find(|&keys| bytes(keys) <= 24 << 10)
}

fn prefill(p: &StridedMatmul, rows: usize, keys: usize, half: bool, loads: &[&Load]) -> Launches {
    let mut launch = common(
        p,
        1,
        loads,
        kernels!("products", "attention", "attention_share", "attention_prefill"),
        "attention_prefill",
    )
    .define("KEYS", keys)
    .define("TILE_TYPE", if half { "half" } else { "float" });
    launch.groups = [rows.div_ceil(32) as u32, (p.b * p.g) as u32, 1];
    launch.threads = [128, 1, 1];
    launch.alone()
}

fn tiled(p: &StridedMatmul, loads: &[&Load]) -> Launches {
    let mut launch = common(
        p,
        1,
        loads,
        kernels!("products", "attention", "attention_share", "attention_tiled"),
        "attention_tiled",
    );
    launch.groups = [p.t as u32, (p.b * p.h) as u32, 1];
    launch.threads = [64, 1, 1];
    launch.alone()
}

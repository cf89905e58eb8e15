//! The `.metal` files, and the source of a pipeline put together from them.

use crate::exec::Launch;
use std::fmt::Write;

const PRELUDE: &str = include_str!("../kernels/prelude.metal");

/// A file of `kernels/`.
macro_rules! kernels {
    ($name:literal) => {
        include_str!(concat!("../kernels/", $name, ".metal"))
    };
}

/// The texts of a family: what it shares with others, then its own file.
fn family(name: &str) -> &'static [&'static str] {
    const LANES: &str = kernels!("lanes");
    const BLOCKS: &str = kernels!("blocks");
    const PRODUCTS: &str = kernels!("products");
    const ATTENTION: &str = kernels!("attention");
    match name {
        "map" => &[kernels!("map")],
        "reduce" => &[LANES, kernels!("reduce")],
        "arg_reduce" => &[kernels!("arg_reduce")],
        "scan" => &[LANES, kernels!("scan")],
        "sort" => &[kernels!("sort")],
        "softmax" => &[LANES, kernels!("softmax")],
        "norm" => &[LANES, kernels!("norm")],
        "rope" => &[kernels!("rope")],
        "gather" => &[kernels!("index"), kernels!("gather")],
        "scatter" => &[LANES, kernels!("index"), kernels!("scatter")],
        "write_at" => &[kernels!("write_at")],
        "quant_gather" => &[BLOCKS, kernels!("quant_gather")],
        "quant_gather_floats" => &[kernels!("quant_gather")],
        "gemm" => &[PRODUCTS, kernels!("matrix_sums"), kernels!("gemm")],
        "gemm_tiled" => &[PRODUCTS, kernels!("gemm_tiled")],
        "gemv" => &[PRODUCTS, kernels!("gemv")],
        "split_sum" => &[kernels!("split_sum")],
        "pack_bytes" => &[PRODUCTS, kernels!("pack_bytes")],
        "quant_gemv" => &[PRODUCTS, BLOCKS, kernels!("quant_gemv")],
        "quant_gemm" => &[PRODUCTS, BLOCKS, kernels!("matrix_sums"), kernels!("quant_gemm")],
        "attention_decode" => &[PRODUCTS, ATTENTION, kernels!("attention_decode")],
        "attention_combine" => &[kernels!("attention_combine")],
        "attention_prefill" => &[PRODUCTS, ATTENTION, kernels!("attention_prefill")],
        "attention_tiled" => &[PRODUCTS, ATTENTION, kernels!("attention_tiled")],
        "wkv7" => &[PRODUCTS, kernels!("wkv7")],
        _ => unreachable!("no kernel family is called {name}"),
    }
}

/// Defines, prelude, the step's code, the family.
pub fn source(launch: &Launch, step_code: &str) -> String {
    let mut text = String::with_capacity(PRELUDE.len() + step_code.len() + 4096);
    for (name, value) in &launch.defines {
        let _ = writeln!(text, "#define {name} {value}");
    }
    text.push_str(PRELUDE);
    text.push_str(step_code);
    family(launch.family).iter().for_each(|part| text.push_str(part));
    text
}

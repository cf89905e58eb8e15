//! The `.metal` files, and the source of a pipeline put together from them.

use crate::exec::Launch;
use std::fmt::Write;

const PRELUDE: &str = include_str!("../kernels/prelude.metal");

/// The text of a family's file.
fn family(name: &str) -> &'static str {
    match name {
        "map" => include_str!("../kernels/map.metal"),
        "gemm" => concat!(
            include_str!("../kernels/products.metal"),
            include_str!("../kernels/matrix_sums.metal"),
            include_str!("../kernels/gemm.metal")
        ),
        "gemm_tiled" => {
            concat!(include_str!("../kernels/products.metal"), include_str!("../kernels/gemm_tiled.metal"))
        }
        "gemv" => concat!(include_str!("../kernels/products.metal"), include_str!("../kernels/gemv.metal")),
        "split_sum" => include_str!("../kernels/split_sum.metal"),
        "pack_bytes" => {
            concat!(include_str!("../kernels/products.metal"), include_str!("../kernels/pack_bytes.metal"))
        }
        "quant_gemv" => concat!(
            include_str!("../kernels/products.metal"),
            include_str!("../kernels/blocks.metal"),
            include_str!("../kernels/quant_gemv.metal")
        ),
        "quant_gemm" => concat!(
            include_str!("../kernels/products.metal"),
            include_str!("../kernels/blocks.metal"),
            include_str!("../kernels/matrix_sums.metal"),
            include_str!("../kernels/quant_gemm.metal")
        ),
        "attention_decode" => concat!(
            include_str!("../kernels/products.metal"),
            include_str!("../kernels/attention.metal"),
            include_str!("../kernels/attention_decode.metal")
        ),
        "attention_combine" => include_str!("../kernels/attention_combine.metal"),
        "attention_prefill" => concat!(
            include_str!("../kernels/products.metal"),
            include_str!("../kernels/attention.metal"),
            include_str!("../kernels/attention_prefill.metal")
        ),
        "attention_tiled" => concat!(
            include_str!("../kernels/products.metal"),
            include_str!("../kernels/attention.metal"),
            include_str!("../kernels/attention_tiled.metal")
        ),
        "wkv7" => concat!(include_str!("../kernels/products.metal"), include_str!("../kernels/wkv7.metal")),
        _ => unreachable!("no kernel family is called {name}"),
    }
}

/// Prelude, defines, the step's code, the family.
pub fn source(launch: &Launch, step_code: &str) -> String {
    let mut text = String::with_capacity(PRELUDE.len() + step_code.len() + 4096);
    text.push_str(PRELUDE);
    // Behind the prelude, so that no header of Metal's own sees them.
    for (name, value) in &launch.defines {
        let _ = writeln!(text, "#define {name} {value}");
    }
    text.push_str(step_code);
    text.push_str(family(launch.family));
    text
}

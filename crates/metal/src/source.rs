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
        "quant_gather" => &[kernels!("quant_gather")],
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
    if launch.defines.iter().any(|(name, _)| *name == "FORMAT") {
        text.push_str(kernels!("blocks"));
    }
    family(launch.family).iter().for_each(|part| text.push_str(part));
    text
}

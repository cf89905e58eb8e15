//! The `.metal` files, and the source of a pipeline put together from them.

use crate::exec::Launch;
use std::fmt::Write;

const PRELUDE: &str = include_str!("../kernels/prelude.metal");

/// The text of a family's file.
fn family(name: &str) -> &'static str {
    match name {
        "map" => include_str!("../kernels/map.metal"),
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
    text.push_str(family(launch.family));
    text
}

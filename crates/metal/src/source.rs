//! The source of a pipeline, assembled from `.metal` files and generated code.

use crate::exec::Launch;
use std::fmt::Write;

/// Files of `kernels/` in the order in which they need each other.
pub type Texts = &'static [&'static str];

/// The texts of files of `kernels/`, by name.
macro_rules! kernels {
    ($($name:literal),*) => {
        &[$(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $name, ".metal"))),*]
    };
}
pub(crate) use kernels;

const PRELUDE: Texts = kernels!("prelude");

/// Prelude, defines, the step's code, the family.
pub fn source(launch: &Launch, step_code: &str) -> String {
    let mut text = PRELUDE.concat();
    // Behind the prelude, so that no header of Metal's own sees them.
    for (name, value) in &launch.defines {
        let _ = writeln!(text, "#define {name} {value}");
    }
    text.push_str(step_code);
    launch.texts.iter().for_each(|part| text.push_str(part));
    text
}

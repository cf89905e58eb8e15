//! Writes docs/metal-kernels.md and .json: what our kernels cost on standard problems, next to other projects' kernels.
//!
//! `cargo run -p wootz-metal --example kernel_table -- --candle DIR --llama DIR --mlx FILE`, where DIR holds the `.metal` files of the
//! crate candle-metal-kernels (`src/metal_src`) and of the package llama-cpp-python 0.3.9 (`vendor/llama.cpp/ggml/src/ggml-metal`),
//! and FILE is `mlx.metallib` of the package mlx-metal; `crates/softmetal/conformance` has fetch.py and mlx_wheel.py, which find
//! them. Without one, that project's rows stay as they are.

mod mlx;
mod peers;
mod problems;
#[path = "../../tests/products/rig.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod rig;
mod table;

use problems::{PROBLEMS, StandardProblem};
use std::path::{Path, PathBuf};
use wootz_report::Counted;

/// What a project's kernels cost on a problem, given where they are; `None` for a problem that is not counted there.
type Count = fn(&Path, &StandardProblem) -> Option<softmetal::Result<Counted>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = |name: &str| -> Option<PathBuf> {
        let at = arguments.iter().position(|a| a == name)?;
        arguments.get(at + 1).map(PathBuf::from)
    };
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let before: Vec<Counted> = match std::fs::read_to_string(docs.join("metal-kernels.json")) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => vec![],
    };
    let rig = rig::Rig::counting();
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for problem in &PROBLEMS {
        eprintln!("{} {}", problem.name(), problem.dtype());
        rows.push(problem.ours(&rig));
        let kept = |project: &str| {
            let same = |r: &&Counted| {
                r.project == project && r.problem == problem.name() && r.dtype == problem.dtype()
            };
            before.iter().find(same).cloned()
        };
        let projects: [(&str, &str, Count); 3] = [
            ("candle", "--candle", peers::candle),
            ("llama.cpp", "--llama", peers::llama),
            ("mlx", "--mlx", mlx::mlx),
        ];
        for (project, option, count) in projects {
            rows.extend(match folder(option) {
                Some(folder) => count(&folder, problem).and_then(|row| {
                    row.map_err(|e| failed.push(format!("{project}, {}: {e}", problem.name()))).ok()
                }),
                None => kept(project),
            });
        }
    }
    std::fs::write(docs.join("metal-kernels.json"), serde_json::to_string_pretty(&rows)? + "\n")?;
    std::fs::write(docs.join("metal-kernels.md"), table::markdown(&rows))?;
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

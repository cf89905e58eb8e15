//! Runs the judging pass: C++ for OpenCL, syntax only.

use super::cache::key;
use super::clang::{Compiler, run};
use crate::error::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

const FLAGS: &[&str] = &[
    "-cl-std=CLC++2021",
    "-cl-no-stdinc",
    "--target=x86_64-unknown-linux-gnu",
    "-nostdinc",
    "-cl-single-precision-constant",
    "-fno-caret-diagnostics",
    "-fno-color-diagnostics",
    "-ferror-limit=0",
    "-Wno-everything",
    "-Wimplicit-float-conversion",
    "-Wdouble-promotion",
    "-Wpre-c++17-compat",
    "-Wuser-defined-warnings",
    "-Wno-implicit-int-float-conversion",
    "-Xclang",
    "-cl-ext=-__opencl_c_pipes,-__opencl_c_device_enqueue,+cl_khr_fp16,+__cl_clang_function_pointers,+__cl_clang_variadic_functions,+__cl_clang_bitfields",
    "-Xclang",
    "-fno-pch-timestamp",
];

impl Compiler {
    /// clang's messages about a text; none where an earlier run had none that break a rule.
    pub(crate) fn judge(&self, text: &str) -> Result<String> {
        let precompile: Vec<&str> =
            FLAGS.iter().chain(&["-x", "clcpp", "-c", "-Xclang", "-emit-pch"]).copied().collect();
        let pch = self.precompiled_header(&precompile, "judge/judge.h")?;
        let mut c = Command::new(&self.clang);
        c.args(FLAGS).arg("-fsyntax-only").arg("-include-pch").arg(pch).args(["-x", "clcpp", "-"]);
        Ok(run(c, Some(text))?.stderr)
    }

    /// Where it is noted that nothing was found in a text.
    pub(crate) fn verdict_path(&self, text: &str, version: u32) -> PathBuf {
        // A verdict counts for the rules that it was made with.
        let rules = [FLAGS.concat().as_str(), include_str!("../judge/verdict.rs")].concat();
        let name =
            key([text.as_bytes(), &version.to_le_bytes(), rules.as_bytes(), self.identity().as_bytes()]);
        self.cache.path("verdicts").join(&name[..2]).join(&name)
    }

    /// Notes that nothing was found in the text of this path.
    pub(crate) fn note_clean(&self, path: &Path) {
        // A verdict that could not be kept is found again.
        let _ = self.cache.remember(path, "clean");
    }

    /// Whether that was noted.
    pub(crate) fn is_clean(&self, path: &Path) -> bool {
        self.cache.recall(path).is_some()
    }

    /// The folder of our headers.
    pub(crate) fn shim_folder(&self) -> &Path {
        &self.folder
    }
}

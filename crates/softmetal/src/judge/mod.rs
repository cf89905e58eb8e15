//! A second, syntax-only pass in which Apple's rules are the compiler's own.
//!
//! The code that runs has no address spaces: they are erased before clang sees it. So whether a source keeps Apple's rules is judged on
//! another translation of the same source, into C++ for OpenCL, where address spaces are part of types, methods are qualified, vectors
//! are the compiler's own and function constants are no constants. Of its messages only those count that belong to a rule
//! ([`verdict`]); everything else is for the compiling pass to say.

mod calls;
mod kernels;
mod rewrite;
mod verdict;

use crate::compile::clang::Compiler;
use crate::error::{Error, Result};
use crate::source::unit::Unit;

/// Refuses what Apple's compiler would, and notes which overloads calls mean. `main` is the name and the text of the main file.
pub(crate) fn judge(compiler: &Compiler, unit: &mut Unit, main: (&str, &str)) -> Result<()> {
    let text = format!("{}{}", rewrite::rewrite(unit), kernels::assertions(unit));
    let path = compiler.verdict_path(&text);
    if path.exists() && unit.overloads.items.is_empty() {
        return Ok(());
    }
    let messages = compiler.judge(&text)?;
    let mut diagnostics = verdict::findings(&messages, &text, compiler.shim_folder(), main);
    diagnostics.extend(calls::resolve(unit, &messages));
    if diagnostics.is_empty() {
        compiler.note_clean(&path);
        return Ok(());
    }
    Err(Error::Compile { diagnostics })
}

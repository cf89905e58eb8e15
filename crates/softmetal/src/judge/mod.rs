//! A second, syntax-only pass in which Apple's rules are rules of the language.
//!
//! The code that runs has no address spaces: they are erased before clang sees it. So whether a source follows
//! Apple's rules is checked on another translation of the same source, to C++ for OpenCL, where address spaces are
//! part of types, methods are qualified, vectors are built in and function constants are not constant expressions.
//! Only errors that correspond to a rule count ([`verdict`]); everything else is left to the compiling pass.

mod calls;
mod kernels;
mod rewrite;
mod verdict;

use crate::compile::clang::Compiler;
use crate::compile::shim::is_library_header;
use crate::error::{Error, Result};
use crate::source::unit::Unit;
use std::path::PathBuf;

/// Refuses what Apple's compiler would, and notes which overloads calls mean. `main` is the name and the text of the main file.
pub(crate) fn judge(compiler: &Compiler, unit: &mut Unit, version: u32, main: (&str, &str)) -> Result<()> {
    let text = text(unit, "");
    let path = compiler.verdict_path(&text, version);
    if compiler.is_clean(&path) && unit.overloads.items.is_empty() {
        return Ok(());
    }
    let messages = compiler.judge(&text)?;
    let mut diagnostics = verdict::findings(&messages, &text, compiler.shim_folder(), version, main);
    for d in diagnostics.iter_mut().filter(|d| d.file == calls::FILE) {
        (d.file, d.line) = unit.lx.place(d.line as usize);
        d.column = 0;
    }
    diagnostics.extend(calls::resolve(unit, &messages));
    if diagnostics.is_empty() {
        compiler.note_clean(&path);
        return Ok(());
    }
    Err(Error::Compile { diagnostics })
}

/// Judges units in one run of clang. Notes that all are clean, or nothing: each is then judged alone when it is asked for.
pub(crate) fn judge_together(compiler: &Compiler, units: &[Unit], version: u32) {
    let pending: Vec<(&Unit, PathBuf)> = units
        .iter()
        .filter(|u| stands_alone(u))
        .map(|u| (u, compiler.verdict_path(&text(u, ""), version)))
        .filter(|(_, path)| !compiler.is_clean(path))
        .collect();
    if pending.len() < 2 {
        return;
    }
    let all: String = pending
        .iter()
        .enumerate()
        .map(|(i, (unit, _))| {
            let space = format!("softmetal_unit_{i}");
            format!("namespace {space} {{\n{}\n}}\n", text(unit, &space))
        })
        .collect();
    // What cannot be run here is run, and told, where a unit is judged alone.
    let Ok(messages) = compiler.judge(&all) else { return };
    if verdict::findings(&messages, &all, compiler.shim_folder(), version, ("", "")).is_empty() {
        pending.iter().for_each(|(_, path)| compiler.note_clean(path));
    }
}

/// Whether a unit means the same inside of a namespace.
fn stands_alone(unit: &Unit) -> bool {
    let lx = &unit.lx;
    let ours = |k: usize| is_library_header(&lx.files[lx.tokens[k].file as usize]);
    let opens = |k: usize| lx.is(k, "namespace") && !lx.is(k.wrapping_sub(1), "using") && !ours(k);
    let specialises = |k: usize| lx.is(k, "template") && lx.is(k + 1, "<") && lx.is(k + 2, ">");
    unit.overloads.items.is_empty() && !(0..lx.tokens.len()).any(|k| opens(k) || specialises(k))
}

/// The unit as the judging pass sees it, in a namespace or in none.
pub(crate) fn text(unit: &Unit, space: &str) -> String {
    format!("{}{}", rewrite::rewrite(unit), kernels::assertions(unit, space))
}

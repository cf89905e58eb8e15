//! Batch compilation of many kernels in one run of clang: the process, the precompiled shim and the linker cost
//! several times as much as a small kernel.
//!
//! Nothing here is an error: kernels that cannot be compiled in a batch are skipped, and compiled individually, with
//! their messages, when they are requested.

use super::cache::key;
use super::clang::{Compiler, Mode, Preprocess, named, run};
use super::module::Code;
use super::{preprocessed, shim};
use crate::source::thunk::LIBRARY;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A kernel's C++ text, alone in a library and in a namespace.
pub struct Unit {
    /// As [`Compiler::compile`] would be given it; names the code in the cache.
    pub alone: String,
    /// The namespace.
    pub space: String,
    /// The same code in the namespace, without what a library has once.
    pub text: String,
}

/// Held while records of sources are written.
static WRITING: Mutex<()> = Mutex::new(());

/// Stands before each source while many are preprocessed as one.
const MARK: &str = "#pragma softmetal_source";

impl Compiler {
    /// The code of this name, in a library of its own or in one of several kernels.
    pub(super) fn find(&self, name: &str) -> Option<Code> {
        let path = self.library_path(name);
        if self.cache.holds(&path) {
            return Some(Code { path, suffix: String::new() });
        }
        let place = self.cache.recall(&path.with_extension("in"))?;
        let (library, suffix) = place.split_once(' ')?;
        let path = self.library_path(library);
        self.cache.holds(&path).then(|| Code { path, suffix: suffix.to_string() })
    }

    /// Whether the code of this text is in the cache.
    pub fn has(&self, text: &str, mode: Mode) -> bool {
        self.find(&self.code_name(text, mode)).is_some()
    }

    /// Compiles kernels without threadgroup variables to one library. Says whether that worked.
    pub fn compile_together(&self, units: &[Unit], mode: Mode) -> bool {
        let mut text = String::with_capacity(units.iter().map(|u| u.text.len()).sum());
        for unit in units {
            text.push_str(&unit.text);
            text.push('\n');
        }
        text.push_str(LIBRARY);
        let library = self.code_name(&text, mode);
        let path = self.library_path(&library);
        if !self.cache.holds(&path) && self.build(&text, mode, &path).is_err() {
            return false;
        }
        units.iter().all(|u| {
            let name = self.code_name(&u.alone, mode);
            let place = self.library_path(&name).with_extension("in");
            self.cache.remember(&place, &format!("{library} {}", u.space)).is_ok()
        })
    }

    /// Preprocesses sources that are not in the cache yet, as one where that gives the same text as one by one.
    pub fn preprocess_together(&self, sources: &[(&str, &Preprocess)]) {
        let Some(first) = sources.first() else { return };
        let arguments = self.preprocess_arguments(first.1);
        let mut seen = FxHashSet::default();
        let pending: Vec<_> = sources
            .iter()
            .filter(|(source, p)| self.preprocess_arguments(p) == arguments && stands_alone(source, p))
            .map(|(source, p)| (*source, *p, self.preprocessed_path(source, p)))
            .filter(|(.., path)| seen.insert(path.clone()) && self.known(path).is_none())
            .collect();
        if pending.len() < 2 {
            return;
        }
        let mut text = String::new();
        for (i, (source, p, _)) in pending.iter().enumerate() {
            let _ = write!(text, "{MARK} {i}\n{}\n", named(source, p));
            defined(source).for_each(|name| {
                let _ = writeln!(text, "#undef {name}");
            });
        }
        let mut c = Command::new(&self.clang);
        c.args(arguments);
        let Ok(out) = run(c, Some(&text)) else { return };
        let parts = split(&out.stdout);
        if !out.ok || parts.len() != pending.len() {
            return;
        }
        // Texts differ in blank lines by their neighbours: the first record stays, and code made from it is found again.
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        for ((_, p, path), part) in
            pending.iter().zip(parts).filter(|((.., path), _)| self.known(path).is_none())
        {
            // A record that could not be written is made again by whoever needs it.
            let _ = self.cache.remember(path, &preprocessed::record(part, &self.folder, &p.file_name));
        }
    }
}

/// A namespace for a unit, named after its text, so that the same kernels in another order are the same code.
pub fn namespace(alone: &str) -> String {
    format!("softmetal_{}", key([alone.as_bytes()]))
}

/// The pieces behind each mark.
fn split(text: &str) -> Vec<&str> {
    let mut parts = text.split(MARK);
    parts.next();
    parts.map(|part| part.split_once('\n').map_or("", |(_, rest)| rest)).collect()
}

/// The directives of a source: word, and what follows.
fn directives(source: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = source.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
    lines.map(|line| {
        let line = line.trim();
        let end = line.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(line.len());
        (&line[..end], line[end..].trim_start())
    })
}

/// Names of the macros that a source defines.
fn defined(source: &str) -> impl Iterator<Item = &str> {
    directives(source).filter(|(word, _)| *word == "define").map(|(_, rest)| first_name(rest))
}

fn first_name(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// Whether neither the sources before it nor its own directives can change what a source, or one behind it, expands to.
fn stands_alone(source: &str, p: &Preprocess) -> bool {
    let library = |rest: &str| shim::STUBS.iter().any(|s| rest == format!("<{s}>"));
    p.defines.is_empty()
        && source.contains("#include <metal_stdlib>")
        && !source.contains("__COUNTER__")
        && !source.contains(MARK)
        && directives(source).all(|(word, rest)| match word {
            "define" => !shim::MACROS.contains(&format!("#define {} ", first_name(rest))),
            "if" | "ifdef" | "ifndef" | "elif" | "else" | "endif" => true,
            "include" => library(rest),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_that_leave_nothing_behind_share_a_run() {
        let p = Preprocess::default();
        let head = "#include <metal_stdlib>\n";
        assert!(stands_alone(&format!("{head}#define A(x) x\n# if A(1)\n#endif\n"), &p));
        assert!(!stands_alone("int a;", &p));
        assert!(!stands_alone(&format!("{head}#include \"mine.h\"\n"), &p));
        assert!(!stands_alone(&format!("{head}#define NAN 0\n"), &p));
        assert!(!stands_alone(&format!("{head}#undef NAN\n"), &p));
        assert!(!stands_alone(head, &Preprocess { defines: vec![("A".into(), "1".into())], ..p }));
        assert_eq!(defined("#define A 1\n  #  define B(x) x\n").collect::<Vec<_>>(), ["A", "B"]);
        assert_eq!(split("#pragma softmetal_source 0\na\n#pragma softmetal_source 1\nb\n"), ["a\n", "b\n"]);
    }
}

//! Code that Apple's compiler rejects and clang accepts, found by its shape and reported at its line.

mod declarations;
mod definitions;
mod features;
mod pointers;
mod signatures;
mod words;

use crate::device::Family;
use crate::error::{Diagnostic, Error, Result};
use crate::source::items::ItemKind;
use crate::source::overloads::Overloads;
use crate::source::position::column_in_source;
use crate::source::unit::{Entry, Unit};
use rustc_hash::FxHashSet;

/// The input of the rules, and their findings.
pub(crate) struct Lint<'a> {
    unit: &'a Unit,
    main: (&'a str, &'a str),
    found: Vec<Diagnostic>,
    /// Names of functions that only a host can call.
    entry_points: FxHashSet<&'a str>,
}

impl<'a> Lint<'a> {
    fn new(unit: &'a Unit, main: (&'a str, &'a str)) -> Lint<'a> {
        let mut entry_points = FxHashSet::default();
        for item in unit.items.iter().filter(|it| matches!(it.kind, ItemKind::Kernel | ItemKind::Graphics)) {
            entry_points.insert(item.name.as_str());
        }
        for item in unit.items.iter().filter(|it| it.kind == ItemKind::Function) {
            entry_points.remove(item.name.as_str());
        }
        Lint { unit, main, found: Vec::new(), entry_points }
    }

    /// Adds a finding at a token.
    fn at(&mut self, token: usize, message: impl Into<String>) {
        let lx = &self.unit.lx;
        let (file, line) = lx.place(token);
        let start = lx.tokens.get(token).map_or(0, |t| t.start);
        let line_start = lx.text[..start].rfind('\n').map_or(0, |n| n + 1);
        let column = column_in_source(&lx.text, &file, line, (start - line_start + 1) as u32, self.main);
        let d = Diagnostic { file, line, column, message: message.into() };
        if !self.found.contains(&d) {
            self.found.push(d);
        }
    }

    fn finish(mut self) -> Result<()> {
        if self.found.is_empty() {
            return Ok(());
        }
        self.found.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        Err(Error::Compile { diagnostics: self.found })
    }
}

/// Checks a whole source. `main` is the name and the text of the main file.
pub(crate) fn check(unit: &Unit, version: u32, main: (&str, &str)) -> Result<()> {
    let mut lint = Lint::new(unit, main);
    words::check(&mut lint, version);
    declarations::check(&mut lint);
    definitions::check(&mut lint);
    pointers::check(&mut lint);
    signatures::check(&mut lint);
    features::check_version(&mut lint, version);
    for i in Overloads::inseparable(unit) {
        let name = &unit.items[i].name;
        let message = format!(
            "`{name}` differs from another in address spaces alone; SoftMetal cannot tell them apart: use functions with names"
        );
        lint.at(unit.items[i].start, message);
    }
    lint.finish()
}

/// Checks what one entry point can reach against a GPU family.
pub(crate) fn check_entry(unit: &Unit, entry: &Entry, family: Family, main: (&str, &str)) -> Result<()> {
    let mut lint = Lint::new(unit, main);
    features::check_family(&mut lint, entry, family);
    lint.finish()
}

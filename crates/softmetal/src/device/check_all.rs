//! Checks whether all kernels of a library compile, in few runs of clang.

use super::device::Device;
use super::pipeline::generate_check;
use super::source_library::SourceLibrary;
use crate::error::{Diagnostic, Error, Result};
use crate::lint;
use crate::source::items::{Item, ItemKind};
use crate::source::position::by_launch_line;

/// Rounds after which kernels that share errors are no longer told apart.
const ROUNDS: usize = 8;

impl SourceLibrary {
    /// Checks that kernels compile, all at once; one outcome per name. Function constants are zero.
    pub fn check_all(&self, device: &Device, names: &[String]) -> Vec<Option<Error>> {
        let unit = &self.0.unit;
        let entries: Vec<usize> =
            names.iter().filter_map(|n| unit.entries.iter().position(|e| e.host_name == *n)).collect();
        let main = (self.0.options.file_name.as_str(), self.0.source.as_str());
        let mut outcomes: Vec<Option<Error>> = entries
            .iter()
            .map(|&i| {
                let entry = &unit.entries[i];
                let family = || lint::check_entry(unit, entry, self.0.family, main).err();
                unit.bindings(entry).err().or_else(family)
            })
            .collect();
        let mut pending: Vec<usize> = (0..entries.len()).collect();
        for round in 0..=ROUNDS {
            let left: Vec<usize> = pending.iter().map(|&k| entries[k]).collect();
            let failed = match self.failures(device, &left) {
                Ok(failed) => failed,
                Err(e) => vec![(None, e)],
            };
            let common = failed.iter().find(|(line, _)| line.is_none()).map(|(_, e)| e.clone());
            let rest = if round == ROUNDS { failed.first().map(|(_, e)| e.clone()) } else { common };
            for (line, error) in &failed {
                if let Some(k) = line.and_then(|l| pending.get(l)) {
                    outcomes[*k].get_or_insert(error.clone());
                }
            }
            if let Some(error) = rest {
                for &k in &pending {
                    outcomes[k].get_or_insert(error.clone());
                }
                break;
            }
            // What several kernels share is reported for the first of them: the others are looked at again without it.
            if failed.is_empty() {
                break;
            }
            pending.retain(|&k| outcomes[k].is_none());
        }
        outcomes
    }

    /// Errors of entry points, by their place in the list; those of the code around them under `None`.
    pub(crate) fn failures(&self, device: &Device, entries: &[usize]) -> Result<Vec<(Option<usize>, Error)>> {
        let (text, mode) = generate_check(device, &self.0, entries);
        let compiler = &device.0.compiler;
        let Some(stderr) = compiler.check(&text, mode)? else { return Ok(Vec::new()) };
        let main = (self.0.options.file_name.as_str(), self.0.source.as_str());
        let groups = by_launch_line(&stderr);
        if groups.is_empty() {
            return Ok(vec![(None, Error::Tool { step: "clang", message: stderr.trim().to_string() })]);
        }
        let mut out: Vec<(Option<usize>, Error)> = Vec::new();
        for (line, lines) in groups {
            let error = compiler.compile_error(&lines.join("\n"), &text, main);
            let inside = match line {
                Some(l) => Some(vec![l as usize - 1]),
                None => self.around(&error, entries),
            };
            match inside {
                Some(list) => out.extend(list.into_iter().map(|k| (Some(k), error.clone()))),
                None => out.push((None, error)),
            }
        }
        Ok(out)
    }

    /// The entry points among `entries` whose kernels contain the places of an error, if all places are inside of kernels.
    fn around(&self, error: &Error, entries: &[usize]) -> Option<Vec<usize>> {
        let Error::Compile { diagnostics } = error else { return None };
        let unit = &self.0.unit;
        let contains = |item: &Item, d: &Diagnostic| {
            let (first, last) = (unit.lx.place(item.start), unit.lx.place(item.end - 1));
            first.0 == d.file && last.0 == d.file && (first.1..=last.1).contains(&d.line)
        };
        let kernels: Vec<&Item> = unit.items.iter().filter(|it| it.kind == ItemKind::Kernel).collect();
        let explained = diagnostics.iter().all(|d| kernels.iter().any(|item| contains(item, d)));
        let hit = |&k: &usize| {
            let item = &unit.items[unit.entries[entries[k]].item];
            diagnostics.iter().any(|d| contains(item, d))
        };
        explained.then(|| (0..entries.len()).filter(hit).collect())
    }
}

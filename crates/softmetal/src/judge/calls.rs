//! Which of several overloads by address space a call means, from clang's own words.
//!
//! Each overload is marked as deprecated, with its number as the reason; each possible call stands on a line of a file of its own, whose
//! number is the token's. So a warning says the rest.

use crate::error::Diagnostic;
use crate::source::position::messages;
use crate::source::unit::Unit;
use rustc_hash::FxHashMap;

/// The file that calls are said to be in.
pub const FILE: &str = "softmetal-call";
/// Begins the reason of a deprecation.
pub const MARK: &str = "softmetal overload ";

/// Notes the meaning of every call; a call that means several, by its template's arguments, is a finding.
pub fn resolve(unit: &mut Unit, stderr: &str) -> Vec<Diagnostic> {
    let mut found: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for m in messages(stderr).iter().filter(|m| m.head.file == FILE) {
        let number = m
            .head
            .message
            .split(MARK)
            .nth(1)
            .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        if let Some(number) = number.and_then(|n| n.parse().ok()) {
            let list = found.entry(m.head.line as usize).or_default();
            if !list.contains(&number) {
                list.push(number);
            }
        }
    }
    let mut out = Vec::new();
    for (token, numbers) in found {
        if let [one] = numbers[..] {
            unit.overloads.calls.insert(token, one);
            continue;
        }
        let (file, line) = unit.lx.place(token);
        let name = unit.lx.str(token);
        out.push(Diagnostic {
            file,
            line,
            column: 0,
            message: format!("`{name}` means different overloads by address space, as the template's arguments are; SoftMetal cannot run that: give the overloads different names"),
        });
    }
    out
}

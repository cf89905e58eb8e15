//! Resolution of calls to overloads that differ in address space, from clang's messages.
//!
//! Each overload warns of its number when it is called; each possible call stands on a line of a file of its own, whose
//! number is the token's. So a warning says the rest.

use crate::error::Diagnostic;
use crate::source::overloads::Overloads;
use crate::source::position::messages;
use crate::source::unit::Unit;
use rustc_hash::FxHashMap;

/// The file that calls are said to be in.
pub const FILE: &str = "softmetal-call";
/// Begins such a warning.
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
    // Where clang finds no function for a temporary, Metal finds the one of thread memory.
    let private = "reference in default address space to object in address space '__private'";
    for m in messages(stderr).iter().filter(|m| m.head.file == FILE) {
        let token = m.head.line as usize;
        if m.notes.iter().any(|n| n.message.contains(private))
            && let Some(number) = Overloads::of_temporary(unit, token)
        {
            found.entry(token).or_default().push(number);
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

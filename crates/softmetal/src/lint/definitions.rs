//! What a library needs to be complete: bodies of the functions that kernels call, and values of constants.

use super::Lint;
use crate::source::items::{Item, ItemKind};
use crate::source::lexer::Lexed;
use crate::source::params::attributes;
use rustc_hash::{FxHashMap, FxHashSet};

/// Attributes of functions that are linked when a pipeline is made.
const LINKED_LATER: &[&str] = &["visible", "stitchable", "intersection"];

/// The whole unit.
pub fn check(lint: &mut Lint<'_>) {
    undefined_functions(lint);
    unknown_values(lint);
}

/// Calls of functions that are declared and nowhere defined.
fn undefined_functions(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let mut declared: FxHashMap<&str, &Item> = FxHashMap::default();
    let mut defined: FxHashSet<&str> = FxHashSet::default();
    for item in &unit.items {
        match item.kind {
            ItemKind::Function if is_only_declared(lx, item) => {
                declared.insert(&item.name, item);
            }
            // Whatever else has the name may be what is meant.
            _ => {
                defined.insert(&item.name);
            }
        }
    }
    declared.retain(|name, _| !defined.contains(name));
    if declared.is_empty() {
        return;
    }
    let reachable: FxHashSet<usize> = unit.entries.iter().flat_map(|e| unit.reachable(e)).collect();
    for i in reachable {
        let body = unit.items[i].body;
        for k in body.0..body.1 {
            let called = lx.is_ident(k) && is_called(lx, k) && declared.contains_key(lx.str(k));
            if called && !declares_here(lx, k) && !is_unevaluated(lx, k, body.0) {
                let name = lx.str(k);
                lint.at(k, format!("`{name}` is declared, but not defined: the library does not link"));
            }
        }
    }
}

/// Whether an item is a function of which the unit has no body, and which nobody provides later.
fn is_only_declared(lx: &Lexed, item: &Item) -> bool {
    let special = item.name.starts_with("operator") || item.scope.last() == Some(&item.name);
    let head = item.start..item.params.0;
    let elsewhere = head.clone().any(|k| matches!(lx.str(k), "extern" | "constant" | "~"))
        || attributes(lx, item.start, item.end).iter().any(|a| LINKED_LATER.contains(&a.name.as_str()));
    let given = (item.params.1..item.end).any(|k| matches!(lx.str(k), "default" | "delete"));
    !item.has_body() && !item.name.is_empty() && !special && !elsewhere && !given
}

fn is_called(lx: &Lexed, k: usize) -> bool {
    let after = if lx.is(k + 1, "<") { lx.skip_angles(k + 1) } else { k + 1 };
    lx.is(after, "(")
}

/// A declaration inside of a function: a type stands in front of the name.
fn declares_here(lx: &Lexed, k: usize) -> bool {
    lx.is_ident(k - 1) && !matches!(lx.str(k - 1), "return" | "else" | "do" | "case")
}

/// Whether the call at `k` is an operand of `decltype` or `sizeof`, which asks for its type alone.
fn is_unevaluated(lx: &Lexed, k: usize, from: usize) -> bool {
    (from..k)
        .rev()
        .take_while(|&i| !matches!(lx.str(i), ";" | "{" | "}"))
        .any(|i| matches!(lx.str(i), "decltype" | "sizeof" | "noexcept") && lx.matching(i + 1) > k)
}

/// Values of constants that only a run could compute.
fn unknown_values(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    let lx = &unit.lx;
    // Functions of the unit, and whether one of that name is constexpr.
    let mut functions: FxHashMap<&str, bool> = FxHashMap::default();
    for item in unit.items.iter().filter(|it| it.kind == ItemKind::Function && !it.in_type) {
        *functions.entry(&item.name).or_default() |=
            (item.start..item.params.0).any(|k| lx.is(k, "constexpr"));
    }
    for item in unit.items.iter().filter(|it| it.kind == ItemKind::Type) {
        functions.remove(item.name.as_str());
    }
    for item in unit.items.iter().filter(|it| it.kind == ItemKind::Variable) {
        let Some(equals) = (item.start..item.end).find(|&k| lx.is(k, "=")) else { continue };
        if !(item.start..equals).any(|k| lx.is(k, "constant")) {
            continue;
        }
        for k in equals..item.end {
            let runs = lx.is_ident(k) && functions.get(lx.str(k)) == Some(&false) && is_called(lx, k);
            if runs && !matches!(lx.str(k - 1), "." | "->" | "::") && !is_unevaluated(lx, k, equals) {
                let name = lx.str(k);
                lint.at(k, format!("the constant `{}` needs a value that the compiler knows, and `{name}` is not constexpr", item.name));
            }
        }
    }
}

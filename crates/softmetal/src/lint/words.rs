//! Words that MSL does not have.

use super::Lint;
use crate::source::items::ItemKind;

/// Words that are wrong wherever they stand.
pub fn check(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    let lx = &unit.lx;
    for i in 0..lx.tokens.len() {
        if !lx.is_ident(i) {
            continue;
        }
        let before = if i > 0 { lx.str(i - 1) } else { "" };
        match lx.str(i) {
            "double" => lint.at(i, "MSL has no `double`"),
            "virtual" => lint.at(i, "MSL has no virtual functions"),
            w @ ("throw" | "try" | "catch") => lint.at(i, format!("MSL has no exceptions (`{w}`)")),
            "goto" => lint.at(i, "MSL has no `goto`"),
            "thread_local" => lint.at(i, "MSL has no `thread_local`"),
            w @ ("dynamic_cast" | "typeid") => lint.at(i, format!("MSL has no run-time types (`{w}`)")),
            w @ ("malloc" | "calloc" | "free") if lx.is(i + 1, "(") && !matches!(before, "." | "->") => lint.at(i, format!("MSL has no dynamic allocation (`{w}`)")),
            "new" if before != "operator" => lint.at(i, "MSL has no dynamic allocation (`new`)"),
            "delete" if !matches!(before, "=" | "operator") => lint.at(i, "MSL has no dynamic allocation (`delete`)"),
            _ => {}
        }
    }
    for item in unit.items.iter().filter(|it| matches!(it.kind, ItemKind::Function | ItemKind::Kernel) && it.has_body()) {
        for i in item.body.0..item.body.1 {
            if lx.is(i, "static") && !statement_is_constant(lint, i, item.body.1) {
                lint.at(i, "MSL has no static variables in functions; use `constexpr` or `constant`");
            }
        }
    }
}

fn statement_is_constant(lint: &Lint<'_>, at: usize, end: usize) -> bool {
    let lx = &lint.unit.lx;
    let is_constant = |k: usize| matches!(lx.str(k), "constexpr" | "constant");
    lx.is(at.wrapping_sub(1), "constexpr") || lx.is(at.wrapping_sub(1), "constant") || (at..end).take_while(|&k| !matches!(lx.str(k), ";" | "=" | "{")).any(is_constant)
}

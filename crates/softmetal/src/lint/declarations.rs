//! Declarations: address spaces, program-scope variables, threadgroup variables, indices.

use super::Lint;
use crate::source::binding::MAX_BUFFER_INDEX;
use crate::source::items::{Item, ItemKind};
use crate::source::params::{attributes, integer, space_of};
use crate::source::rewrite::group_declarations;

/// All declarations of the unit.
pub fn check(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    for item in &unit.items {
        match item.kind {
            ItemKind::Function | ItemKind::Kernel => {
                parameters(lint, item);
                locals(lint, item);
            }
            ItemKind::Variable if !item.in_type => program_variable(lint, item),
            ItemKind::Variable => member(lint, item),
            _ => {}
        }
    }
}

fn parameters(lint: &mut Lint<'_>, item: &Item) {
    let unit = lint.unit;
    for p in item.parameters(&unit.lx) {
        let deduced = ["auto", "decltype", "...", "& &", ". . ."].iter().any(|w| p.type_text.contains(w));
        if (p.pointer || p.reference) && p.space.is_none() && !deduced {
            let what = if p.pointer { "pointer" } else { "reference" };
            let name = if p.name.is_empty() { "without a name".to_string() } else { format!("`{}`", p.name) };
            lint.at(p.range.0, format!("the {what} parameter {name} needs an address space: device, constant, threadgroup or thread"));
        }
        for a in p.attributes.iter().filter(|a| a.name == "buffer" || a.name == "threadgroup") {
            if integer(&a.argument).is_some_and(|i| i > MAX_BUFFER_INDEX) {
                lint.at(a.token, format!("index {} is above {MAX_BUFFER_INDEX}, the highest that Metal has", a.argument));
            }
        }
    }
}

/// Pointers and references to builtin types, and threadgroup variables outside kernels.
fn locals(lint: &mut Lint<'_>, item: &Item) {
    if !item.has_body() {
        return;
    }
    let unit = lint.unit;
    let lx = &unit.lx;
    for i in item.body.0 + 1..item.body.1 {
        let at_start = matches!(lx.str(i - 1), "{" | "}" | ";");
        if !at_start {
            continue;
        }
        let ty = if lx.is(i, "const") { i + 1 } else { i };
        let indirect = matches!(lx.str(ty + 1), "*" | "&") && is_builtin(lx.str(ty)) && lx.is_ident(ty + 2) && matches!(lx.str(ty + 3), "=" | ";" | "," | "[");
        if indirect && space_of(lx.str(ty + 2)).is_none() {
            lint.at(i, format!("the variable `{}` points to memory of no address space; write device, constant, threadgroup or thread", lx.str(ty + 2)));
        }
    }
    if item.kind != ItemKind::Kernel {
        for (from, _) in group_declarations(lx, item) {
            lint.at(from, "a threadgroup variable can be declared in a kernel only");
        }
    } else {
        for i in item.body.0..item.body.1 {
            initialised_group_variable(lint, i);
        }
    }
}

/// `threadgroup T x = …;` where `x` is no pointer.
fn initialised_group_variable(lint: &mut Lint<'_>, i: usize) {
    let unit = lint.unit;
    let lx = &unit.lx;
    if !lx.is(i, "threadgroup") || !matches!(lx.str(i - 1), "{" | "}" | ";") {
        return;
    }
    let mut k = i + 1;
    while k < lx.tokens.len() {
        match lx.str(k) {
            "*" | "&" | ";" | "(" => return,
            "=" => break,
            "[" => k = lx.matching(k),
            "<" => {
                k = lx.skip_angles(k);
                continue;
            }
            _ => {}
        }
        k += 1;
    }
    lint.at(i, "a threadgroup variable cannot have an initialiser");
}

fn program_variable(lint: &mut Lint<'_>, item: &Item) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let end = (item.start..item.end).find(|&k| matches!(lx.str(k), "=" | ";" | "{")).unwrap_or(item.end);
    let has = |w: &str| (item.start..end).any(|k| lx.is(k, w));
    if item.name.is_empty() || has("extern") || has("constant") || has("constexpr") || item.end - item.start < 3 {
        return;
    }
    if !attributes(lx, item.start, item.end).is_empty() && has("const") {
        return;
    }
    if has("threadgroup") {
        lint.at(item.start, "a threadgroup variable can be declared in a kernel only");
    } else {
        lint.at(item.start, format!("the program-scope variable `{}` must be in constant memory: write `constant`", item.name));
    }
}

/// Members that point somewhere need an address space too.
fn member(lint: &mut Lint<'_>, item: &Item) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let end = (item.start..item.end).find(|&k| matches!(lx.str(k), "=" | ";" | "{" | "(")).unwrap_or(item.end);
    let indirect = (item.start..end).any(|k| lx.is(k, "*"));
    let spaced = (item.start..end).any(|k| space_of(lx.str(k)).is_some());
    let first = if lx.is(item.start, "const") { item.start + 1 } else { item.start };
    if indirect && !spaced && is_builtin(lx.str(first)) {
        lint.at(item.start, format!("the pointer member `{}` needs an address space: device, constant, threadgroup or thread", item.name));
    }
}

fn is_builtin(word: &str) -> bool {
    let base = word.trim_start_matches("packed_").trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
    matches!(
        base,
        "void" | "bool" | "char" | "uchar" | "short" | "ushort" | "int" | "uint" | "long" | "ulong" | "half" | "bfloat" | "float" | "int8_t" | "uint8_t" | "int16_t" | "uint16_t" | "int32_t" | "uint32_t" | "size_t"
    )
}

//! Variables: at program scope, function constants, in threadgroup memory, and indices.

use super::Lint;
use crate::source::binding::{MAX_BUFFER_INDEX, MAX_SAMPLER_INDEX, MAX_TEXTURE_INDEX};
use crate::source::items::{Item, ItemKind};
use crate::source::params::{attributes, integer};
use crate::source::rewrite::group_declarations;

/// All declarations of the unit.
pub fn check(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    if !unit.constants.is_empty() {
        template_arguments(lint);
    }
    for item in &unit.items {
        match item.kind {
            ItemKind::Function | ItemKind::Kernel => {
                indices(lint, item);
                locals(lint, item);
            }
            ItemKind::Variable if !item.in_type => program_variable(lint, item),
            _ => {}
        }
    }
}

/// `f<n>` for a function constant `n` and a template `f` of the unit.
fn template_arguments(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let is_template = |name: &str| unit.items.iter().any(|it| it.is_template() && it.name == name);
    for i in 0..lx.tokens.len() {
        if !lx.is_ident(i) || !unit.constants.iter().any(|c| c.name == lx.str(i)) {
            continue;
        }
        // Back to the bracket that opens the list of arguments.
        let open = (i.saturating_sub(16)..i)
            .rev()
            .take_while(|&k| !matches!(lx.str(k), ";" | "{" | "}" | "(" | ")"))
            .find(|&k| lx.is(k, "<"));
        if open.is_some_and(|k| k > 0 && is_template(lx.str(k - 1)) && lx.skip_angles(k) > i) {
            let name = lx.str(i).to_string();
            lint.at(i, format!("the value of the function constant `{name}` is not known to the compiler; it is no template argument"));
        }
    }
}

fn indices(lint: &mut Lint<'_>, item: &Item) {
    let unit = lint.unit;
    for p in item.parameters(&unit.lx) {
        for a in &p.attributes {
            let highest = match a.name.as_str() {
                "buffer" | "threadgroup" => MAX_BUFFER_INDEX,
                "texture" => MAX_TEXTURE_INDEX,
                "sampler" => MAX_SAMPLER_INDEX,
                _ => continue,
            };
            if integer(&a.argument).is_some_and(|i| i > highest) {
                lint.at(
                    a.token,
                    format!("index {} is above {highest}, the highest that Metal has", a.argument),
                );
            }
        }
    }
}

/// Threadgroup and constant variables of functions.
fn locals(lint: &mut Lint<'_>, item: &Item) {
    if !item.has_body() {
        return;
    }
    let unit = lint.unit;
    let lx = &unit.lx;
    if item.kind != ItemKind::Kernel {
        for (from, _) in group_declarations(lx, item) {
            lint.at(from, "a threadgroup variable can be declared in a kernel only");
        }
    }
    for i in item.body.0 + 1..item.body.1 {
        if item.kind == ItemKind::Kernel && lx.is(i, "threadgroup") && is_object(lx, i) == Some(true) {
            lint.at(i, "a threadgroup variable cannot have an initialiser");
        }
        let fixed = (1..=3).any(|n| matches!(lx.str(i.wrapping_sub(n)), "static" | "constexpr"))
            || matches!(lx.str(i + 1), "static" | "constexpr");
        if lx.is(i, "constant") && !fixed && is_object(lx, i).is_some() {
            lint.at(i, "a local variable lies in thread memory and takes no address space; drop `constant`");
        }
    }
}

/// Whether the declaration at `i` is of an object and not of a pointer, and then whether it has an initialiser other than `{…}`
/// of an array.
fn is_object(lx: &crate::source::lexer::Lexed, i: usize) -> Option<bool> {
    let mut start = i;
    while matches!(lx.str(start - 1), "const" | "volatile") {
        start -= 1;
    }
    if !matches!(lx.str(start - 1), "{" | "}" | ";") {
        return None;
    }
    let (mut k, mut array) = (i + 1, false);
    while k < lx.tokens.len() {
        match lx.str(k) {
            "*" | "&" | "(" => return None,
            ";" | "," => return Some(false),
            "=" => return Some(!(array && lx.is(k + 1, "{"))),
            "[" => {
                array = true;
                k = lx.matching(k);
            }
            "<" => {
                k = lx.skip_angles(k);
                continue;
            }
            _ => {}
        }
        k += 1;
    }
    None
}

fn program_variable(lint: &mut Lint<'_>, item: &Item) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let end = (item.start..item.end).find(|&k| matches!(lx.str(k), "=" | ";" | "{")).unwrap_or(item.end);
    let has = |w: &str| (item.start..end).any(|k| lx.is(k, w));
    function_constant(lint, item, end);
    // A template of variables, or something that only looks like a variable.
    if item.name.is_empty() || has("constant") || item.is_template() || item.end - item.start < 3 {
        return;
    }
    // `constexpr sampler s(…);`
    if has("sampler") && has("constexpr") {
        return;
    }
    if has("threadgroup") {
        lint.at(item.start, "a threadgroup variable can be declared in a kernel only");
    } else {
        lint.at(
            item.start,
            format!(
                "the program-scope variable `{}` must be in constant memory: write `constant`",
                item.name
            ),
        );
    }
}

/// A function constant has a scalar or vector type and gets its value from the host.
fn function_constant(lint: &mut Lint<'_>, item: &Item, end: usize) {
    let unit = lint.unit;
    let lx = &unit.lx;
    if !attributes(lx, item.start, item.end).iter().any(|a| a.name == "function_constant") {
        return;
    }
    if lx.is(end, "=") || lx.is(end, "{") {
        lint.at(
            end,
            format!(
                "the function constant `{}` gets its value from the host and has no initialiser",
                item.name
            ),
        );
    }
    let of_struct = (item.start..end).take_while(|&k| !lx.is(k, &item.name)).find(|&k| {
        unit.items.iter().any(|t| t.kind == ItemKind::Type && t.name == lx.str(k) && !lx.is(t.start, "enum"))
    });
    if let Some(k) = of_struct {
        lint.at(
            k,
            format!(
                "the function constant `{}` must be a scalar or a vector, and `{}` is a struct",
                item.name,
                lx.str(k)
            ),
        );
    }
}

//! Variables: at program scope, function constants, in threadgroup memory, and indices.

use super::Lint;
use crate::source::binding::{MAX_BUFFER_INDEX, MAX_SAMPLER_INDEX, MAX_TEXTURE_INDEX};
use crate::source::items::{Item, ItemKind};
use crate::source::params::{attributes, integer};
use crate::source::rewrite::group_declarations;

/// The highest index of a function constant.
const MAX_CONSTANT_INDEX: u32 = 65535;

/// All declarations of the unit.
pub fn check(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    if !unit.constants.is_empty() {
        template_arguments(lint);
    }
    for item in &unit.items {
        match item.kind {
            // `constant int n [[function_constant(0)]](3);` has the shape of a function.
            ItemKind::Function if is_function_constant(lint, item, item.params.0) => {
                function_constant(lint, item, item.params.0)
            }
            ItemKind::Function | ItemKind::Kernel => {
                indices(lint, item);
                locals(lint, item);
            }
            ItemKind::Variable if !item.in_type => program_variable(lint, item),
            ItemKind::Type if !item.in_type => variable_of_a_new_type(lint, item),
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
                lint.at(a.token, format!("index {} is above {highest}, Metal's maximum", a.argument));
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
    let template = item.is_template() && !(lx.is(end, "=") && (has("constexpr") || has("const")));
    if item.name.is_empty() || template || item.end - item.start < 3 {
        return;
    }
    if has("constant") {
        if lx.is(end, ";") && !has("extern") && !has("(") && !is_function_constant(lint, item, item.end) {
            let name = &item.name;
            lint.at(item.start, format!("the constant `{name}` has no value; write an initialiser"));
        }
        return;
    }
    // `constexpr sampler s(…);`
    if has("sampler") && has("constexpr") {
        return;
    }
    if has("threadgroup") {
        lint.at(item.start, "a threadgroup variable can be declared in a kernel only");
    } else {
        lint.at(item.start, in_constant_memory(&item.name));
    }
}

/// `struct S { … } s;`
fn variable_of_a_new_type(lint: &mut Lint<'_>, item: &Item) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let constant = (item.start..item.body.0).any(|k| lx.is(k, "constant"));
    if !constant && lx.is_ident(item.body.1 + 1) && !lx.str(item.body.1 + 1).starts_with("__") {
        lint.at(item.body.1 + 1, in_constant_memory(lx.str(item.body.1 + 1)));
    }
}

fn in_constant_memory(name: &str) -> String {
    format!("the program-scope variable `{name}` must be in constant memory: write `constant`")
}

fn is_function_constant(lint: &Lint<'_>, item: &Item, to: usize) -> bool {
    attributes(&lint.unit.lx, item.start, to).iter().any(|a| a.name == "function_constant")
}

/// A function constant gets its value from the host.
fn function_constant(lint: &mut Lint<'_>, item: &Item, end: usize) {
    let unit = lint.unit;
    let lx = &unit.lx;
    if !is_function_constant(lint, item, item.end) {
        return;
    }
    let index = unit.constants.iter().find(|c| c.name == item.name).map_or(0, |c| c.index);
    if index > MAX_CONSTANT_INDEX {
        lint.at(
            item.start,
            format!("index {index} is above {MAX_CONSTANT_INDEX}, the highest of a function constant"),
        );
    }
    let name = (item.start..item.end).find(|&k| lx.is(k, &item.name)).unwrap_or(item.start);
    if lx.is(name + 1, "[") {
        lint.at(name, format!("the function constant `{}` must be a scalar or a vector", item.name));
    }
    if matches!(lx.str(end), "=" | "{" | "(") {
        lint.at(
            end,
            format!(
                "the function constant `{}` gets its value from the host and has no initialiser",
                item.name
            ),
        );
    }
}

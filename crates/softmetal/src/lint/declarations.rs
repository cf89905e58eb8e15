//! Variables: at program scope, function constants, in threadgroup memory, and indices.

use super::Lint;
use crate::source::binding::{MAX_BUFFER_INDEX, MAX_SAMPLER_INDEX, MAX_TEXTURE_INDEX};
use crate::source::items::{Item, ItemKind};
use crate::source::lexer::TokenKind;
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
            ItemKind::Variable => static_member(lint, item),
            ItemKind::Type if !item.in_type => variable_of_a_new_type(lint, item),
            _ => {}
        }
    }
}

/// `f<n>` for a function constant `n` and a template `f` of the unit, and `template <int N = n>`.
fn template_arguments(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let is_template = |name: &str| unit.items.iter().any(|it| it.is_template() && it.name == name);
    let unknown = unit.unknown_constants();
    let in_parameters = |i: usize| unit.items.iter().any(|it| (it.template.0..it.template.1).contains(&i));
    for i in 0..lx.tokens.len() {
        if !lx.is_ident(i) || !unknown.contains(lx.str(i)) {
            continue;
        }
        if in_parameters(i) && (lx.is(i - 1, "=") || lx.is(i + 1, ">")) && !lx.is_ident(i - 1) {
            let name = lx.str(i).to_string();
            lint.at(i, format!("the value of the function constant `{name}` is not known to the compiler; it is no template argument"));
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
            if unit.lx.tokens.get(a.token + 2).is_some_and(|t| t.kind == TokenKind::Literal) {
                lint.at(a.token, format!("the index of [[{}]] is a number", a.name));
            }
        }
        let condition = p.attribute("function_constant").filter(|a| is_name(&a.argument));
        let declared = |name: &str| unit.items.iter().any(|it| it.name == name);
        if let Some(a) = condition.filter(|a| !declared(&a.argument)) {
            lint.at(a.token, format!("the function constant `{}` is not declared", a.argument));
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// `static` members lie where variables at program scope do.
fn static_member(lint: &mut Lint<'_>, item: &Item) {
    let lx = &lint.unit.lx;
    let end = (item.start..item.end).find(|&k| matches!(lx.str(k), "=" | ";" | "{")).unwrap_or(item.end);
    let has = |w: &str| (item.start..end).any(|k| lx.is(k, w));
    if has("static") && !has("constant") && !has("sampler") {
        lint.at(
            item.start,
            format!("the static member `{}` must be in constant memory: write `constant`", item.name),
        );
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
        let made = lx.is(i, "sampler") && lx.is_ident(i + 1) && matches!(lx.str(i + 2), "(" | "{");
        if made && !(1..=3).any(|n| lx.is(i.wrapping_sub(n), "constexpr")) {
            lint.at(i, "a sampler that the source describes is `constexpr`");
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
        // `constant T S::member;` defines what the type gives a value.
        let given = has("extern") || has("(") || has("::");
        if lx.is(end, ";") && !given && !is_function_constant(lint, item, item.end) {
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

/// Words that begin a declaration of their own.
const DECLARES: [&str; 13] = [
    "kernel",
    "vertex",
    "fragment",
    "void",
    "struct",
    "class",
    "union",
    "enum",
    "template",
    "typedef",
    "using",
    "namespace",
    "inline",
];

/// `struct S { … } s;`
fn variable_of_a_new_type(lint: &mut Lint<'_>, item: &Item) {
    let unit = lint.unit;
    let lx = &unit.lx;
    if DECLARES.contains(&lx.str(item.body.1 + 1)) {
        lint.at(item.body.1, format!("a `;` is missing behind the type `{}`", item.name));
        return;
    }
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

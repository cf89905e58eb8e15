//! Keywords and statements that MSL does not support.

use super::Lint;
use super::pointers::is_vector;
use crate::compile::shim::is_library_header;
use crate::source::items::{Item, ItemKind};
use crate::source::lexer::{Lexed, TokenKind};
use crate::source::params::space_of;

/// Whatever is wrong wherever it stands.
pub fn check(lint: &mut Lint<'_>, version: u32) {
    let unit = lint.unit;
    let lx = &unit.lx;
    without_the_library(lint);
    let mut i = 0;
    while i < lx.tokens.len() {
        if lx.is(i, "[[") {
            i = lx.matching(i);
        } else if lx.is_ident(i) {
            word(lint, i);
        }
        i += 1;
    }
    for item in unit.items.iter().filter(|it| it.kind == ItemKind::Variable) {
        lambdas(lint, item.start + 1, item.end, version);
    }
    for item in unit.items.iter().filter(|it| version < 400 && it.kind == ItemKind::Function) {
        let of_a_type = || unit.items.iter().any(|it| it.kind == ItemKind::Type && it.name == item.name);
        if lx.is(item.params.1 + 1, "->") && lx.is_ident(item.params.1 + 2) && !item.in_type && of_a_type() {
            lint.at(item.params.0 - 1, "deduction guides need Metal 4.0, which is C++17");
        }
    }
    for item in unit.items.iter().filter(|it| it.has_body()) {
        if matches!(item.kind, ItemKind::Function | ItemKind::Kernel | ItemKind::Graphics) {
            body(lint, item, version);
        }
    }
}

fn word(lint: &mut Lint<'_>, i: usize) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let before = lx.str(i - 1);
    match lx.str(i) {
        "double" => lint.at(i, "MSL has no `double`; use `float`"),
        "long" if second_long(lx, i) => lint.at(i, "MSL has no `long long`; use `long`, which has 64 bits"),
        "virtual" => lint.at(i, "MSL has no virtual functions; use templates or `visible_function_table`"),
        w @ ("throw" | "try" | "catch") => {
            lint.at(i, format!("MSL does not support exceptions (`{w}`); return or store what went wrong"))
        }
        "noexcept" if lx.is(i + 1, "(") => {
            lint.at(i, "MSL does not support exceptions (the operator `noexcept`): remove it, nothing throws")
        }
        "goto" => lint.at(i, "MSL has no `goto`; use a loop, a condition or a function"),
        "register" => lint.at(i, "MSL has no `register` variables; drop the word"),
        w @ ("asm" | "__asm" | "__asm__") => {
            lint.at(i, format!("MSL does not support inline assembly (`{w}`); use a function of the library"))
        }
        "thread_local" => lint.at(i, "MSL has no `thread_local`; a local variable belongs to its thread"),
        w @ ("dynamic_cast" | "typeid") => {
            lint.at(i, format!("MSL does not support run-time type information (`{w}`); use templates"))
        }
        w @ ("malloc" | "calloc" | "free") if lx.is(i + 1, "(") && !matches!(before, "." | "->") => lint.at(
            i,
            format!(
                "MSL does not support dynamic allocation (`{w}`); use an array of constant size or a buffer"
            ),
        ),
        "new" if before != "operator" => lint.at(
            i,
            "MSL does not support dynamic allocation (`new`); use an array of constant size or a buffer",
        ),
        "delete" if !matches!(before, "=" | "operator") => lint.at(
            i,
            "MSL does not support dynamic allocation (`delete`); use an array of constant size or a buffer",
        ),
        w @ ("half" | "bfloat" | "kernel" | "vertex" | "fragment" | "device" | "constant" | "threadgroup"
        | "thread")
            if declares(lx, i) || names(lx, i) =>
        {
            lint.at(i, format!("`{w}` is a word of the language; use another name"))
        }
        _ => {}
    }
}

/// Types and functions are declared in headers, which a source may have forgotten.
fn without_the_library(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    let lx = &unit.lx;
    if lx.files.iter().any(|f| is_library_header(f)) {
        return;
    }
    let own = |name: &str| unit.items.iter().any(|it| it.name == name && it.kind != ItemKind::Kernel);
    let declared = |i: &usize| {
        let name = lx.str(*i);
        let sized = name.ends_with("_t") && name.contains(|c: char| c.is_ascii_digit());
        let plain = matches!(name, "uchar" | "ushort" | "uint" | "ulong" | "size_t" | "ptrdiff_t" | "metal");
        lx.is_ident(*i) && (sized || plain || is_vector(name)) && !own(name)
    };
    if let Some(i) = (0..lx.tokens.len()).find(declared) {
        lint.at(
            i,
            format!("`{}` is declared in <metal_stdlib>, which the source does not include", lx.str(i)),
        );
    }
}

/// Whether another `long` follows the one at `i` among the words of a type.
fn second_long(lx: &Lexed, i: usize) -> bool {
    (i + 1..)
        .take_while(|&k| matches!(lx.str(k), "long" | "int" | "unsigned" | "signed" | "const"))
        .any(|k| lx.is(k, "long"))
}

/// Whether the word at `i` is the name in a declaration: a type in front, the end of a declarator behind.
pub(super) fn declares(lx: &Lexed, i: usize) -> bool {
    let before = lx.str(i - 1);
    let specifier = matches!(
        before,
        "const"
            | "volatile"
            | "static"
            | "constexpr"
            | "inline"
            | "typename"
            | "typedef"
            | "extern"
            | "return"
            | "case"
            | "restrict"
            | "new"
            | "operator"
            | "using"
            | "class"
            | "struct"
            | "else"
            | "do"
    ) || space_of(before).is_some();
    let typed =
        (lx.is_ident(i - 1) && !specifier) || (matches!(before, "*" | "&") && i > 1 && lx.is_ident(i - 2));
    typed && matches!(lx.str(i + 1), "=" | ";" | "," | ")" | "[" | "[[" | ":")
}

/// Whether a word of the language stands where only a name can: behind `struct` and the like, in an enumeration, before the
/// parameters of a function; and the specifiers of functions wherever no type follows.
fn names(lx: &Lexed, i: usize) -> bool {
    let before = if i > 0 { lx.str(i - 1) } else { "" };
    let after = lx.str(i + 1);
    if matches!(before, "struct" | "class" | "enum" | "union" | "namespace") {
        return true;
    }
    match lx.str(i) {
        "kernel" | "vertex" | "fragment" => {
            !lx.is_ident(i + 1) && !matches!(after, "[[" | "::") || matches!(before, "." | "->")
        }
        "half" | "bfloat" => {
            let listed =
                (before == "{" && matches!(after, "," | "}" | "=")) || (before == "," && after == "}");
            let made =
                matches!(before, "float" | "int" | "uint" | "void" | "bool" | "auto" | "half" | "bfloat")
                    && after == "("
                    && !matches!(lx.str(i + 2), "&" | "*");
            listed || made
        }
        _ => false,
    }
}

/// Statements: labels, static variables, lambdas.
fn body(lint: &mut Lint<'_>, item: &Item, version: u32) {
    let unit = lint.unit;
    let lx = &unit.lx;
    for i in item.body.0 + 1..item.body.1 {
        let starts = matches!(lx.str(i - 1), "{" | "}" | ";")
            || lx.tokens[i - 1].kind == TokenKind::Directive
            || lx.is(i - 1, ":") && ends_a_case(lx, i - 1);
        if lx.is(i, "static") && !statement_has(lx, i, item.body.1, "constant") {
            lint.at(i, "MSL has no static variables in functions; use `constexpr` or `constant`");
        }
        if starts
            && lx.is_ident(i)
            && lx.is(i + 1, ":")
            && !lx.is(i + 2, ":")
            && !matches!(
                lx.str(i),
                "default" | "public" | "private" | "protected" | "enum" | "struct" | "class"
            )
        {
            lint.at(i, format!("MSL does not support labels (`{}:`); use loops and conditions", lx.str(i)));
        }
    }
    lambdas(lint, item.body.0 + 1, item.body.1, version);
}

/// Whether the `:` at `i` belongs to `case …:` or `default:`.
fn ends_a_case(lx: &Lexed, i: usize) -> bool {
    let begins = (0..i).rev().find(|&k| matches!(lx.str(k), ";" | "{" | "}")).map_or(0, |k| k + 1);
    matches!(lx.str(begins), "case" | "default")
}

fn lambdas(lint: &mut Lint<'_>, from: usize, to: usize, version: u32) {
    let unit = lint.unit;
    let lx = &unit.lx;
    for i in (from..to).filter(|&i| version < 320 && lx.is(i, "[")) {
        let introduces = matches!(lx.str(i - 1), "=" | "(" | "," | "return" | "{" | ";" | "}" | "?" | ":");
        if introduces && matches!(lx.str(lx.matching(i) + 1), "(" | "{") {
            let (major, minor) = (version / 100, version / 10 % 10);
            lint.at(i, format!("lambdas need Metal 3.2, and the language version is {major}.{minor}"));
        }
    }
}

fn statement_has(lx: &Lexed, at: usize, end: usize, word: &str) -> bool {
    lx.is(at.wrapping_sub(1), word)
        || lx.is(at.wrapping_sub(2), word)
        || (at..end).take_while(|&k| !matches!(lx.str(k), ";" | "=" | "{")).any(|k| lx.is(k, word))
}

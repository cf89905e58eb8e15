//! Words and statements that MSL does not have.

use super::Lint;
use crate::source::items::{Item, ItemKind};
use crate::source::lexer::{Lexed, TokenKind};
use crate::source::params::space_of;

/// Whatever is wrong wherever it stands.
pub fn check(lint: &mut Lint<'_>, version: u32) {
    let unit = lint.unit;
    let lx = &unit.lx;
    for i in 0..lx.tokens.len() {
        if lx.is_ident(i) {
            word(lint, i);
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
    let before = if i > 0 { lx.str(i - 1) } else { "" };
    match lx.str(i) {
        "double" => lint.at(i, "MSL has no `double`"),
        "long" if second_long(lx, i) => lint.at(i, "MSL has no `long long`; `long` has 64 bits"),
        "virtual" => lint.at(i, "MSL has no virtual functions"),
        w @ ("throw" | "try" | "catch") => lint.at(i, format!("MSL has no exceptions (`{w}`)")),
        "noexcept" if lx.is(i + 1, "(") => lint.at(i, "MSL has no exceptions (the operator `noexcept`)"),
        "goto" => lint.at(i, "MSL has no `goto`"),
        "register" => lint.at(i, "MSL has no `register` variables"),
        w @ ("asm" | "__asm" | "__asm__") => lint.at(i, format!("MSL has no assembly (`{w}`)")),
        "thread_local" => lint.at(i, "MSL has no `thread_local`"),
        w @ ("dynamic_cast" | "typeid") => lint.at(i, format!("MSL has no run-time types (`{w}`)")),
        w @ ("malloc" | "calloc" | "free") if lx.is(i + 1, "(") && !matches!(before, "." | "->") => {
            lint.at(i, format!("MSL has no dynamic allocation (`{w}`)"))
        }
        "new" if before != "operator" => lint.at(i, "MSL has no dynamic allocation (`new`)"),
        "delete" if !matches!(before, "=" | "operator") => {
            lint.at(i, "MSL has no dynamic allocation (`delete`)")
        }
        w @ ("half" | "bfloat" | "kernel" | "vertex" | "fragment" | "device" | "constant" | "threadgroup"
        | "thread")
            if declares(lx, i) =>
        {
            lint.at(i, format!("`{w}` is a word of the language and cannot name a variable"))
        }
        _ => {}
    }
}

/// Whether another `long` follows the one at `i` among the words of a type.
fn second_long(lx: &Lexed, i: usize) -> bool {
    (i + 1..)
        .take_while(|&k| matches!(lx.str(k), "long" | "int" | "unsigned" | "signed" | "const"))
        .any(|k| lx.is(k, "long"))
}

/// Whether the word at `i` is the name in a declaration: a type in front, the end of a declarator behind.
fn declares(lx: &Lexed, i: usize) -> bool {
    let before = if i > 0 { lx.str(i - 1) } else { return false };
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
            | "unsigned"
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
    typed && matches!(lx.str(i + 1), "=" | ";" | "," | ")" | "[") && !lx.is(i + 1, "[[")
}

/// Statements: labels, static variables, lambdas.
fn body(lint: &mut Lint<'_>, item: &Item, version: u32) {
    let unit = lint.unit;
    let lx = &unit.lx;
    for i in item.body.0 + 1..item.body.1 {
        let starts =
            matches!(lx.str(i - 1), "{" | "}" | ";") || lx.tokens[i - 1].kind == TokenKind::Directive;
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
            lint.at(i, format!("MSL has no labels (`{}:`)", lx.str(i)));
        }
        let introduces = lx.is(i, "[")
            && matches!(lx.str(i - 1), "=" | "(" | "," | "return" | "{" | ";" | "}" | "?" | ":");
        let behind = if introduces { lx.matching(i) + 1 } else { 0 };
        if version < 320 && introduces && matches!(lx.str(behind), "(" | "{") {
            lint.at(
                i,
                format!(
                    "lambdas need Metal 3.2, and the language version is {}.{}",
                    version / 100,
                    version / 10 % 10
                ),
            );
        }
    }
}

fn statement_has(lx: &Lexed, at: usize, end: usize, word: &str) -> bool {
    lx.is(at.wrapping_sub(1), word)
        || lx.is(at.wrapping_sub(2), word)
        || (at..end).take_while(|&k| !matches!(lx.str(k), ";" | "=" | "{")).any(|k| lx.is(k, word))
}

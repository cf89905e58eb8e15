//! Conversions between half and bfloat, which clang lacks: they go through float.
//!
//! `static_cast<bfloat>(x)`, `bfloat(x)` and `(bfloat)x` become calls of `softmetal::cast`, in units that use bfloat.

use super::edit::Edits;
use super::items::{Item, ItemKind};
use super::lexer::{Lexed, TokenKind};
use rustc_hash::FxHashSet;

/// Rewrites the casts of a unit.
pub fn rewrite(lx: &Lexed, items: &[Item], edits: &mut Edits) {
    if !(0..lx.tokens.len()).any(|i| lx.str(i).contains("bfloat")) {
        return;
    }
    let names = names(lx, items);
    for i in 0..lx.tokens.len() {
        let t = lx.tokens[i];
        if lx.is(i, "static_cast") {
            edits.replace(t.start, t.end, "::softmetal::cast");
        } else if names.contains(lx.str(i)) && lx.is(i + 1, "(") && is_call(lx, i) {
            edits.replace(t.start, t.end, format!("::softmetal::cast<{}>", lx.str(i)));
        } else if lx.is(i, "(") && names.contains(lx.str(i + 1)) && lx.is(i + 2, ")") {
            c_style(lx, i, edits);
        }
    }
}

/// The two types and what a unit calls them.
fn names<'a>(lx: &'a Lexed, items: &'a [Item]) -> FxHashSet<&'a str> {
    let mut out: FxHashSet<&str> = ["half", "bfloat"].into_iter().collect();
    for item in items.iter().filter(|it| it.kind == ItemKind::Other) {
        let alias = match (lx.str(item.start), item.end - item.start) {
            ("typedef", 4) => (lx.str(item.start + 1), lx.str(item.start + 2)),
            ("using", 5) if lx.is(item.start + 2, "=") => (lx.str(item.start + 3), lx.str(item.start + 1)),
            _ => continue,
        };
        if out.contains(alias.0) {
            out.insert(alias.1);
        }
    }
    out
}

/// Whether a type's name with a bracket behind it is a conversion, and declares nothing.
fn is_call(lx: &Lexed, i: usize) -> bool {
    let before = lx.str(i - 1);
    let declared = lx.is_ident(i.wrapping_sub(1)) && !matches!(before, "return" | "else" | "do" | "case");
    let types = matches!(before, "<" | "::") || matches!(lx.str(i + 2), ")" | "*" | "&");
    !declared && !types
}

/// `(bfloat)operand`, where an operand follows.
fn c_style(lx: &Lexed, open: usize, edits: &mut Edits) {
    let before = lx.str(open - 1);
    // `f(half)` names a parameter's type, and `sizeof(half)` a size.
    if (lx.is_ident(open.wrapping_sub(1)) && before != "return") || matches!(before, ">" | ")" | "]") {
        return;
    }
    if let Some(end) = operand(lx, open + 3).filter(|end| *end > open + 3) {
        let (from, to) = (lx.tokens[open].start, lx.tokens[open + 2].end);
        edits.replace(from, to, format!("::softmetal::cast<{}>(", lx.str(open + 1)));
        let at = lx.tokens[end - 1].end;
        edits.replace(at, at, ")");
    }
}

/// One past the operand of a cast: unary operators, a name, a number or brackets, and what belongs to it.
fn operand(lx: &Lexed, from: usize) -> Option<usize> {
    let mut i = from;
    loop {
        let starts =
            |k: usize| lx.is_ident(k) || lx.tokens.get(k).is_some_and(|t| t.kind == TokenKind::Number);
        match lx.str(i) {
            "-" | "+" | "!" | "~" | "*" | "&" => i += 1,
            // Another cast.
            "(" if lx.is_ident(i + 1) && lx.is(i + 2, ")") && starts(i + 3) => i += 3,
            _ => break,
        }
    }
    i = match lx.str(i) {
        "(" => lx.matching(i) + 1,
        _ if lx.is_ident(i) || lx.tokens.get(i)?.kind == TokenKind::Number => i + 1,
        _ => return None,
    };
    loop {
        i = match lx.str(i) {
            "(" | "[" => lx.matching(i) + 1,
            "." | "->" | "::" => i + 2,
            "<" if lx.str(i.wrapping_sub(1)).ends_with("_cast") => lx.skip_angles(i),
            _ => return Some(i),
        };
    }
}

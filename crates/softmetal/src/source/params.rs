//! Kernel parameters and attributes, by their spelling.

use super::lexer::{Lexed, TokenKind};
use super::numbers::resolved;

/// One attribute: `buffer(3)` is the name `buffer` with the argument tokens `3`.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Attribute name.
    pub name: String,
    /// Argument text, strings already joined and unquoted.
    pub argument: String,
    /// Token of the name.
    pub token: usize,
}

/// An MSL address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// `device`
    Device,
    /// `constant`
    Constant,
    /// `threadgroup`
    Threadgroup,
    /// `thread`
    Thread,
}

/// Whether `word` is an address-space keyword.
pub fn space_of(word: &str) -> Option<Space> {
    match word {
        "device" => Some(Space::Device),
        "constant" => Some(Space::Constant),
        "threadgroup" => Some(Space::Threadgroup),
        "thread" => Some(Space::Thread),
        _ => None,
    }
}

/// A parameter as it was written.
#[derive(Debug, Clone)]
pub struct Param {
    /// Token range.
    pub range: (usize, usize),
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// The address space named, if any.
    pub space: Option<Space>,
    /// Whether a `*` stands in its declarator.
    pub pointer: bool,
    /// Whether a `&` stands in its declarator.
    pub reference: bool,
    /// Whether `const` is written.
    pub is_const: bool,
    /// Parameter name, or empty.
    pub name: String,
    /// The type as tokens joined by spaces, without name, attributes, address space and default.
    pub type_text: String,
}

impl Param {
    /// The argument of an attribute, if the parameter has it.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

/// The attributes between two tokens.
pub fn attributes(lx: &Lexed, from: usize, to: usize) -> Vec<Attribute> {
    let mut out = Vec::new();
    let mut i = from;
    while i < to {
        if lx.is(i, "[[") {
            let close = lx.matching(i);
            attribute_list(lx, i + 1, close.saturating_sub(1), &mut out);
            i = close;
        }
        i += 1;
    }
    out
}

/// Attributes whose argument is a number, which a name may stand for.
const INDEXED: &[&str] = &[
    "buffer",
    "texture",
    "sampler",
    "threadgroup",
    "id",
    "function_constant",
    "max_total_threads_per_threadgroup",
];

fn attribute_list(lx: &Lexed, from: usize, to: usize, out: &mut Vec<Attribute>) {
    let mut i = from;
    while i < to {
        if lx.is_ident(i) {
            let mut at = i;
            while lx.is(at + 1, "::") {
                at += 2;
            }
            let mut argument = String::new();
            let mut next = at + 1;
            if lx.is(next, "(") {
                let close = lx.matching(next);
                argument = argument_text(lx, next + 1, close);
                next = close + 1;
            }
            let name = lx.str(at).to_string();
            if INDEXED.contains(&name.as_str()) {
                argument = resolved(&argument, &lx.numbers);
            }
            out.push(Attribute { name, argument, token: at });
            i = next;
        } else {
            i += 1;
        }
    }
}

/// Adjacent string literals are joined, as C++ does.
fn argument_text(lx: &Lexed, from: usize, to: usize) -> String {
    let mut text = String::new();
    for i in from..to {
        if lx.tokens[i].kind == TokenKind::Literal {
            text.push_str(lx.str(i).trim_matches('"'));
        } else {
            text.push_str(lx.str(i));
        }
    }
    text
}

/// Splits `from..to` at commas outside all brackets.
pub fn split_commas(lx: &Lexed, from: usize, to: usize) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let (mut start, mut i) = (from, from);
    while i < to {
        match lx.str(i) {
            "," => {
                out.push((start, i));
                start = i + 1;
            }
            "(" | "[" | "{" | "[[" => i = lx.matching(i),
            "<" if i > from && lx.is_ident(i - 1) => {
                i = lx.skip_angles(i).max(i + 1);
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    if start < to {
        out.push((start, to));
    }
    out
}

/// Parses a parameter list between its brackets.
pub fn parse_params(lx: &Lexed, from: usize, to: usize) -> Vec<Param> {
    split_commas(lx, from, to)
        .into_iter()
        .filter(|&(a, b)| !(b == a + 1 && lx.is(a, "void")))
        .map(|(a, b)| parse_param(lx, a, b))
        .collect()
}

fn parse_param(lx: &Lexed, from: usize, to: usize) -> Param {
    let mut p = Param {
        range: (from, to),
        attributes: attributes(lx, from, to),
        space: None,
        pointer: false,
        reference: false,
        is_const: false,
        name: String::new(),
        type_text: String::new(),
    };
    let mut words: Vec<(usize, &str)> = Vec::new();
    let mut i = from;
    while i < to {
        let s = lx.str(i);
        match s {
            "[[" => i = lx.matching(i),
            "=" => break,
            "<" => {
                let end = lx.skip_angles(i).min(to);
                words.extend((i..end).map(|k| (k, lx.str(k))));
                i = end;
                continue;
            }
            _ => {
                match s {
                    "*" => p.pointer = true,
                    "&" => p.reference = true,
                    "const" => p.is_const = true,
                    _ => {}
                }
                match space_of(s) {
                    Some(space) => p.space = p.space.or(Some(space)),
                    None => words.push((i, s)),
                }
            }
        }
        i += 1;
    }
    if let Some(at) = name_position(lx, &words) {
        p.name = words.remove(at).1.to_string();
    }
    // An array of a parameter is a pointer, and the first extent says nothing.
    if let Some(at) = words.iter().position(|w| w.1 == "[").filter(|_| !p.reference && !p.name.is_empty()) {
        p.pointer = true;
        let close = words[at..].iter().position(|w| w.1 == "]").map_or(words.len(), |k| at + k + 1);
        words.splice(at..close, [(words[at].0, "*")]);
    }
    p.type_text = words.iter().map(|w| w.1).collect::<Vec<_>>().join(" ");
    p
}

/// The last identifier that follows a type (a lone identifier is the type itself).
fn name_position(lx: &Lexed, words: &[(usize, &str)]) -> Option<usize> {
    let mut depth = 0i32;
    let mut last = None;
    for (k, (token, s)) in words.iter().enumerate() {
        match *s {
            "<" => depth += 1,
            ">" => depth -= 1,
            "[" => break,
            _ if depth == 0 && lx.is_ident(*token) && !is_type_word(s) => last = Some(k),
            _ => {}
        }
    }
    let at = last?;
    let has_type_before = words[..at].iter().any(|(t, s)| {
        (lx.is_ident(*t) && !matches!(*s, "const" | "volatile" | "restrict" | "typename")) || *s == ">"
    });
    let qualified = at > 0 && words[at - 1].1 == "::";
    (has_type_before && !qualified).then_some(at)
}

fn is_type_word(s: &str) -> bool {
    matches!(
        s,
        "const"
            | "volatile"
            | "restrict"
            | "unsigned"
            | "signed"
            | "int"
            | "float"
            | "half"
            | "bool"
            | "char"
            | "short"
            | "long"
            | "uint"
            | "uchar"
            | "ushort"
            | "ulong"
            | "void"
            | "typename"
            | "struct"
    )
}

/// The value of an index that may be written as a sum or product of numbers.
pub fn integer(text: &str) -> Option<u32> {
    let clean: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    sum(&clean).and_then(|v| u32::try_from(v).ok())
}

fn sum(text: &str) -> Option<i64> {
    let mut depth = 0;
    let at = text.char_indices().rev().find(|&(i, c)| {
        depth += i32::from(c == ')') - i32::from(c == '(');
        depth == 0 && i > 0 && matches!(c, '+' | '-')
    });
    match at {
        Some((i, '+')) => sum(&text[..i])?.checked_add(product(&text[i + 1..])?),
        Some((i, _)) => sum(&text[..i])?.checked_sub(product(&text[i + 1..])?),
        None => product(text),
    }
}

fn product(text: &str) -> Option<i64> {
    if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        return sum(inner);
    }
    if let Some((a, b)) = text.rsplit_once('*') {
        return product(a)?.checked_mul(product(b)?);
    }
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::integer;

    #[test]
    fn indices_may_be_sums() {
        assert_eq!(integer("300+2*4"), Some(308));
        assert_eq!(integer("(1 + 2)"), Some(3));
        assert_eq!(integer("0x10u"), Some(16));
        assert_eq!(integer("10-3-2"), Some(5));
        assert_eq!(integer("NAME+1"), None);
        assert_eq!(integer("1-2"), None);
    }
}

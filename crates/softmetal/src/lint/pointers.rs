//! Pointers and references must name the address space that they point to, wherever they are written.
//!
//! A type cannot be an operand, so a type name followed by `*` or `&` is always such a declarator.

use super::Lint;
use crate::source::items::ItemKind;
use crate::source::lexer::Lexed;
use crate::source::params::space_of;
use crate::source::unit::Unit;
use rustc_hash::{FxHashMap, FxHashSet};

/// Types by name, with the token ranges in which a template parameter is one.
struct Types<'a> {
    everywhere: FxHashSet<&'a str>,
    parameters: FxHashMap<&'a str, Vec<(usize, usize)>>,
}

/// Every declarator of the unit.
pub fn check(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let types = types(unit);
    let mut i = 0;
    while i < lx.tokens.len() {
        if lx.is(i, "[[") {
            i = lx.matching(i);
        } else if lx.is_ident(i)
            && (types.contains(lx.str(i), i) || lx.is(i + 1, "<") && is_library_template(lx.str(i)))
            && let Some(star) = bare_declarator(lx, i)
        {
            let what = if lx.is(star, "*") { "pointer" } else { "reference" };
            let name =
                (star + 1..star + 4).take_while(|&k| lx.is_ident(k)).find(|&k| !is_qualifier(lx.str(k)));
            let name = name.map_or(String::new(), |k| format!(" `{}`", lx.str(k)));
            lint.at(
                i,
                format!("the {what}{name} to `{}` needs an address space: device, constant, threadgroup or thread", lx.str(i)),
            );
        }
        i += 1;
    }
}

/// The `*` or `&` behind the type at `i`, if no address space belongs to it.
fn bare_declarator(lx: &Lexed, i: usize) -> Option<usize> {
    let mut k = i + 1;
    if lx.is(k, "<") {
        k = lx.skip_angles(k);
    }
    let mut spaced = before(lx, i)?;
    while is_qualifier(lx.str(k)) || space_of(lx.str(k)).is_some() {
        spaced |= space_of(lx.str(k)).is_some();
        k += 1;
    }
    // `int (*f)(int)` and `float (&a)[4]` alike.
    if lx.is(k, "(") && matches!(lx.str(k + 1), "*" | "&") && !lx.is(k + 2, ")") {
        let close = lx.matching(k);
        let function = lx.is(close + 1, "(");
        let declares = matches!(lx.str(close + 1), "[") || function;
        return (declares && !function && !spaced && !lx.is(k + 2, "&")).then_some(k + 1);
    }
    let indirect = matches!(lx.str(k), "*" | "&") && !(lx.is(k, "&") && adjacent(lx, k));
    // `remove_reference_t<int &>` computes with types; a cast makes a pointer.
    let in_angles = matches!(lx.str(k + 1), ">" | ",") && (1..=4).any(|n| i >= n && lx.is(i - n, "<"));
    if in_angles && !(1..=5).any(|n| i >= n && lx.str(i - n).ends_with("_cast")) {
        return None;
    }
    (indirect && !spaced).then_some(k)
}

/// Whether `&` at `k` is half of `&&`.
fn adjacent(lx: &Lexed, k: usize) -> bool {
    lx.is(k + 1, "&") && lx.tokens[k].end == lx.tokens[k + 1].start
}

/// Whether an address space stands among the specifiers in front; `None` where the name is no type here.
fn before(lx: &Lexed, i: usize) -> Option<bool> {
    let mut k = i;
    let mut spaced = false;
    while k > 0 {
        match lx.str(k - 1) {
            "::" => {}
            w if space_of(w).is_some() => spaced = true,
            w if is_qualifier(w) => {}
            "." | "->" | "goto" | "struct" | "class" | "enum" | "union" => return None,
            // `device Four<half>::Type *`
            ">" if lx.is(k, "::") => k = opening_angle(lx, k - 1) + 1,
            w if matches!(lx.str(k), "::" | "<") && k < i && lx.is_ident(k - 1) && !matches!(w, "return") => {
            }
            _ => break,
        }
        k -= 1;
    }
    Some(spaced)
}

/// The bracket that the `>` at `close` closes.
fn opening_angle(lx: &Lexed, close: usize) -> usize {
    let mut depth = 0usize;
    let mut k = close;
    loop {
        match lx.str(k) {
            ">" => depth += 1,
            "<" => depth -= 1,
            _ => {}
        }
        if depth == 0 || k == 0 {
            return k;
        }
        k -= 1;
    }
}

fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "const"
            | "volatile"
            | "restrict"
            | "__restrict"
            | "static"
            | "inline"
            | "constexpr"
            | "typename"
            | "typedef"
            | "extern"
            | "unsigned"
            | "signed"
    )
}

impl Types<'_> {
    fn contains(&self, name: &str, at: usize) -> bool {
        self.everywhere.contains(name)
            || self.parameters.get(name).is_some_and(|list| list.iter().any(|r| r.0 <= at && at < r.1))
    }
}

const BUILTIN: &[&str] = &[
    "void",
    "bool",
    "char",
    "uchar",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "half",
    "bfloat",
    "float",
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "size_t",
    "ptrdiff_t",
    "atomic_int",
    "atomic_uint",
    "atomic_bool",
    "atomic_float",
    "atomic_ulong",
    "vec",
    "packed_vec",
    "atomic",
    "matrix",
    "simdgroup_matrix",
    "simdgroup_float8x8",
    "simdgroup_half8x8",
    "simdgroup_bfloat8x8",
    "unsigned",
    "signed",
];

/// Templates of the library whose names variables have as well.
fn is_library_template(name: &str) -> bool {
    name == "array"
        || ["texture1d", "texture2d", "texture3d", "texturecube", "depth2d"]
            .iter()
            .any(|t| name.starts_with(t))
}

fn types(unit: &Unit) -> Types<'_> {
    let lx = &unit.lx;
    let mut everywhere: FxHashSet<&str> = BUILTIN.iter().copied().collect();
    everywhere.extend((0..lx.tokens.len()).map(|k| lx.str(k)).filter(|w| is_vector(w)));
    let mut other: FxHashSet<&str> = FxHashSet::default();
    let mut parameters: FxHashMap<&str, Vec<(usize, usize)>> = FxHashMap::default();
    for item in &unit.items {
        match item.kind {
            ItemKind::Type if !item.name.is_empty() => {
                everywhere.insert(&item.name);
            }
            // A typedef of a pointer has its address space inside.
            ItemKind::Other
                if matches!(lx.str(item.start), "typedef" | "using")
                    && !(item.start..item.end)
                        .any(|k| matches!(lx.str(k), "*" | "&" | "namespace" | "decltype")) =>
            {
                everywhere.insert(&item.name);
            }
            ItemKind::Variable | ItemKind::Function | ItemKind::Kernel => {
                other.insert(&item.name);
            }
            _ => {}
        }
        for k in item.template.0..item.template.1 {
            if matches!(lx.str(k), "typename" | "class")
                && lx.is_ident(k + 1)
                && matches!(lx.str(k + 2), "," | ">" | "=")
            {
                parameters.entry(lx.str(k + 1)).or_default().push((item.start, item.end));
            }
        }
    }
    // A name that also stands for a value says nothing.
    everywhere.retain(|n| !other.contains(n));
    Types { everywhere, parameters }
}

/// `float4`, `packed_half2`, `float3x3` and the like.
pub fn is_vector(word: &str) -> bool {
    let base = word.trim_start_matches("packed_").trim_end_matches(['2', '3', '4', 'x']);
    base.len() < word.len()
        && matches!(
            base,
            "bool"
                | "char"
                | "uchar"
                | "short"
                | "ushort"
                | "int"
                | "uint"
                | "long"
                | "ulong"
                | "half"
                | "bfloat"
                | "float"
        )
}

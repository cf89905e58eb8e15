//! Features that need a language version or a GPU family.

mod family;
mod since;

pub use family::check_family;

use super::Lint;
use super::words::declares;
use crate::source::items::{Item, ItemKind};
use crate::source::lexer::Lexed;
use crate::source::unit::Unit;
use rustc_hash::{FxHashMap, FxHashSet};
use since::{ATTRIBUTES, ELEMENTS, METHODS, NAMES};
use std::cell::OnceCell;

/// Where a name stands decides what it is the name of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Attribute,
    Member,
    Elsewhere,
}

/// Names that need a newer language version.
pub fn check_version(lint: &mut Lint<'_>, version: u32) {
    let newer = Newer::than(version, lint.unit);
    if newer.names.is_empty() && newer.attributes.is_empty() {
        return;
    }
    let lx = &lint.unit.lx;
    let mut attribute_end = 0;
    for i in 0..lx.tokens.len() {
        if lx.is(i, "[[") {
            attribute_end = lx.matching(i);
        }
        let place = match () {
            () if i < attribute_end => Place::Attribute,
            () if i > 0 && matches!(lx.str(i - 1), "." | "->") => Place::Member,
            () => Place::Elsewhere,
        };
        if let Some((what, needed)) = newer.feature(lint.unit, i, place) {
            let (needed, version) = (dotted(needed), dotted(version));
            lint.at(i, format!("{what} needs Metal {needed}, and the language version is {version}"));
        }
    }
}

fn dotted(version: u32) -> String {
    format!("{}.{}", version / 100, version / 10 % 10)
}

/// Whether a token is a number such as `1.0bf`.
fn is_bfloat_literal(text: &str) -> bool {
    let number = text.starts_with(|c: char| c == '.' || c.is_ascii_digit()) && !text.starts_with("0x");
    number && (text.ends_with("bf") || text.ends_with("BF"))
}

/// What is newer than a language version, without names that the source itself declares.
struct Newer<'a> {
    version: u32,
    names: FxHashMap<&'static str, u32>,
    methods: FxHashMap<&'static str, u32>,
    attributes: FxHashMap<&'static str, u32>,
    /// Names that the source declares; rarely asked for.
    own: OnceCell<FxHashSet<&'a str>>,
    /// Types of 64 bits, and structs that contain one.
    wide: FxHashSet<&'a str>,
}

impl<'a> Newer<'a> {
    fn than(version: u32, unit: &'a Unit) -> Newer<'a> {
        let select = |table: &[(u32, &'static [&'static str])]| {
            let rows = table.iter().filter(|(needed, _)| *needed > version);
            rows.flat_map(|(needed, names)| names.iter().map(|n| (*n, *needed))).collect()
        };
        let wide = if version < IN_BUFFERS { wide_types(unit) } else { FxHashSet::default() };
        Newer {
            version,
            names: select(NAMES),
            methods: select(METHODS),
            attributes: select(ATTRIBUTES),
            own: OnceCell::new(),
            wide,
        }
    }

    /// What is written at `i`, if it is newer, and the version that it needs.
    fn feature(&self, unit: &'a Unit, i: usize, place: Place) -> Option<(String, u32)> {
        let lx = &unit.lx;
        if !lx.is_ident(i) {
            return (self.version < 310 && is_bfloat_literal(lx.str(i)))
                .then(|| (format!("`{}`", lx.str(i)), 310));
        }
        let word = lx.str(i);
        let named = |table: &FxHashMap<&str, u32>| table.get(word).map(|v| (format!("`{word}`"), *v));
        let newer = match place {
            Place::Attribute => return named(&self.attributes),
            Place::Elsewhere if self.in_a_buffer(lx, i) => {
                return Some(("a 64-bit integer in a buffer".into(), IN_BUFFERS));
            }
            Place::Member => named(&self.methods),
            Place::Elsewhere => self
                .atomic(lx, i)
                .or_else(|| named(&self.names))
                .or_else(|| self.vector(word).map(|v| (format!("`{word}`"), v))),
        };
        newer.filter(|_| !self.own.get_or_init(|| declared(unit)).contains(word))
    }

    /// The version that a vector type needs for its elements.
    fn vector(&self, word: &str) -> Option<u32> {
        let element = word.strip_suffix(['2', '3', '4']).or_else(|| fixed_width(word))?;
        let element = element.strip_prefix("packed_").unwrap_or(element);
        ELEMENTS.iter().find(|(v, e)| *v > self.version && *e == element).map(|(v, _)| *v)
    }

    /// What `atomic<…>` needs for its argument.
    fn atomic(&self, lx: &Lexed, i: usize) -> Option<(String, u32)> {
        if !lx.is(i, "atomic") || !lx.is(i + 1, "<") {
            return None;
        }
        let (what, needed) = match (lx.str(i + 2), lx.str(i + 3)) {
            ("float", _) => ("`atomic<float>`", 300),
            ("bool", _) => ("`atomic<bool>`", 240),
            ("ulong" | "uint64_t", _) | ("unsigned", "long") => ("`atomic<ulong>`", 240),
            _ => return None,
        };
        (needed > self.version).then(|| (what.to_string(), needed))
    }

    /// Whether a type with a 64-bit integer is written at `i`, and a buffer of them.
    fn in_a_buffer(&self, lx: &Lexed, i: usize) -> bool {
        if self.wide.is_empty() {
            return false;
        }
        let end = if lx.is(i + 1, "<") { lx.skip_angles(i + 1) } else { i + 1 };
        (i..end).any(|k| self.wide.contains(lx.str(k))) && behind_a_buffer_pointer(lx, i, end)
    }
}

/// The first version with 64-bit integers in buffers.
const IN_BUFFERS: u32 = 230;

/// `long` for `int64_t`, `ulong` for `uint64_t`.
fn fixed_width(word: &str) -> Option<&'static str> {
    match word {
        "int64_t" => Some("long"),
        "uint64_t" => Some("ulong"),
        _ => None,
    }
}

/// Whether the type at `from..to` is what a pointer or reference to device or constant memory points to.
fn behind_a_buffer_pointer(lx: &Lexed, from: usize, to: usize) -> bool {
    let qualifier = |k: usize| {
        matches!(
            lx.str(k),
            "const" | "volatile" | "device" | "constant" | "unsigned" | "signed" | "int" | "struct"
        )
    };
    let star = (to..lx.tokens.len()).find(|&k| !qualifier(k)).unwrap_or(to);
    let first = (0..from).rev().find(|&k| !qualifier(k)).map_or(0, |k| k + 1);
    let spaced = (first..star).any(|k| matches!(lx.str(k), "device" | "constant"));
    spaced && matches!(lx.str(star), "*" | "&")
}

/// Names that the source declares, which hide those of the library.
fn declared(unit: &Unit) -> FxHashSet<&str> {
    let lx = &unit.lx;
    let items = unit.items.iter().filter(|it| !it.name.is_empty() && it.kind != ItemKind::Instantiation);
    let names = |i: usize| match lx.str(i - 1) {
        "namespace" | "typename" | "class" | "struct" | "union" | "enum" => !lx.is(i - 2, "using"),
        "using" => lx.is(i + 1, "="),
        _ => declares(lx, i),
    };
    let others = (2..lx.tokens.len()).filter(|&i| lx.is_ident(i) && (names(i) || is_enumerator(unit, i)));
    items.map(|it| it.name.as_str()).chain(others.map(|i| lx.str(i))).collect()
}

/// Whether the word at `i` is a member of an enumeration.
fn is_enumerator(unit: &Unit, i: usize) -> bool {
    let lx = &unit.lx;
    matches!(lx.str(i - 1), "{" | ",")
        && matches!(lx.str(i + 1), "," | "}" | "=")
        && unit
            .items
            .iter()
            .any(|it| (it.body.0..it.body.1).contains(&i) && (it.start..it.body.0).any(|k| lx.is(k, "enum")))
}

/// 64-bit integers, vectors of them, and the types of the source that are made of them.
fn wide_types(unit: &Unit) -> FxHashSet<&str> {
    let mut wide: FxHashSet<&str> =
        ["long", "ulong", "int64_t", "uint64_t", "size_t", "ptrdiff_t", "atomic_ulong"].into_iter().collect();
    let vectors = ["long", "ulong", "packed_long", "packed_ulong"];
    let lx = &unit.lx;
    wide.extend(
        (0..lx.tokens.len())
            .map(|i| lx.str(i))
            .filter(|word| word.strip_suffix(['2', '3', '4']).is_some_and(|base| vectors.contains(&base))),
    );
    loop {
        let known = wide.len();
        wide.extend(unit.items.iter().filter_map(|item| made_of(lx, item, &wide)).collect::<Vec<_>>());
        if wide.len() == known {
            return wide;
        }
    }
}

/// The name of a type whose members, or whose definition by another, are of one of these types.
fn made_of<'a>(lx: &'a Lexed, item: &'a Item, types: &FxHashSet<&str>) -> Option<&'a str> {
    let has = |from: usize, to: usize| {
        (from..to).any(|k| types.contains(lx.str(k)) && !matches!(lx.str(k + 1), "*" | "&"))
    };
    match item.kind {
        ItemKind::Type => {
            (!item.name.is_empty() && has(item.body.0, item.body.1)).then_some(item.name.as_str())
        }
        ItemKind::Other if lx.is(item.start, "using") && lx.is(item.start + 2, "=") => {
            has(item.start + 3, item.end).then(|| lx.str(item.start + 1))
        }
        ItemKind::Other if lx.is(item.start, "typedef") => {
            let name = (item.start..item.end).rev().find(|&k| lx.is_ident(k))?;
            has(item.start, name).then(|| lx.str(name))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(source: &str, version: u32) -> Vec<String> {
        let unit = Unit::new(source).expect("a unit");
        let mut lint = Lint::new(&unit, ("program.metal", source));
        check_version(&mut lint, version);
        lint.found.into_iter().map(|d| d.message).collect()
    }

    #[test]
    fn each_name_needs_its_version_and_no_later_one() {
        let tables = [NAMES, METHODS, ATTRIBUTES];
        for (table, spelling) in tables.into_iter().zip(["metal::{}(1)", "t.{}(1)", "[[{}]] int x = 1"]) {
            for &(needed, names) in table {
                for name in names {
                    let source =
                        format!("kernel void k(device int *o) {{ {}; }}", spelling.replace("{}", name));
                    let wanted = format!("`{name}` needs Metal {},", dotted(needed));
                    let found = told(&source, needed - 10);
                    assert!(found.iter().any(|m| m.starts_with(&wanted)), "{source}: {found:?}");
                    assert_eq!(told(&source, needed), Vec::<String>::new(), "{source}");
                }
            }
        }
    }

    #[test]
    fn vectors_come_with_their_elements() {
        for (needed, element) in ELEMENTS {
            for name in [format!("{element}3"), format!("packed_{element}2")] {
                let source = format!("void f() {{ {name} x; }}");
                assert!(
                    !told(&source, needed - 10).is_empty() && told(&source, *needed).is_empty(),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn names_of_the_source_are_its_own() {
        assert!(told("float simd_sum(float x) { return x; } void f() { simd_sum(1.0f); }", 200).is_empty());
        assert!(told("struct S { int min3; }; void f(S s) { s.min3 = 1; }", 200).is_empty());
        assert!(told("; namespace tensor { int x; } enum { coherent, mpp = 2 };", 320).is_empty());
        assert!(told("; using tensor = int; template <typename mpp> void f(mpp x);", 320).is_empty());
        assert!(!told("void f() { simd_sum(1.0f); }", 200).is_empty());
    }
}

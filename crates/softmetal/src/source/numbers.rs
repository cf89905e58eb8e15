//! Names of integers that attributes can use as an index: enumerators and constants.

use super::items::{Item, ItemKind};
use super::lexer::Lexed;
use super::params::{integer, split_commas};
use rustc_hash::FxHashMap;

/// Values by name; a member of an enumeration is also known as `Type::member`.
pub type Numbers = FxHashMap<String, u32>;

/// All names of a unit whose value is a number, a sum or a product of such.
pub fn find(lx: &Lexed, items: &[Item]) -> Numbers {
    let mut out = Numbers::default();
    for item in items {
        match item.kind {
            ItemKind::Type if (item.start..item.body.0).any(|k| lx.is(k, "enum")) => {
                members(lx, item, &mut out);
            }
            ItemKind::Variable => constant(lx, item, &mut out),
            _ => {}
        }
    }
    out
}

fn members(lx: &Lexed, item: &Item, out: &mut Numbers) {
    let mut next = Some(0u32);
    for (from, to) in split_commas(lx, item.body.0 + 1, item.body.1) {
        if lx.is(from + 1, "=") {
            next = integer(&resolved(&words(lx, from + 2, to), out));
        }
        if let Some(value) = next {
            let name = lx.str(from);
            if !item.name.is_empty() {
                out.insert(format!("{}::{name}", item.name), value);
            }
            out.insert(name.to_string(), value);
        }
        next = next.and_then(|v| v.checked_add(1));
    }
}

fn constant(lx: &Lexed, item: &Item, out: &mut Numbers) {
    let Some(equals) = (item.start..item.end).find(|&k| lx.is(k, "=")) else { return };
    let fixed = (item.start..equals).any(|k| matches!(lx.str(k), "constexpr" | "constant" | "const"));
    if let Some(value) = integer(&resolved(&words(lx, equals + 1, item.end - 1), out)).filter(|_| fixed) {
        out.insert(item.name.clone(), value);
    }
}

fn words(lx: &Lexed, from: usize, to: usize) -> String {
    (from..to).map(|k| lx.str(k)).collect()
}

/// An expression with numbers for names, and without conversions to an integer.
pub fn resolved(text: &str, numbers: &Numbers) -> String {
    let (mut out, mut word) = (String::with_capacity(text.len()), String::new());
    for c in text.chars().chain(['\0']) {
        if c.is_alphanumeric() || matches!(c, '_' | ':') {
            word.push(c);
            continue;
        }
        let name = word.trim_start_matches("::");
        match numbers.get(name).or_else(|| numbers.get(last_two(name))) {
            Some(value) => out.push_str(&value.to_string()),
            None if matches!(name, "int" | "uint" | "ushort" | "size_t" | "uint32_t" | "int32_t")
                && c == '(' => {}
            None => out.push_str(&word),
        }
        word.clear();
        out.push(c);
    }
    out.pop();
    let cast = ["static_cast<int>", "static_cast<uint>", "static_cast<size_t>"];
    cast.iter().fold(out, |text, c| text.replace(c, ""))
}

/// `Type::member` of `space::Type::member`.
fn last_two(name: &str) -> &str {
    let mut ends = name.rmatch_indices("::");
    match (ends.next(), ends.next()) {
        (Some(_), Some((at, _))) => &name[at + 2..],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use crate::source::items::scan;
    use crate::source::lexer::lex;
    use crate::source::params::integer;

    #[test]
    fn indices_may_be_names() {
        let text = "enum { A, B = 4, C }; enum class Slot : int { one = 1, two }; constant constexpr int base = B + 2; namespace n { enum E { deep = 9 }; }";
        let lx = lex(text);
        let numbers = super::find(&lx, &scan(&lx));
        let value = |text: &str| integer(&super::resolved(text, &numbers));
        assert_eq!(value("A"), Some(0));
        assert_eq!(value("C"), Some(5));
        assert_eq!(value("base+1"), Some(7));
        assert_eq!(value("int(Slot::two)"), Some(2));
        assert_eq!(value("static_cast<int>(Slot::one)"), Some(1));
        assert_eq!(value("n::E::deep"), Some(9));
        assert_eq!(value("unknown"), None);
    }
}

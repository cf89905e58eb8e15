//! The kernel files as a library: a shader contains the requested entry point and its dependencies only.
//!
//! Every top-level item of every file has a unique name, so linking is a traversal of names.

use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

/// Every kernel file, by name.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

struct Item {
    text: String,
    /// Names in the text, in order of appearance.
    names: Vec<&'static str>,
}

static ITEMS: LazyLock<FxHashMap<&'static str, Item>> = LazyLock::new(|| {
    let mut items = FxHashMap::default();
    for (file, text) in FILES {
        for (name, item) in split(text) {
            assert!(items.insert(name, item).is_none(), "{name} is defined twice, again in {file}");
        }
    }
    items
});

/// The top-level items of a file. An item starts in the first column, and ends with `}` there or with a line that ends in `;`.
fn split(text: &'static str) -> Vec<(&'static str, Item)> {
    let mut items = Vec::new();
    let mut current = String::new();
    let mut name = "";
    let mut names = Vec::new();
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or("").trim_end();
        if code.is_empty() {
            continue;
        }
        let words: Vec<&'static str> = identifiers(code).collect();
        if name.is_empty() && !code.starts_with('@') {
            name = words[usize::from(words.len() > 1)];
            if words[0] == "var" {
                name = words[2];
            }
        } else if name.is_empty()
            && let Some(at) = words.iter().position(|w| *w == "fn")
        {
            name = words[at + 1];
        }
        current.push_str(code);
        current.push('\n');
        names.extend(words);
        let outermost = !code.starts_with(' ');
        if outermost && (code == "}" || code.ends_with(';')) {
            items
                .push((name, Item { text: std::mem::take(&mut current), names: std::mem::take(&mut names) }));
            name = "";
        }
    }
    items
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|w| w.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// The items that `text` uses, directly or not, as text.
pub(crate) fn link(text: &str, entry: &str) -> String {
    let mut out = String::new();
    // What the text defines itself takes the place of what the files have under that name.
    let mut seen: FxHashSet<&str> = text.lines().filter_map(defined).collect();
    let mut stack: Vec<&str> = identifiers(text).chain([entry]).collect();
    while let Some(name) = stack.pop() {
        let Some((&name, item)) = ITEMS.get_key_value(name) else { continue };
        if seen.insert(name) {
            out.push_str(&item.text);
            stack.extend(&item.names);
        }
    }
    out
}

/// The name that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = identifiers(line);
    matches!(words.next()?, "fn" | "const" | "alias" | "var").then(|| words.next()).flatten()
}

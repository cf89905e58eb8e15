//! Overloads that differ only in address spaces, with different bodies.
//!
//! Without address spaces they are the same function. So they are renamed, and every call is renamed to the one that
//! it resolves to, which only a compiler with address spaces can decide: the judging pass reports it.

use super::items::{Item, ItemKind};
use super::params::{Space, space_of};
use super::rewrite::{plain, signature};
use super::unit::Unit;
use rustc_hash::{FxHashMap, FxHashSet};

/// Which functions have names of their own, and which calls mean them.
#[derive(Debug, Default)]
pub struct Overloads {
    /// Items, by the number in their new names.
    pub items: FxHashMap<usize, usize>,
    /// Calls: the token of the name, and the number of what it means.
    pub calls: FxHashMap<usize, usize>,
}

impl Overloads {
    /// The functions of a unit that have to be told apart.
    pub fn find(unit: &Unit) -> Overloads {
        let mut groups: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (i, item) in unit.items.iter().enumerate().filter(|(_, it)| is_named_function(it)) {
            groups.entry(signature(&unit.lx, item)).or_default().push(i);
        }
        let mut items = FxHashMap::default();
        let mut names: FxHashSet<&str> = FxHashSet::default();
        // Bodies that read alike differ if they call what is told apart.
        loop {
            let known = items.len();
            for group in groups.values().filter(|g| !items.contains_key(&g[0])).collect::<Vec<_>>() {
                let bodies: Vec<&Item> =
                    group.iter().map(|&i| &unit.items[i]).filter(|it| it.has_body()).collect();
                let texts: FxHashSet<String> = bodies.iter().map(|it| body(unit, it)).collect();
                let calls = |it: &&Item| (it.body.0..it.body.1).any(|k| names.contains(unit.lx.str(k)));
                if texts.len() < 2 && (bodies.len() < 2 || !bodies.iter().any(calls)) {
                    continue;
                }
                let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
                for &i in group {
                    items.insert(i, *numbers.entry(exact(unit, &unit.items[i])).or_insert(i));
                    names.insert(&unit.items[i].name);
                }
            }
            if items.len() == known {
                return Overloads { items, calls: FxHashMap::default() };
            }
        }
    }

    /// What cannot be told apart by a name: operators, constructors and specialisations that differ in address spaces alone, with
    /// bodies that differ; each second one of them.
    pub fn inseparable(unit: &Unit) -> Vec<usize> {
        let mut groups: FxHashMap<String, (String, bool)> = FxHashMap::default();
        let mut out = Vec::new();
        for (i, item) in unit.items.iter().enumerate() {
            let kind = matches!(item.kind, ItemKind::Function | ItemKind::Type);
            if !kind || !item.has_body() || item.name.is_empty() || is_named_function(item) {
                continue;
            }
            // Without one in either, it is the same declaration once more.
            let spaced = (item.start..item.body.0).any(|k| space_of(unit.lx.str(k)).is_some());
            // Whose `const` a qualifier is, of the constructor or of a parameter, makes no other body.
            let head: Vec<_> =
                initialisers(unit, item).split(' ').filter(|w| *w != "const").map(str::to_string).collect();
            let text = format!("{}|{}", head.join(" "), body(unit, item).replace("const ", ""));
            let first = groups.entry(signature(&unit.lx, item)).or_insert_with(|| (text.clone(), spaced));
            if first.0 != text && (first.1 || spaced) {
                out.push(i);
            }
        }
        out
    }

    /// Tokens that may call one of them.
    pub fn sites<'a>(&'a self, unit: &'a Unit) -> impl Iterator<Item = usize> + 'a {
        let names: FxHashSet<&str> = self.items.keys().map(|&i| unit.items[i].name.as_str()).collect();
        let declared: FxHashSet<usize> = self.items.keys().map(|&i| unit.items[i].params.0 - 1).collect();
        let lx = &unit.lx;
        (0..lx.tokens.len()).filter(move |&k| {
            let named = lx.is_ident(k) && names.contains(lx.str(k)) && !declared.contains(&k);
            named && (lx.is(k + 1, "(") || lx.is(k + 1, "<") && lx.is(lx.skip_angles(k + 1), "("))
        })
    }

    /// What a call means whose argument is a temporary, which only a reference to thread memory takes.
    pub fn of_temporary(unit: &Unit, token: usize) -> Option<usize> {
        let elsewhere = |s: Option<Space>| s.is_some_and(|s| s != Space::Thread);
        let fits = |it: &Item| {
            it.name == unit.lx.str(token) && !it.parameters(&unit.lx).iter().any(|p| elsewhere(p.space))
        };
        let found: FxHashSet<usize> =
            unit.overloads.items.iter().filter(|(i, _)| fits(&unit.items[**i])).map(|(_, &n)| n).collect();
        found.iter().next().copied().filter(|_| found.len() == 1)
    }

    /// The name of an overload.
    pub fn name(unit: &Unit, number: usize) -> String {
        format!("{}_softmetal_{number}", unit.items[number].name)
    }
}

fn is_named_function(item: &Item) -> bool {
    let constructor = item.scope.last() == Some(&item.name);
    item.kind == ItemKind::Function
        && !item.name.is_empty()
        && !item.name.starts_with("operator")
        && !constructor
        && item.params.0 > 0
}

fn body(unit: &Unit, item: &Item) -> String {
    plain(&unit.lx, item.body.0, item.body.1)
}

/// What stands between the parameters and the body of a constructor.
fn initialisers(unit: &Unit, item: &Item) -> String {
    if item.params.1 == 0 {
        return String::new();
    }
    plain(&unit.lx, item.params.1 + 1, item.body.0)
}

/// The parameters and qualifiers as written, names apart: what pairs a declaration with its definition.
fn exact(unit: &Unit, item: &Item) -> String {
    let params = item.parameters(&unit.lx);
    let spaces: Vec<String> = params.iter().map(|p| format!("{:?} {}", p.space, p.type_text)).collect();
    let end = (item.params.1 + 1..item.end)
        .find(|&k| matches!(unit.lx.str(k), "{" | ";" | "="))
        .unwrap_or(item.end);
    format!("{}|{}", spaces.join(","), unit.lx.span(item.params.1, end))
}

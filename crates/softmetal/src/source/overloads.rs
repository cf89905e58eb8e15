//! Overloads that differ in address spaces alone, with bodies that differ.
//!
//! Without address spaces they are one function. So they get names of their own, and every call the name of the one that it means, which
//! only a compiler with address spaces can tell: the judging pass reports it.

use super::items::{Item, ItemKind};
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
        for group in groups.values() {
            let bodies: FxHashSet<String> = group
                .iter()
                .map(|&i| &unit.items[i])
                .filter(|it| it.has_body())
                .map(|it| body(unit, it))
                .collect();
            if bodies.len() < 2 {
                continue;
            }
            let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
            for &i in group {
                items.insert(i, *numbers.entry(exact(unit, &unit.items[i])).or_insert(i));
            }
        }
        Overloads { items, calls: FxHashMap::default() }
    }

    /// Tokens that may call one of them.
    pub fn sites<'a>(&'a self, unit: &'a Unit) -> impl Iterator<Item = usize> + 'a {
        let names: FxHashSet<&str> = self.items.keys().map(|&i| unit.items[i].name.as_str()).collect();
        let declared: FxHashSet<usize> = self.items.keys().map(|&i| unit.items[i].params.0 - 1).collect();
        let lx = &unit.lx;
        (0..lx.tokens.len()).filter(move |&k| {
            lx.is_ident(k) && names.contains(lx.str(k)) && !declared.contains(&k) && lx.is(k + 1, "(")
        })
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

/// The parameters and qualifiers as written, names apart: what pairs a declaration with its definition.
fn exact(unit: &Unit, item: &Item) -> String {
    let params = item.parameters(&unit.lx);
    let spaces: Vec<String> = params.iter().map(|p| format!("{:?} {}", p.space, p.type_text)).collect();
    let end = (item.params.1 + 1..item.end)
        .find(|&k| matches!(unit.lx.str(k), "{" | ";" | "="))
        .unwrap_or(item.end);
    format!("{}|{}", spaces.join(","), unit.lx.span(item.params.1, end))
}

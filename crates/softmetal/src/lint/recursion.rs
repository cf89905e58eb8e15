//! Recursion: a cycle among plain functions with unique names. Overloads and templates are left alone, since one may
//! call another of the same name.

use super::Lint;
use crate::source::items::ItemKind;
use rustc_hash::FxHashMap;

/// Finds cycles.
pub fn check(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    let lx = &unit.lx;
    let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (i, item) in unit.items.iter().enumerate() {
        if item.kind == ItemKind::Function && item.has_body() {
            by_name.entry(&item.name).or_default().push(i);
        }
    }
    let unique: FxHashMap<&str, usize> = by_name.into_iter().filter(|(_, v)| v.len() == 1 && !unit.items[v[0]].is_template() && !unit.items[v[0]].in_type).map(|(n, v)| (n, v[0])).collect();
    let mut calls: FxHashMap<usize, Vec<(usize, usize)>> = FxHashMap::default();
    for &i in unique.values() {
        let body = unit.items[i].body;
        for k in body.0..body.1 {
            let called = lx.is_ident(k) && lx.is(k + 1, "(") && !matches!(lx.str(k - 1), "." | "->" | "::");
            if called && let Some(&j) = unique.get(lx.str(k)) {
                calls.entry(i).or_default().push((j, k));
            }
        }
    }
    for &start in unique.values() {
        if let Some(token) = cycle(start, &calls) {
            lint.at(token, format!("`{}` calls itself; MSL has no recursion", unit.items[start].name));
        }
    }
}

/// The first call in `start` that leads back to it.
fn cycle(start: usize, calls: &FxHashMap<usize, Vec<(usize, usize)>>) -> Option<usize> {
    for &(first, token) in calls.get(&start)? {
        let (mut seen, mut stack) = (vec![first], vec![first]);
        while let Some(at) = stack.pop() {
            if at == start {
                return Some(token);
            }
            for &(next, _) in calls.get(&at).into_iter().flatten() {
                if !seen.contains(&next) {
                    seen.push(next);
                    stack.push(next);
                }
            }
        }
    }
    None
}

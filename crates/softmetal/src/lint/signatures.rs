//! Functions that the host can call: their names, attributes and indices.

use super::Lint;
use crate::source::binding::BUILTINS;
use crate::source::items::{Item, ItemKind};
use crate::source::params::{Param, attributes, integer};
use rustc_hash::FxHashMap;

/// Attributes of a function, which stand in front of it.
const OF_FUNCTIONS: &[&str] = &[
    "max_total_threads_per_threadgroup",
    "host_name",
    "kernel",
    "visible",
    "required_threads_per_threadgroup",
];

/// All entry points and what calls them.
pub fn check(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    for item in &unit.items {
        match item.kind {
            ItemKind::Kernel | ItemKind::Graphics => {
                trailing_attributes(lint, item);
                repeated(lint, &item.parameters(&unit.lx));
                calls(lint, item);
            }
            ItemKind::Function => {
                trailing_attributes(lint, item);
                calls(lint, item);
                if item.name == "main" && item.scope.is_empty() {
                    lint.at(
                        item.params.0 - 1,
                        "a function that is no kernel, vertex or fragment function cannot be called `main`",
                    );
                }
            }
            _ => {}
        }
    }
    repeated_names(lint);
}

/// `kernel void k(…) [[max_total_threads_per_threadgroup(n)]]` says it of the type.
fn trailing_attributes(lint: &mut Lint<'_>, item: &Item) {
    let unit = lint.unit;
    let end = if item.has_body() { item.body.0 } else { item.end };
    for a in
        attributes(&unit.lx, item.params.1, end).iter().filter(|a| OF_FUNCTIONS.contains(&a.name.as_str()))
    {
        lint.at(
            a.token,
            format!(
                "`[[{}]]` behind the parameters belongs to the type; write it in front of the function",
                a.name
            ),
        );
    }
}

/// One index or one builtin for two parameters.
fn repeated(lint: &mut Lint<'_>, params: &[Param]) {
    let mut seen: FxHashMap<(String, String), &str> = FxHashMap::default();
    for p in params {
        // Parameters that function constants switch may share an index.
        if p.attribute("function_constant").is_some() {
            continue;
        }
        for a in &p.attributes {
            let indexed = matches!(a.name.as_str(), "buffer" | "threadgroup" | "texture" | "sampler");
            if !indexed && !BUILTINS.contains(&a.name.as_str()) {
                continue;
            }
            let index = integer(&a.argument).map_or(a.argument.clone(), |i| i.to_string());
            if let Some(other) = seen.insert((a.name.clone(), index.clone()), &p.name) {
                let what = if indexed {
                    format!("index {index} of [[{}]]", a.name)
                } else {
                    format!("[[{}]]", a.name)
                };
                lint.at(
                    a.token,
                    format!("{what} is already used by the parameter `{other}`; `{}` needs another", p.name),
                );
            }
        }
    }
}

/// Two functions that a host would find under one name.
fn repeated_names(lint: &mut Lint<'_>) {
    let unit = lint.unit;
    let mut seen: FxHashMap<String, usize> = FxHashMap::default();
    for item in &unit.items {
        let entry = matches!(item.kind, ItemKind::Kernel | ItemKind::Graphics)
            && !item.is_template()
            && item.has_body();
        if !entry && item.kind != ItemKind::Instantiation {
            continue;
        }
        let head = if entry { item.params.0 } else { item.end };
        let host = attributes(&unit.lx, item.start, head).into_iter().find(|a| a.name == "host_name");
        let (name, token) = match host {
            Some(a) => (a.argument, a.token),
            None if entry => (item.name.clone(), item.params.0 - 1),
            None => continue,
        };
        if let Some(first) = seen.insert(name.clone(), token) {
            let line = unit.lx.place(first).1;
            lint.at(token, format!("another function has the host name `{name}`, in line {line}"));
        }
    }
}

/// Entry points are called by the host alone.
fn calls(lint: &mut Lint<'_>, item: &Item) {
    let unit = lint.unit;
    let lx = &unit.lx;
    for k in item.body.0..item.body.1 {
        if !lx.is_ident(k) || matches!(lx.str(k - 1), "." | "->") {
            continue;
        }
        let after = if lx.is(k + 1, "<") { lx.skip_angles(k + 1) } else { k + 1 };
        if lx.is(after, "(") && lint.entry_points.contains(lx.str(k)) {
            lint.at(
                k,
                format!(
                    "`{}` is an entry point, which no function can call; put the common code into a function",
                    lx.str(k)
                ),
            );
        }
    }
}

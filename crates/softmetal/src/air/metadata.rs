//! Metadata nodes of LLVM text: `!18 = !{i32 0, !"air.buffer", !21, ptr @x}`.

use super::text::{list, name_end, unquoted};
use rustc_hash::FxHashMap;

/// One operand of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// An integer of any width.
    Int(i64),
    /// A string.
    Text(String),
    /// Another node.
    Node(u32),
    /// A global variable or function, without its sigil.
    Global(String),
    /// Something that reflection does not use.
    Other,
}

/// All nodes of a module.
#[derive(Debug, Default)]
pub struct Metadata {
    nodes: FxHashMap<u32, Vec<Value>>,
    named: FxHashMap<String, Vec<u32>>,
}

impl Metadata {
    /// Reads the metadata lines of a module's text.
    pub fn parse(text: &str) -> Metadata {
        let mut all = Metadata::default();
        for line in text.lines().filter(|l| l.starts_with('!')) {
            let Some((name, value)) = line[1..].split_once(" = ") else { continue };
            let value = value.strip_prefix("distinct ").unwrap_or(value);
            let Some(body) = value.strip_prefix("!{").and_then(|v| v.strip_suffix('}')) else { continue };
            match name.parse() {
                Ok(number) => {
                    all.nodes.insert(number, list(body).into_iter().map(operand).collect());
                }
                Err(_) => {
                    let numbers =
                        body.split(',').filter_map(|n| n.trim().trim_start_matches('!').parse().ok());
                    all.named.insert(name.to_string(), numbers.collect());
                }
            }
        }
        all
    }

    /// The operands of a node; none for a number that the module lacks.
    pub fn node(&self, number: u32) -> &[Value] {
        self.nodes.get(&number).map_or(&[], Vec::as_slice)
    }

    /// The nodes of a named list, such as `air.kernel`.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &[Value]> {
        self.named.get(name).into_iter().flatten().map(|&n| self.node(n))
    }
}

fn operand(text: &str) -> Value {
    if let Some(string) = text.strip_prefix("!\"") {
        return Value::Text(string.trim_end_matches('"').to_string());
    }
    if let Some(number) = text.strip_prefix('!').and_then(|n| n.parse().ok()) {
        return Value::Node(number);
    }
    if let Some(at) = text.find('@') {
        return Value::Global(unquoted(&text[at..name_end(text, at + 1)]).to_string());
    }
    match text.rsplit(' ').next() {
        Some("true") => Value::Int(1),
        Some("false") => Value::Int(0),
        Some(number) => number.parse().map_or(Value::Other, Value::Int),
        None => Value::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_named_lists() {
        let m = Metadata::parse(
            "!air.kernel = !{!1}\n!1 = !{ptr @k, !2, !\"air, read\", i32 -3, i1 true}\n!2 = distinct !{!2}\n",
        );
        let k = m.named("air.kernel").next().unwrap();
        let text = |s: &str| Value::Text(s.into());
        assert_eq!(
            k,
            [Value::Global("k".into()), Value::Node(2), text("air, read"), Value::Int(-3), Value::Int(1)]
        );
        assert_eq!(m.node(2), [Value::Node(2)]);
        assert!(m.node(9).is_empty() && m.named("absent").next().is_none());
    }
}

//! `air.convert.<to kind>.<to type>.<from kind>.<from type>`, where a kind is `f`, `s` or `u`.

use super::{Body, Declared};
use crate::air::text::vector;

/// The value of a conversion.
pub fn define(d: &Declared, b: &mut Body) -> Option<String> {
    let parts: Vec<&str> = d.name.strip_prefix("convert.")?.split('.').collect();
    // A rounding mode may follow; these conversions round to nearest as all of Metal's do.
    let [to_kind, _, from_kind, _, ..] = parts.as_slice() else { return None };
    let (to, from) = (d.result.as_str(), d.parameters.first()?.as_str());
    let instruction = match (*from_kind, *to_kind) {
        ("f", "f") => return Some(between_floats(b, from, to)),
        ("f", _) if vector(to).1 == "i1" => {
            return Some(b.op(format!("fcmp une {from} %p0, zeroinitializer")));
        }
        ("f", kind) => {
            // Hardware saturates, and NaN becomes zero.
            let name = if kind == "s" { "fptosi" } else { "fptoui" };
            let name = format!("llvm.{name}.sat.{}.{}", super::mangled(to), super::mangled(from));
            return Some(b.call(to, &name, &[(from, "%p0")]));
        }
        ("s", "f") => "sitofp",
        ("u", "f") => "uitofp",
        (kind, _) => match width(to).cmp(&width(from)) {
            std::cmp::Ordering::Less => "trunc",
            std::cmp::Ordering::Equal => return Some("%p0".into()),
            std::cmp::Ordering::Greater if kind == "s" => "sext",
            std::cmp::Ordering::Greater => "zext",
        },
    };
    Some(b.op(format!("{instruction} {from} %p0 to {to}")))
}

fn between_floats(b: &mut Body, from: &str, to: &str) -> String {
    let (lanes, element) = vector(to);
    let source = vector(from).1;
    let middle = if lanes == 1 { "float".to_string() } else { format!("<{lanes} x float>") };
    let wide =
        if source == "float" { "%p0".to_string() } else { b.op(format!("fpext {from} %p0 to {middle}")) };
    if element == "float" { wide } else { b.op(format!("fptrunc {middle} {wide} to {to}")) }
}

fn width(ty: &str) -> u32 {
    vector(ty).1.trim_start_matches('i').parse().unwrap_or(0)
}

//! Barriers, and simdgroup and quad functions. The runtime library has one function per scalar type; vectors are
//! processed element by element.

use super::{Body, Declared};
use crate::air::text::vector;

/// Functions of one value.
const REDUCTIONS: &[&str] = &[
    "sum",
    "product",
    "min",
    "max",
    "and",
    "or",
    "xor",
    "prefix_exclusive_sum",
    "prefix_exclusive_product",
    "prefix_inclusive_sum",
    "prefix_inclusive_product",
    "broadcast_first",
];
/// Functions of a value and a lane or distance.
const SHUFFLES: &[&str] = &[
    "broadcast",
    "shuffle",
    "shuffle_up",
    "shuffle_down",
    "shuffle_xor",
    "shuffle_rotate_up",
    "shuffle_rotate_down",
];
/// Functions of two values, a distance and a width.
const FILLS: &[&str] = &["shuffle_and_fill_up", "shuffle_and_fill_down"];

/// The value of a function in which lanes meet.
pub fn define(d: &Declared, b: &mut Body) -> Option<String> {
    let place = [("ptr", "%file"), ("i32", "%site")];
    match d.name.as_str() {
        "wg.barrier" | "threadgroup.barrier" => {
            return Some(b.call("void", "softmetal_air_barrier", &[&[("i32", "%p0")], &place[..]].concat()));
        }
        "simdgroup.barrier" => return Some(b.call("void", "softmetal_air_simd_barrier", &place)),
        "get_simdgroup_size.i16" => {
            let width = b.call("i32", "softmetal_air_width", &[]);
            return Some(b.op(format!("trunc i32 {width} to i16")));
        }
        "get_simdgroup_size.i32" => return Some(b.call("i32", "softmetal_air_width", &[])),
        "simd_all" | "simd_any" | "quad_all" | "quad_any" => {
            let vote = b.op("zext i1 %p0 to i32");
            let name = format!("softmetal_air_{}", d.name);
            let all = b.call("i32", &name, &[("i32", &vote), place[0], place[1]]);
            return Some(b.op(format!("icmp ne i32 {all}, 0")));
        }
        "simd_is_first" | "quad_is_first" => {
            let name = format!("softmetal_air_{}", d.name);
            let first = b.call("i32", &name, &place);
            return Some(b.op(format!("icmp ne i32 {first}, 0")));
        }
        "simd_ballot.i64" | "simd_vote_ballot.i64" => {
            let vote = b.op("zext i1 %p0 to i32");
            return Some(b.call("i64", "softmetal_air_simd_ballot", &[("i32", &vote), place[0], place[1]]));
        }
        "simd_active_threads_mask.i64" => return Some(b.call("i64", "softmetal_air_simd_active", &place)),
        _ => {}
    }
    let (family, kind) = d.family();
    let (group, operation) = family.split_once('_').filter(|(g, _)| matches!(*g, "simd" | "quad"))?;
    let values = if REDUCTIONS.contains(&operation) {
        1
    } else if SHUFFLES.contains(&operation) {
        2
    } else if FILLS.contains(&operation) {
        4
    } else {
        return None;
    };
    if d.parameters.len() != values {
        return None;
    }
    let ty = d.result.clone();
    let exchanged = if FILLS.contains(&operation) { 2 } else { 1 };
    let names: Vec<String> = (0..exchanged).map(|i| format!("%p{i}")).collect();
    let signed = !kind.starts_with("u.");
    let function = format!("softmetal_air_{group}_{operation}_{}", c_type(vector(&ty).1, signed)?);
    Some(b.each(&ty, &ty, &names, |b, parts| {
        let element = vector(&ty).1;
        let wide = register(element);
        let mut arguments: Vec<(String, String)> =
            parts.iter().map(|p| (wide.to_string(), to_register(b, element, signed, p))).collect();
        for i in exchanged..values {
            let distance = b.op(format!("zext {} %p{i} to i32", d.parameters[i]));
            arguments.push(("i32".into(), distance));
        }
        arguments.extend(place.iter().map(|(t, v)| (t.to_string(), v.to_string())));
        let arguments: Vec<(&str, &str)> = arguments.iter().map(|(t, v)| (t.as_str(), v.as_str())).collect();
        let value = b.call(wide, &function, &arguments);
        if wide == element { value } else { b.op(format!("trunc {wide} {value} to {element}")) }
    }))
}

/// The name of an element type in the runtime library.
fn c_type(element: &str, signed: bool) -> Option<&'static str> {
    Some(match (element, signed) {
        ("i8", true) => "i8",
        ("i8", false) => "u8",
        ("i16", true) => "i16",
        ("i16", false) => "u16",
        ("i32", true) => "i32",
        ("i32", false) => "u32",
        ("half", _) => "f16",
        ("float", _) => "f32",
        _ => return None,
    })
}

/// The type in which an element is passed: small integers as `i32`, whose extension no calling convention leaves open.
fn register(element: &str) -> &str {
    if matches!(element, "i8" | "i16") { "i32" } else { element }
}

fn to_register(b: &mut Body, element: &str, signed: bool, value: &str) -> String {
    if register(element) == element {
        return value.to_string();
    }
    let extend = if signed { "sext" } else { "zext" };
    b.op(format!("{extend} {element} {value} to i32"))
}

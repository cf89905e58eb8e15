//! 8×8 simdgroup matrices. A matrix is represented by a value of 64 elements; the first two are the lane's own, and
//! the others are unused.

use super::{Body, Declared};
use crate::air::text::vector;

/// The value of a matrix intrinsic.
pub fn define(d: &Declared, b: &mut Body) -> Option<String> {
    let (operation, _) = d.name.strip_prefix("simdgroup_matrix_8x8_")?.split_once('.')?;
    match (operation, d.parameters.len()) {
        ("init_filled", 1) => {
            let (ty, element) = (&d.result, &d.parameters[0]);
            let first = b.op(format!("insertelement {ty} poison, {element} %p0, i32 0"));
            Some(b.op(format!("insertelement {ty} {first}, {element} %p0, i32 1")))
        }
        ("multiply_accumulate", 3) => Some(product(d, b, true)),
        ("multiply", 2) => Some(product(d, b, false)),
        ("load", 4) => Some(load(d, b)),
        ("store", 5) => {
            store(d, b);
            Some(String::new())
        }
        _ => None,
    }
}

/// Lanes exchange their elements through a slot of eight floats: two of each factor, of the sum, and of the result.
fn product(d: &Declared, b: &mut Body, accumulate: bool) -> String {
    let slot = b.op("alloca [8 x float], align 16");
    for (k, ty) in d.parameters.iter().enumerate() {
        for i in 0..2 {
            let part = b.op(format!("extractelement {ty} %p{k}, i32 {i}"));
            let wide = b.widened(vector(ty).1, &part);
            let at = b.op(format!("getelementptr float, ptr {slot}, i32 {}", 2 * k + i));
            b.act(format!("store float {wide}, ptr {at}"));
        }
    }
    let function = if accumulate { "softmetal_air_multiply_accumulate" } else { "softmetal_air_multiply" };
    b.call("void", function, &[("ptr", &slot), ("ptr", "%file"), ("i32", "%site")]);
    let element = vector(&d.result).1;
    let parts: Vec<String> = (6..8)
        .map(|i| {
            let at = b.op(format!("getelementptr float, ptr {slot}, i32 {i}"));
            let value = b.op(format!("load float, ptr {at}"));
            b.narrowed(element, &value)
        })
        .collect();
    pair(b, &d.result, &parts)
}

fn pair(b: &mut Body, ty: &str, parts: &[String]) -> String {
    let element = vector(ty).1;
    let first = b.op(format!("insertelement {ty} poison, {element} {}, i32 0", parts[0]));
    b.op(format!("insertelement {ty} {first}, {element} {}, i32 1", parts[1]))
}

/// Addresses of the lane's two elements: pointer, elements per row, origin and transposition are the parameters from `from` on.
fn addresses(d: &Declared, b: &mut Body, from: usize, element: &str) -> Vec<String> {
    b.call("void", "softmetal_air_matrix_memory", &[("ptr", "%file"), ("i32", "%site")]);
    let origin = &d.parameters[from + 2];
    let index = |b: &mut Body, name: &str| {
        let value = b.call("i32", name, &[]);
        b.op(format!("zext i32 {value} to i64"))
    };
    let (row, column) = (index(b, "softmetal_air_matrix_row"), index(b, "softmetal_air_matrix_column"));
    let across = b.op(format!("extractelement {origin} %p{}, i32 0", from + 2));
    let down = b.op(format!("extractelement {origin} %p{}, i32 1", from + 2));
    (0..2)
        .map(|i| {
            let beside = b.op(format!("add i64 {column}, {i}"));
            let r = b.op(format!("select i1 %p{}, i64 {beside}, i64 {row}", from + 3));
            let c = b.op(format!("select i1 %p{}, i64 {row}, i64 {beside}", from + 3));
            let r = b.op(format!("add i64 {r}, {down}"));
            let c = b.op(format!("add i64 {c}, {across}"));
            let line = b.op(format!("mul i64 {r}, %p{}", from + 1));
            let at = b.op(format!("add i64 {line}, {c}"));
            b.op(format!("getelementptr {element}, ptr %p{from}, i64 {at}"))
        })
        .collect()
}

fn load(d: &Declared, b: &mut Body) -> String {
    let element = vector(&d.result).1.to_string();
    let at = addresses(d, b, 0, &element);
    let parts: Vec<String> = at.iter().map(|p| b.op(format!("load {element}, ptr {p}"))).collect();
    pair(b, &d.result, &parts)
}

fn store(d: &Declared, b: &mut Body) {
    let ty = &d.parameters[0];
    let element = vector(ty).1.to_string();
    for (i, at) in addresses(d, b, 1, &element).iter().enumerate() {
        let part = b.op(format!("extractelement {ty} %p0, i32 {i}"));
        b.act(format!("store {element} {part}, ptr {at}"));
    }
}

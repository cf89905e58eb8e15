//! Purely numeric functions.

use super::{Body, Declared};
use crate::air::text::vector;

/// Intrinsics that LLVM has under another name, with the same meaning for every type.
const SAME: &[(&str, &str)] = &[
    ("fma", "fma"),
    ("fabs", "fabs"),
    ("floor", "floor"),
    ("ceil", "ceil"),
    ("trunc", "trunc"),
    ("rint", "rint"),
    ("round", "round"),
    ("sqrt", "sqrt"),
    ("fmin", "minnum"),
    ("fmax", "maxnum"),
    ("copysign", "copysign"),
    ("min.s", "smin"),
    ("min.u", "umin"),
    ("max.s", "smax"),
    ("max.u", "umax"),
    ("popcount", "ctpop"),
    ("reverse_bits", "bitreverse"),
    ("add_sat.s", "sadd.sat"),
    ("add_sat.u", "uadd.sat"),
    ("sub_sat.s", "ssub.sat"),
    ("sub_sat.u", "usub.sat"),
];

/// Functions of the C library, computed in single precision element by element.
const LIBRARY: &[(&str, &str)] = &[
    ("acos", "acosf"),
    ("acosh", "acoshf"),
    ("asin", "asinf"),
    ("asinh", "asinhf"),
    ("atan", "atanf"),
    ("atanh", "atanhf"),
    ("atan2", "atan2f"),
    ("cos", "cosf"),
    ("cosh", "coshf"),
    ("cospi", "softmetal_cospi"),
    ("exp", "expf"),
    ("exp2", "exp2f"),
    ("exp10", "softmetal_exp10"),
    ("fdim", "fdimf"),
    ("fmod", "fmodf"),
    ("fract", "softmetal_fract"),
    ("log", "logf"),
    ("log2", "log2f"),
    ("log10", "log10f"),
    ("nextafter", "nextafterf"),
    ("pow", "powf"),
    ("powr", "powf"),
    ("sin", "sinf"),
    ("sinh", "sinhf"),
    ("sinpi", "softmetal_sinpi"),
    ("tan", "tanf"),
    ("tanh", "tanhf"),
    ("tanpi", "softmetal_tanpi"),
];

/// The value of an arithmetic intrinsic.
pub fn define(d: &Declared, b: &mut Body) -> Option<String> {
    let (family, kind) = d.family();
    // `fast_exp` may be less exact than `exp`; it is allowed to be as exact.
    let family = family.strip_prefix("fast_").unwrap_or(family);
    let signed = kind.starts_with("s.");
    let ty = d.parameters.first()?.as_str();
    let values: Vec<String> = (0..d.parameters.len()).map(|i| format!("%p{i}")).collect();
    let refs: Vec<&str> = values.iter().map(String::as_str).collect();
    let named = match kind.split('.').next() {
        Some(sign @ ("s" | "u")) => format!("{family}.{sign}"),
        _ => family.to_string(),
    };
    if let Some((_, llvm)) = SAME.iter().find(|s| s.0 == named || s.0 == family) {
        return Some(b.llvm(llvm, ty, &refs));
    }
    if let Some((_, function)) = LIBRARY.iter().find(|l| l.0 == family) {
        return Some(b.each(ty, &d.result, &values, |b, parts| in_single(b, function, vector(ty).1, parts)));
    }
    Some(match (family, refs.as_slice()) {
        ("rsqrt", [x]) => {
            let root = b.llvm("sqrt", ty, &[*x]);
            b.op(format!("fdiv {ty} {}, {root}", splat(ty, "1.0")))
        }
        ("recip", [x]) => b.op(format!("fdiv {ty} {}, {x}", splat(ty, "1.0"))),
        ("saturate", [x]) => {
            let low = b.llvm("maxnum", ty, &[*x, &splat(ty, "0.0")]);
            b.llvm("minnum", ty, &[&low, &splat(ty, "1.0")])
        }
        ("clamp", [x, low, high]) => {
            let (min, max) = match (kind.as_bytes().first(), signed) {
                (_, true) => ("smin", "smax"),
                (Some(b'u'), _) => ("umin", "umax"),
                _ => ("minnum", "maxnum"),
            };
            let above = b.llvm(max, ty, &[*x, *low]);
            b.llvm(min, ty, &[&above, *high])
        }
        ("abs", [x]) if signed => {
            let result = format!("llvm.abs.{}", super::mangled(ty));
            b.call(ty, &result, &[(ty, *x), ("i1", "false")])
        }
        ("abs", [x]) => (*x).to_string(),
        ("clz" | "ctz", [x, ..]) => {
            let name = if family == "clz" { "ctlz" } else { "cttz" };
            b.call(ty, &format!("llvm.{name}.{}", super::mangled(ty)), &[(ty, *x), ("i1", "false")])
        }
        ("rotate", [x, by]) => b.llvm("fshl", ty, &[*x, *x, *by]),
        ("mul_hi" | "mulhi", [x, y]) => high_product(b, ty, signed, x, y),
        ("ldexp", [x, by]) => {
            let by_type = &d.parameters[1];
            let name = format!("llvm.ldexp.{}.{}", super::mangled(ty), super::mangled(by_type));
            b.call(ty, &name, &[(ty, *x), (by_type, *by)])
        }
        ("mix", [x, y, a]) => {
            let distance = b.op(format!("fsub {ty} {y}, {x}"));
            b.llvm("fma", ty, &[&distance, *a, *x])
        }
        ("dot", [x, y]) => dot(b, ty, x, y),
        _ => return None,
    })
}

fn in_single(b: &mut Body, function: &str, element: &str, parts: &[String]) -> String {
    let wide: Vec<String> = parts.iter().map(|p| b.widened(element, p)).collect();
    let arguments: Vec<(&str, &str)> = wide.iter().map(|w| ("float", w.as_str())).collect();
    let value = b.call("float", function, &arguments);
    b.narrowed(element, &value)
}

/// A constant in every element.
fn splat(ty: &str, number: &str) -> String {
    let (lanes, element) = vector(ty);
    if lanes == 1 {
        return number.to_string();
    }
    format!("<{}>", vec![format!("{element} {number}"); lanes].join(", "))
}

fn high_product(b: &mut Body, ty: &str, signed: bool, x: &str, y: &str) -> String {
    let (lanes, element) = vector(ty);
    let bits: u32 = element.trim_start_matches('i').parse().unwrap_or(32);
    let wide = if lanes == 1 { format!("i{}", 2 * bits) } else { format!("<{lanes} x i{}>", 2 * bits) };
    let extend = if signed { "sext" } else { "zext" };
    let x = b.op(format!("{extend} {ty} {x} to {wide}"));
    let y = b.op(format!("{extend} {ty} {y} to {wide}"));
    let product = b.op(format!("mul {wide} {x}, {y}"));
    let high = b.op(format!("lshr {wide} {product}, {}", splat(&wide, &bits.to_string())));
    b.op(format!("trunc {wide} {high} to {ty}"))
}

/// Products are added in order, each with one rounding.
fn dot(b: &mut Body, ty: &str, x: &str, y: &str) -> String {
    let (lanes, element) = vector(ty);
    let mut sum = String::new();
    for i in 0..lanes {
        let a = b.op(format!("extractelement {ty} {x}, i32 {i}"));
        let c = b.op(format!("extractelement {ty} {y}, i32 {i}"));
        sum = if i == 0 {
            b.op(format!("fmul {element} {a}, {c}"))
        } else {
            b.llvm("fma", element, &[&a, &c, &sum])
        };
    }
    sum
}

//! Atomics, fences, coherent accesses, and queries that the compiler inserts.

use super::{Body, Declared};

/// As `shim/abi.h` numbers them: a read, a write, and an atomic one.
const WRITES: u32 = 1;
const ATOMIC: u32 = 4;

/// The value of a memory intrinsic.
pub fn define(d: &Declared, b: &mut Body, checked: bool) -> Option<String> {
    let (family, kind) = d.family();
    match (family, d.name.as_str()) {
        ("atomic", "atomic.fence") => {
            b.act("fence seq_cst");
            Some(String::new())
        }
        ("atomic", _) => atomic(d, b, checked),
        // The compiler asks whether a value is the same in all lanes, to say so to itself.
        ("is_uniform", _) => Some("true".into()),
        (_, "normalize_function_constant_predicate.i8") => {
            let set = b.op("icmp ne i8 %p0, 0");
            Some(b.op(format!("zext i1 {set} to i8")))
        }
        ("load", _) if kind.starts_with("system_coherent") => {
            let ty = &d.result;
            note(b, checked, ty, "%p0", ATOMIC);
            Some(b.op(format!("load atomic volatile {ty}, ptr %p0 monotonic, align {}", bytes(ty))))
        }
        ("store", _) if kind.starts_with("system_coherent") => {
            let ty = &d.parameters[0];
            note(b, checked, ty, "%p1", ATOMIC | WRITES);
            b.act(format!("store atomic volatile {ty} %p0, ptr %p1 monotonic, align {}", bytes(ty)));
            Some(String::new())
        }
        _ => None,
    }
}

/// `air.atomic.<global|local>.<operation>[.s|.u].<type>(pointer, value…, order, scope, volatile)`. Metal's atomics are relaxed.
fn atomic(d: &Declared, b: &mut Body, checked: bool) -> Option<String> {
    let parts: Vec<&str> = d.name.split('.').collect();
    let ["atomic", "global" | "local", operation, rest @ ..] = parts.as_slice() else { return None };
    let value_type = d.parameters.get(1)?.clone();
    let float = matches!(value_type.as_str(), "float" | "half");
    let signed = rest.first() == Some(&"s");
    let update = match (*operation, float) {
        ("load", _) => {
            note(b, checked, &d.result, "%p0", ATOMIC);
            return Some(b.op(format!(
                "load atomic {}, ptr %p0 monotonic, align {}",
                d.result,
                bytes(&d.result)
            )));
        }
        ("store", _) => {
            note(b, checked, &value_type, "%p0", ATOMIC | WRITES);
            b.act(format!("store atomic {value_type} %p1, ptr %p0 monotonic, align {}", bytes(&value_type)));
            return Some(String::new());
        }
        ("cmpxchg", _) => return Some(exchange_if_equal(d, b, checked)),
        ("xchg", _) => "xchg",
        ("add", true) => "fadd",
        ("sub", true) => "fsub",
        ("min", true) => "fmin",
        ("max", true) => "fmax",
        ("add", _) => "add",
        ("sub", _) => "sub",
        ("and", _) => "and",
        ("or", _) => "or",
        ("xor", _) => "xor",
        ("min", _) if signed => "min",
        ("max", _) if signed => "max",
        ("min", _) => "umin",
        ("max", _) => "umax",
        _ => return None,
    };
    note(b, checked, &value_type, "%p0", ATOMIC | WRITES);
    Some(b.op(format!("atomicrmw {update} ptr %p0, {value_type} %p1 monotonic")))
}

/// The second parameter points to the expected value, which becomes the old one.
fn exchange_if_equal(d: &Declared, b: &mut Body, checked: bool) -> String {
    let ty = d.parameters.get(2).map_or("i32", String::as_str);
    note(b, checked, ty, "%p0", ATOMIC | WRITES);
    let expected = b.op(format!("load {ty}, ptr %p1"));
    let both = b.op(format!("cmpxchg weak ptr %p0, {ty} {expected}, {ty} %p2 monotonic monotonic"));
    let old = b.op(format!("extractvalue {{ {ty}, i1 }} {both}, 0"));
    b.act(format!("store {ty} {old}, ptr %p1"));
    if d.result == ty {
        return old;
    }
    b.op(format!("extractvalue {{ {ty}, i1 }} {both}, 1"))
}

fn note(b: &mut Body, checked: bool, ty: &str, pointer: &str, kind: u32) {
    if checked {
        let (size, kind) = (bytes(ty).to_string(), kind.to_string());
        b.call("void", "softmetal_note_atomic", &[("ptr", pointer), ("i64", &size), ("i32", &kind)]);
    }
}

fn bytes(ty: &str) -> u32 {
    match ty {
        "i8" => 1,
        "half" | "bfloat" | "i16" => 2,
        "i64" => 8,
        _ => 4,
    }
}

//! Gathers, scatters, and rows written at a position.

use super::{Launches, spread};
use crate::codegen::wgsl::{narrow_bits, per_word, widen_bits};
use crate::codegen::{Shader, Task, Wgsl};
use std::fmt::Write;
use wootz_gpu::{Access, Language};
use wootz_ir::op::ScatterMode;
use wootz_ir::scalar::BinaryFn;
use wootz_ir::{ScalarType, Shape};
use wootz_plan::Store;

/// `let c0 … cN` of point `i` over a shape with all its axes.
fn coordinates(code: &mut Shader<'_>, shape: &Shape) -> String {
    let mut out = String::from("    var rest = i;\n");
    for axis in (0..shape.rank()).rev() {
        let extent = code.word(shape[axis].max(1) as u32);
        let _ = writeln!(out, "    var c{axis} = rest % {extent};\n    rest = rest / {extent};");
    }
    out
}

/// The launch of `index_point`, with this body, at every one of `count` points.
fn points(mut code: Shader<'_>, count: usize, body: &str) -> Launches {
    code.push(&format!("fn index_point(i: u32) {{\n{body}}}\n"));
    let groups = spread(&mut code, count);
    code.launch("index_points", groups).into()
}

/// Lines that replace coordinate `axis` by what an index says, and end there if it is out of range.
fn resolve(code: &mut Shader<'_>, axis: usize, index: &str, extent: usize) -> String {
    let extent = code.word(extent as u32);
    format!(
        "    c{axis} = resolve_index({index}, {extent});\n    if c{axis} == NOWHERE {{\n        return;\n    }}\n"
    )
}

pub fn gather(task: &Task<'_>, axis: usize) -> Launches {
    let count = task.step.shape.count();
    if count == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    let load = &task.step.inputs[0].loads[0];
    let index = Wgsl::convert(code.input(1), ScalarType::I64, "in1(i)");
    let mut body = coordinates(&mut code, &task.step.shape);
    body.push_str(&resolve(&mut code, axis, &index, load.layout.shape[axis]));
    let position = code.strided_position(&load.layout);
    let t = load.dtype.compute();
    let value = code.element(load, "at");
    let _ = write!(body, "    let at = {position};\n    finish(i, {value});\n");
    code.finish(Some(t));
    points(code, count, &body)
}

pub fn scatter(task: &Task<'_>, axis: usize, mode: ScatterMode) -> Launches {
    let shape = &task.step.input_shapes[0];
    let count = shape.count();
    if count == 0 {
        return Launches::default();
    }
    let store = &task.step.stores[0];
    let adds = mode == ScatterMode::Add;
    let mut code = Shader::new(task, adds.then_some(Access::Atomic));
    let index = Wgsl::convert(code.input(0), ScalarType::I64, "in0(i)");
    code.input(1);
    let mut body = coordinates(&mut code, shape);
    body.push_str(&resolve(&mut code, axis, &index, store.layout.shape[axis]));
    let position = code.strided_position(&store.layout);
    let _ = write!(body, "    let at = {position};\n    let value = in1(i);\n");
    body.push_str(&if adds {
        add(&mut code, store)
    } else {
        format!("    {}\n", code.store(store, "at", "value"))
    });
    points(code, count, &body)
}

/// The lines that atomically add `value` to the element `at`.
fn add(code: &mut Shader<'_>, store: &Store) -> String {
    let k = code.open_buffer(store.buffer, Access::Atomic);
    let t = store.dtype.compute();
    match (t, per_word(store.dtype)) {
        (ScalarType::I32, 1) => return format!("    a{k}(at, bitcast<u32>(value));\n"),
        (ScalarType::U32, 1) => return format!("    a{k}(at, value);\n"),
        // The carry of the low halves goes to the high ones; sums commute, so any order is right in the end.
        (ScalarType::I64 | ScalarType::U64, _) => {
            return format!(
                "    let low = a{k}(2u * at, value.x);\n    let carry = select(0u, 1u, low + value.x < low);\n    \
                 a{k}(2u * at + 1u, value.y + carry);\n"
            );
        }
        _ => {}
    }
    // Retry until no other invocation changed the word in between.
    let sum = Wgsl::binary(BinaryFn::Add, t, "old", "value");
    let (index, old, new) = if per_word(store.dtype) == 1 {
        ("at".to_string(), "bitcast<f32>(was)".to_string(), format!("bitcast<u32>({sum})"))
    } else {
        let mask = if store.dtype.size() == 1 { "0xffu" } else { "0xffffu" };
        let bits = narrow_bits(store.dtype, "total");
        (
            format!("at >> {}u", per_word(store.dtype).trailing_zeros()),
            widen_bits(store.dtype, "was", "up"),
            format!("(was & ~({mask} << up)) | ({bits} << up)"),
        )
    };
    let (lanes, size) = (per_word(store.dtype) - 1, store.dtype.size() * 8);
    format!(
        "    let up = (at & {lanes}u) * {size}u;\n    loop {{\n        let was = g{k}({index});\n        \
         let old: {t} = {old};\n        let total: {t} = {sum};\n        \
         if x{k}({index}, was, {new}) {{\n            break;\n        }}\n    }}\n",
        t = Wgsl::name(t)
    )
}

pub fn write_at(task: &Task<'_>, axis: usize) -> Launches {
    let shape = &task.step.input_shapes[0];
    let count = shape.count();
    if count == 0 {
        return Launches::default();
    }
    let store = &task.step.stores[0];
    let mut code = Shader::new(task, None);
    code.input(0);
    let start = Wgsl::convert(code.input(1), ScalarType::I32, "in1(0u)");
    let mut body = coordinates(&mut code, shape);
    let (extent, rows) = (code.word(store.layout.shape[axis] as u32), code.word(shape[axis] as u32));
    let position = code.strided_position(&store.layout);
    let _ = write!(
        body,
        "    let start = {start};\n    if start < 0 || bitcast<u32>(start) + {rows} > {extent} {{\n        fault(3u);\n        \
         return;\n    }}\n    c{axis} += bitcast<u32>(start);\n    let at = {position};\n    let value = in0(i);\n"
    );
    let _ = writeln!(body, "    {}", code.store(store, "at", "value"));
    points(code, count, &body)
}

//! Positions of extremes, by keys that order as the values do.

use super::{WG, rows};
use crate::codegen::types::name;
use crate::codegen::{Code, Dispatch, Task};
use wootz_ir::ScalarType;
use wootz_ir::op::ArgOp;

pub fn lower(task: &Task<'_>, op: ArgOp) -> Vec<Dispatch> {
    let (count, width) = rows(task.step);
    if count == 0 {
        return vec![];
    }
    let mut code = Code::new(task, None);
    let t = code.input(0);
    keys(&mut code, t, op == ArgOp::Min, true);
    code.constant("WG", WG);
    code.arg("width", width);
    code.finish(ScalarType::I64);
    vec![code.dispatch("arg_rows", count)]
}

/// `K`, `key_of`, `key_lt` and `last_key`: unsigned keys in the order of the values, or against it. NaN is the largest
/// number; with `nan_wins` its key is the largest even in falling order.
pub fn keys(code: &mut Code<'_>, t: ScalarType, falling: bool, nan_wins: bool) {
    let wide = matches!(t, ScalarType::I64 | ScalarType::U64);
    code.alias("K", if wide { ScalarType::U64 } else { ScalarType::U32 });
    let rising = match t {
        ScalarType::Bool => "select(0u, 1u, x)",
        ScalarType::U32 | ScalarType::U64 => "x",
        ScalarType::I32 => "(bitcast<u32>(x) ^ 0x80000000u)",
        ScalarType::I64 => "vec2<u32>(x.x, x.y ^ 0x80000000u)",
        ScalarType::F32 => "sort_key_f32(x)",
        ScalarType::F64 => unreachable!("f64 is refused before code is made"),
    };
    let key = match (falling, t == ScalarType::F32 && nan_wins) {
        (false, _) => rising.to_string(),
        (true, false) => format!("~{rising}"),
        (true, true) => format!("select(~{rising}, 0xffffffffu, is_nan(x))"),
    };
    let (less, last) =
        if wide { ("lt_u64(a, b)", "vec2<u32>(0xffffffffu, 0xffffffffu)") } else { ("a < b", "0xffffffffu") };
    code.push(&format!(
        "fn key_of(x: {}) -> K {{\n    return {key};\n}}\nfn key_lt(a: K, b: K) -> bool {{\n    return {less};\n}}\n\
         fn last_key() -> K {{\n    return {last};\n}}\n",
        name(t)
    ));
}

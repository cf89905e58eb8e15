//! Arg-reductions, using keys that have the order of the values.

use super::Launches;
use super::WG;
use crate::codegen::{Shader, Task, Wgsl};
use wootz_gpu::Language;
use wootz_gpu::problem::RowsProblem;
use wootz_ir::ScalarType;
use wootz_ir::op::ArgOp;

pub fn launches(task: &Task<'_>, op: ArgOp) -> Launches {
    let RowsProblem { rows, width } = RowsProblem::of(&task.step.input_shapes[0]);
    if rows == 0 {
        return Launches::default();
    }
    let mut code = Shader::new(task, None);
    let t = code.input(0);
    keys(&mut code, t, op == ArgOp::Min, true);
    code.constant("WG", WG);
    code.arg("width", width);
    code.finish(Some(ScalarType::I64));
    code.launch("arg_rows", rows).into()
}

/// `K`, `key_of`, `key_lt` and `last_key`: unsigned keys in the order of the values, or against it. NaN is the largest
/// number; with `nan_wins` its key is the largest even in falling order.
pub fn keys(code: &mut Shader<'_>, t: ScalarType, falling: bool, nan_wins: bool) {
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
        Wgsl::name(t)
    ));
}

//! Scalar programs as WGSL.

use super::types::{literal, name, suffix};
use std::fmt::Write;
use wootz_ir::scalar::{BinaryFn, Instr, Program, UnaryFn};
use wootz_ir::{DType, ScalarType};

/// The program's instructions as `let` lines named `r0`, `r1`, … `load` and `param` say what operands are.
pub(crate) fn print(
    program: &Program,
    load: impl Fn(u16) -> String,
    mut param: impl FnMut(u16, ScalarType) -> String,
) -> String {
    let mut out = String::new();
    for (i, instr) in program.instrs.iter().enumerate() {
        let text = match *instr {
            Instr::Load(index, _) => load(index),
            Instr::Param(index, t) => param(index, t),
            Instr::Literal(value, t) => literal(value, t),
            Instr::Unary(f, t, a) => unary(f, t, &format!("r{a}")),
            Instr::Binary(f, t, a, b) => binary(f, t, &format!("r{a}"), &format!("r{b}")),
            Instr::Fma(t, a, b, c) => {
                let product = binary(BinaryFn::Mul, t, &format!("r{a}"), &format!("r{b}"));
                binary(BinaryFn::Add, t, &product, &format!("r{c}"))
            }
            Instr::Select(t, c, a, b) => select(t, c, a, b),
            Instr::Convert(from, to, a) => convert(from, to, &format!("r{a}")),
            Instr::Narrow(dtype, a) => narrow(dtype, &format!("r{a}")),
        };
        let _ = writeln!(out, "    let r{i}: {} = {text};", name(instr.result()));
    }
    out
}

fn select(t: ScalarType, c: u16, a: u16, b: u16) -> String {
    match t {
        ScalarType::I64 | ScalarType::U64 => format!("select_64(r{b}, r{a}, r{c})"),
        _ => format!("select(r{b}, r{a}, r{c})"),
    }
}

/// `f(a)`.
pub(crate) fn unary(f: UnaryFn, t: ScalarType, a: &str) -> String {
    use ScalarType::*;
    let wide = matches!(t, I64 | U64);
    match f {
        UnaryFn::Neg if wide => format!("neg_64({a})"),
        UnaryFn::Neg => match t {
            U32 => format!("(0u - {a})"),
            I32 => format!("(-{a})"),
            _ => format!("neg_f32({a})"),
        },
        UnaryFn::Abs => match t {
            F32 => format!("abs_f32({a})"),
            I32 => format!("select({a}, -{a}, {a} < 0)"),
            I64 => format!("abs_64({a})"),
            _ => a.to_string(),
        },
        UnaryFn::Not if t == Bool => format!("(!{a})"),
        UnaryFn::Not => format!("(~{a})"),
        UnaryFn::ToBits => format!("bitcast<i32>({a})"),
        UnaryFn::FromBits => format!("bitcast<f32>({a})"),
        UnaryFn::Sqrt => format!("sqrt({a})"),
        UnaryFn::Floor => format!("floor({a})"),
        UnaryFn::Ceil => format!("ceil({a})"),
        UnaryFn::Round => format!("round({a})"),
        UnaryFn::Trunc => format!("trunc({a})"),
        UnaryFn::Rsqrt => format!("rsqrt_f32({a})"),
        UnaryFn::Exp => format!("exp_f32({a})"),
        UnaryFn::Exp2 => format!("exp2_f32({a})"),
        UnaryFn::Expm1 => format!("expm1_f32({a})"),
        UnaryFn::Log => format!("log_f32({a})"),
        UnaryFn::Log2 => format!("log2_f32({a})"),
        UnaryFn::Log10 => format!("log10_f32({a})"),
        UnaryFn::Log1p => format!("log1p_f32({a})"),
        UnaryFn::Sin => format!("sin_f32({a})"),
        UnaryFn::Cos => format!("cos_f32({a})"),
        UnaryFn::Tan => format!("tan_f32({a})"),
        UnaryFn::Asin => format!("asin_f32({a})"),
        UnaryFn::Acos => format!("acos_f32({a})"),
        UnaryFn::Atan => format!("atan_f32({a})"),
        UnaryFn::Sinh => format!("sinh_f32({a})"),
        UnaryFn::Cosh => format!("cosh_f32({a})"),
        UnaryFn::Tanh => format!("tanh_f32({a})"),
        UnaryFn::Asinh => format!("asinh_f32({a})"),
        UnaryFn::Acosh => format!("acosh_f32({a})"),
        UnaryFn::Atanh => format!("atanh_f32({a})"),
        UnaryFn::Erf => format!("erf_f32({a})"),
    }
}

/// `f(a, b)`.
pub(crate) fn binary(f: BinaryFn, t: ScalarType, a: &str, b: &str) -> String {
    if t == ScalarType::Bool {
        return binary_bool(f, a, b);
    }
    let wide = matches!(t, ScalarType::I64 | ScalarType::U64);
    let float = t == ScalarType::F32;
    let s = suffix(t);
    match f {
        BinaryFn::Add if wide => format!("add_64({a}, {b})"),
        BinaryFn::Sub if wide => format!("sub_64({a}, {b})"),
        BinaryFn::Mul if wide => format!("mul_64({a}, {b})"),
        BinaryFn::Add => format!("({a} + {b})"),
        BinaryFn::Sub => format!("({a} - {b})"),
        BinaryFn::Mul => format!("({a} * {b})"),
        BinaryFn::Div => format!("({a} / {b})"),
        BinaryFn::FloorDiv => format!("floor_div_{s}({a}, {b})"),
        BinaryFn::FloorRem => format!("floor_rem_{s}({a}, {b})"),
        BinaryFn::Fmod => format!("fmod_f32({a}, {b})"),
        BinaryFn::Pow => format!("pow_{s}({a}, {b})"),
        BinaryFn::Atan2 => format!("atan2_f32({a}, {b})"),
        BinaryFn::Hypot => format!("hypot_f32({a}, {b})"),
        BinaryFn::CopySign => format!("copysign_f32({a}, {b})"),
        BinaryFn::MulHi => format!("mulhi_u32({a}, {b})"),
        BinaryFn::Min | BinaryFn::Max => {
            let op = if f == BinaryFn::Min { "min" } else { "max" };
            if wide || float { format!("{op}_{s}({a}, {b})") } else { format!("{op}({a}, {b})") }
        }
        BinaryFn::Eq if wide => format!("eq_64({a}, {b})"),
        BinaryFn::Ne if wide => format!("(!eq_64({a}, {b}))"),
        BinaryFn::Lt if wide => format!("lt_{s}({a}, {b})"),
        BinaryFn::Le if wide => format!("(!lt_{s}({b}, {a}))"),
        BinaryFn::Eq if float => format!("eq_f32({a}, {b})"),
        BinaryFn::Ne if float => format!("(!eq_f32({a}, {b}))"),
        BinaryFn::Lt if float => format!("lt_f32({a}, {b})"),
        BinaryFn::Le if float => format!("le_f32({a}, {b})"),
        BinaryFn::Eq => format!("({a} == {b})"),
        BinaryFn::Ne => format!("({a} != {b})"),
        BinaryFn::Lt => format!("({a} < {b})"),
        BinaryFn::Le => format!("({a} <= {b})"),
        BinaryFn::And => format!("({a} & {b})"),
        BinaryFn::Or => format!("({a} | {b})"),
        BinaryFn::Xor => format!("({a} ^ {b})"),
        BinaryFn::Shl if wide => format!("shl_64({a}, {b})"),
        BinaryFn::Shl => format!("shl_{s}({a}, {b})"),
        BinaryFn::Shr => format!("shr_{s}({a}, {b})"),
    }
}

fn binary_bool(f: BinaryFn, a: &str, b: &str) -> String {
    match f {
        BinaryFn::And | BinaryFn::Min => format!("({a} && {b})"),
        BinaryFn::Or | BinaryFn::Max => format!("({a} || {b})"),
        BinaryFn::Xor | BinaryFn::Ne => format!("({a} != {b})"),
        BinaryFn::Eq => format!("({a} == {b})"),
        BinaryFn::Lt => format!("(!{a} && {b})"),
        BinaryFn::Le => format!("(!{a} || {b})"),
        _ => unreachable!("{f:?} is not defined on bool"),
    }
}

/// The conversion between compute types.
pub(crate) fn convert(from: ScalarType, to: ScalarType, a: &str) -> String {
    use ScalarType::*;
    match (from, to) {
        (F64, _) | (_, F64) => unreachable!("f64 is refused before code is made"),
        (from, to) if from == to => a.to_string(),
        (from, Bool) => binary(BinaryFn::Ne, from, a, &literal(0u8.into(), from)),
        (Bool, I32) => format!("select(0, 1, {a})"),
        (Bool, U32) => format!("select(0u, 1u, {a})"),
        (Bool, F32) => format!("select(0.0, 1.0, {a})"),
        (Bool, I64 | U64) => format!("vec2<u32>(select(0u, 1u, {a}), 0u)"),
        (I32, U32) => format!("bitcast<u32>({a})"),
        (U32, I32) => format!("bitcast<i32>({a})"),
        (I32, I64 | U64) => format!("i64_from_i32({a})"),
        (U32, I64 | U64) => format!("vec2<u32>({a}, 0u)"),
        (I64 | U64, I32) => format!("bitcast<i32>({a}.x)"),
        (I64 | U64, U32) => format!("{a}.x"),
        (I64 | U64, I64 | U64) => a.to_string(),
        (F32, to) => format!("{}_from_f32({a})", suffix(to)),
        (from, F32) => format!("f32_from_{}({a})", suffix(from)),
        (I32, I32) | (U32, U32) => a.to_string(),
    }
}

/// The round trip through a narrower dtype.
fn narrow(dtype: DType, a: &str) -> String {
    match dtype {
        DType::U8 => format!("({a} & 0xffu)"),
        DType::U16 => format!("({a} & 0xffffu)"),
        DType::I8 => format!("(({a} << 24u) >> 24u)"),
        DType::I16 => format!("(({a} << 16u) >> 16u)"),
        DType::F16 => format!("narrow_f16({a})"),
        DType::BF16 => format!("narrow_bf16({a})"),
        DType::Bool | DType::U32 | DType::U64 | DType::I32 | DType::I64 | DType::F32 | DType::F64 => {
            a.to_string()
        }
    }
}

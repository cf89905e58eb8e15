//! Scalar programs as MSL statements.

use super::types::compute;
use std::fmt::Write;
use wootz_ir::scalar::{BinaryFn, Instr, Program, Reg, UnaryFn};
use wootz_ir::{DType, Number, ScalarType};

/// What the surroundings of a program provide.
pub struct Surroundings<'a> {
    /// The expression for load `i`, already widened.
    pub load: &'a dyn Fn(u16) -> String,
    /// The expression for the plan's parameter `i`, as a `ulong` of its bits.
    pub param: &'a dyn Fn(u16) -> String,
    /// Spaces in front of each line.
    pub indent: usize,
}

/// The statements of a program; instruction `i` defines `r{i}`.
pub fn statements(program: &Program, around: &Surroundings<'_>) -> String {
    let mut text = String::new();
    let indent = " ".repeat(around.indent);
    for (i, instr) in program.instrs.iter().enumerate() {
        let value = expression(program, instr, around);
        let _ = writeln!(text, "{indent}{} r{i} = {value};", compute(instr.result()));
    }
    text
}

fn expression(program: &Program, instr: &Instr, around: &Surroundings<'_>) -> String {
    let r = |reg: Reg| format!("r{reg}");
    match *instr {
        Instr::Load(i, _) => (around.load)(i),
        Instr::Param(i, t) => from_bits(t, &(around.param)(i)),
        Instr::Literal(n, t) => literal(n, t),
        Instr::Unary(f, t, a) => unary(f, t, &r(a)),
        Instr::Binary(f, t, a, b) => binary(f, t, &r(a), &r(b)),
        Instr::Fma(t, a, b, c) if t.is_float() => format!("fma({}, {}, {})", r(a), r(b), r(c)),
        Instr::Fma(t, a, b, c) => {
            let product = binary(BinaryFn::Mul, t, &r(a), &r(b));
            binary(BinaryFn::Add, t, &product, &r(c))
        }
        Instr::Select(_, c, a, b) => format!("{} ? {} : {}", r(c), r(a), r(b)),
        Instr::Convert(from, to, a) => convert(from, to, &r(a)),
        Instr::Narrow(dtype, a) => {
            debug_assert_eq!(program.instrs[a as usize].result(), dtype.compute());
            round_trip(dtype, &r(a))
        }
    }
}

/// A value of a compute type from the `ulong` that carries its bits.
fn from_bits(t: ScalarType, bits: &str) -> String {
    match t {
        ScalarType::Bool => format!("{bits} != 0"),
        ScalarType::I32 => format!("int(uint({bits}))"),
        ScalarType::U32 => format!("uint({bits})"),
        ScalarType::I64 => format!("long({bits})"),
        ScalarType::U64 => bits.to_string(),
        ScalarType::F32 | ScalarType::F64 => format!("as_type<float>(uint({bits}))"),
    }
}

/// The bits of a number as a parameter carries them.
pub fn param_bits(n: Number, t: ScalarType) -> u64 {
    match t {
        ScalarType::F32 | ScalarType::F64 => u64::from((n.to_f64() as f32).to_bits()),
        ScalarType::I32 | ScalarType::U32 => n.to_i64() as u64 & 0xffff_ffff,
        ScalarType::Bool | ScalarType::I64 | ScalarType::U64 => match n {
            Number::Uint(u) => u,
            other => other.to_i64() as u64,
        },
    }
}

fn literal(n: Number, t: ScalarType) -> String {
    match t {
        ScalarType::Bool => (n.to_i64() != 0).to_string(),
        ScalarType::I32 if n.to_i64() == i64::from(i32::MIN) => "int(0x80000000u)".into(),
        ScalarType::I32 => n.to_i64().to_string(),
        ScalarType::U32 => format!("{}u", n.to_i64() as u32),
        ScalarType::I64 => format!("long({}UL)", n.to_i64() as u64),
        ScalarType::U64 => format!("{}UL", param_bits(n, t)),
        ScalarType::F32 | ScalarType::F64 => {
            let value = n.to_f64() as f32;
            if value.is_finite() {
                format!("{value:?}f")
            } else {
                format!("as_type<float>({:#x}u)", value.to_bits())
            }
        }
    }
}

/// The unsigned type in which integers of a type wrap.
fn unsigned(t: ScalarType) -> &'static str {
    match t {
        ScalarType::I64 | ScalarType::U64 => "ulong",
        _ => "uint",
    }
}

fn unary(f: UnaryFn, t: ScalarType, a: &str) -> String {
    let call = |name: &str| format!("{name}({a})");
    match f {
        UnaryFn::Neg if t.is_float() => format!("-{a}"),
        UnaryFn::Neg => format!("{}({}(0) - {}({a}))", compute(t), unsigned(t), unsigned(t)),
        UnaryFn::Abs if t.is_float() => call("fabs"),
        UnaryFn::Abs if t.is_signed() => {
            format!("{a} < 0 ? {} : {a}", unary(UnaryFn::Neg, t, a))
        }
        UnaryFn::Abs => a.to_string(),
        UnaryFn::Not if t == ScalarType::Bool => format!("!{a}"),
        UnaryFn::Not => format!("~{a}"),
        UnaryFn::Sqrt => call("sqrt"),
        UnaryFn::Rsqrt => call("rsqrt"),
        UnaryFn::Exp => call("exp"),
        UnaryFn::Exp2 => call("exp2"),
        UnaryFn::Expm1 => call("exp_minus_one"),
        UnaryFn::Log => call("log"),
        UnaryFn::Log2 => call("log2"),
        UnaryFn::Log10 => call("log10"),
        UnaryFn::Log1p => call("log_one_plus"),
        UnaryFn::Sin => call("sin"),
        UnaryFn::Cos => call("cos"),
        UnaryFn::Tan => call("tan"),
        UnaryFn::Asin => call("asin"),
        UnaryFn::Acos => call("acos"),
        UnaryFn::Atan => call("atan"),
        UnaryFn::Sinh => call("sinh"),
        UnaryFn::Cosh => call("cosh"),
        UnaryFn::Tanh => call("tanh"),
        UnaryFn::Asinh => call("asinh"),
        UnaryFn::Acosh => call("acosh"),
        UnaryFn::Atanh => call("atanh"),
        UnaryFn::Erf => call("error_function"),
        UnaryFn::Floor => call("floor"),
        UnaryFn::Ceil => call("ceil"),
        UnaryFn::Round => call("rint"),
        UnaryFn::Trunc => call("trunc"),
        UnaryFn::ToBits => format!("as_type<int>({a})"),
        UnaryFn::FromBits => format!("as_type<float>({a})"),
    }
}

fn binary(f: BinaryFn, t: ScalarType, a: &str, b: &str) -> String {
    let call = |name: &str| format!("{name}({a}, {b})");
    let faulting = |name: &str| format!("{name}({a}, {b}, FAULTS)");
    let infix = |op: &str| format!("{a} {op} {b}");
    let wrapping = |op: &str| match t {
        ScalarType::I32 | ScalarType::I64 => {
            format!("{}({}({a}) {op} {}({b}))", compute(t), unsigned(t), unsigned(t))
        }
        _ => infix(op),
    };
    match f {
        BinaryFn::Add => wrapping("+"),
        BinaryFn::Sub => wrapping("-"),
        BinaryFn::Mul => wrapping("*"),
        BinaryFn::Div => infix("/"),
        BinaryFn::FloorDiv => faulting("floor_div"),
        BinaryFn::FloorRem => faulting("floor_rem"),
        BinaryFn::Fmod => call("fmod"),
        BinaryFn::Pow if t.is_float() => call("pow"),
        BinaryFn::Pow if t.is_signed() => faulting("integer_pow"),
        BinaryFn::Pow => call("unsigned_pow"),
        BinaryFn::Atan2 => call("atan2"),
        BinaryFn::Hypot => call("hypotenuse"),
        BinaryFn::Min if t.is_float() => call("nan_min"),
        BinaryFn::Max if t.is_float() => call("nan_max"),
        BinaryFn::Min if t == ScalarType::Bool => infix("&&"),
        BinaryFn::Max if t == ScalarType::Bool => infix("||"),
        BinaryFn::Min => call("min"),
        BinaryFn::Max => call("max"),
        BinaryFn::Eq => infix("=="),
        BinaryFn::Ne => infix("!="),
        BinaryFn::Lt => infix("<"),
        BinaryFn::Le => infix("<="),
        BinaryFn::And if t == ScalarType::Bool => infix("&&"),
        BinaryFn::Or if t == ScalarType::Bool => infix("||"),
        BinaryFn::Xor if t == ScalarType::Bool => infix("!="),
        BinaryFn::And => infix("&"),
        BinaryFn::Or => infix("|"),
        BinaryFn::Xor => infix("^"),
        BinaryFn::Shl => call("shift_left"),
        BinaryFn::Shr => call("shift_right"),
        BinaryFn::CopySign => call("copysign"),
        BinaryFn::MulHi => call("mulhi"),
    }
}

fn convert(from: ScalarType, to: ScalarType, a: &str) -> String {
    match to {
        ScalarType::Bool => format!("{a} != 0"),
        ScalarType::I32 if from.is_float() => format!("to_int({a})"),
        ScalarType::U32 if from.is_float() => format!("to_uint({a})"),
        ScalarType::I64 if from.is_float() => format!("to_long({a})"),
        ScalarType::U64 if from.is_float() => format!("to_ulong({a})"),
        _ => format!("{}({a})", compute(to)),
    }
}

/// A value as it reads back after being stored in a narrower dtype.
fn round_trip(dtype: DType, a: &str) -> String {
    match dtype {
        DType::Bool | DType::U32 | DType::U64 | DType::I32 | DType::I64 | DType::F32 | DType::F64 => a.into(),
        DType::U8 | DType::U16 | DType::I8 | DType::I16 | DType::F16 | DType::BF16 => {
            format!("widen(narrow<{}>({a}))", super::types::storage(dtype))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wootz_ir::scalar::Builder;

    #[test]
    fn integers_wrap_through_unsigned_types() {
        let b = Builder::new();
        let x = b.emit(Instr::Load(0, ScalarType::I32));
        let reg = (x + x).reg;
        let program = b.finish(vec![reg]);
        let around = Surroundings { load: &|i| format!("l{i}"), param: &|i| format!("p{i}"), indent: 0 };
        assert_eq!(statements(&program, &around), "int r0 = l0;\nint r1 = int(uint(r0) + uint(r0));\n");
    }
}

//! Scalar functions, and programs of them.

use crate::dtype::{DType, Kind, Number, ScalarType};
use crate::error::Fault;
use crate::scalar::{BinaryFn, Instr, Program, UnaryFn};

/// Runs a program for one element. Float steps stay in f64: only [`Instr::Narrow`] and the caller's final cast round.
pub fn run(program: &Program, loads: &[Number], params: &[Number]) -> Result<Vec<Number>, Fault> {
    let mut regs: Vec<Number> = Vec::with_capacity(program.instrs.len());
    for instr in &program.instrs {
        let reg = |r: u16| regs[r as usize];
        let value = match *instr {
            Instr::Load(i, _) => loads[i as usize],
            Instr::Param(i, _) => params[i as usize],
            Instr::Literal(n, _) => n,
            Instr::Unary(f, t, a) => evaluate_unary(f, t, reg(a)),
            Instr::Binary(f, t, a, b) => evaluate_binary(f, t, reg(a), reg(b))?,
            Instr::Fma(t, a, b, c) => fma(t, reg(a), reg(b), reg(c)),
            Instr::Select(_, c, a, b) => {
                if reg(c) == Number::Bool(true) {
                    reg(a)
                } else {
                    reg(b)
                }
            }
            Instr::Convert(_, to, a) => widen(reg(a), to),
            Instr::Narrow(dtype, a) => reg(a).cast(dtype),
        };
        regs.push(value);
    }
    Ok(program.results.iter().map(|&r| regs[r as usize]).collect())
}

/// A conversion that rounds floats only when they become f32 from integers or f64: inside a program an F32 value may
/// have more precision than when it is stored.
fn widen(value: Number, to: ScalarType) -> Number {
    match (value, to) {
        (Number::Float(_), ScalarType::F32 | ScalarType::F64) => value,
        _ => value.cast(to.dtype()),
    }
}

fn fma(t: ScalarType, a: Number, b: Number, c: Number) -> Number {
    match (a, b, c) {
        (Number::Float(a), Number::Float(b), Number::Float(c)) => Number::Float(libm::fma(a, b, c)),
        _ => {
            let product = evaluate_binary(BinaryFn::Mul, t, a, b).expect("a product cannot fault");
            evaluate_binary(BinaryFn::Add, t, product, c).expect("a sum cannot fault")
        }
    }
}

/// `f(a)`.
pub fn evaluate_unary(f: UnaryFn, t: ScalarType, a: Number) -> Number {
    match a {
        Number::Float(x) => match f {
            UnaryFn::ToBits if t == ScalarType::F32 => Number::Int((x as f32).to_bits() as i32 as i64),
            UnaryFn::ToBits => Number::Int(x.to_bits() as i64),
            _ => Number::Float(unary_float(f, x)),
        },
        Number::Int(x) => match f {
            UnaryFn::Neg => Number::Int(x.wrapping_neg()).cast(t.dtype()),
            UnaryFn::Abs => Number::Int(x.wrapping_abs()).cast(t.dtype()),
            UnaryFn::Not => Number::Int(!x),
            UnaryFn::FromBits if t == ScalarType::I32 => Number::Float(f32::from_bits(x as u32) as f64),
            UnaryFn::FromBits => Number::Float(f64::from_bits(x as u64)),
            _ => unreachable!("{f:?} is defined on floats"),
        },
        Number::Uint(x) => match f {
            UnaryFn::Neg => Number::Uint(x.wrapping_neg()).cast(t.dtype()),
            UnaryFn::Not => Number::Uint(!x).cast(t.dtype()),
            UnaryFn::Abs => a,
            _ => unreachable!("{f:?} is not defined on unsigned integers"),
        },
        Number::Bool(x) => match f {
            UnaryFn::Not => Number::Bool(!x),
            _ => unreachable!("{f:?} is not defined on bool"),
        },
    }
}

fn unary_float(f: UnaryFn, x: f64) -> f64 {
    match f {
        UnaryFn::Neg => -x,
        UnaryFn::Abs => x.abs(),
        UnaryFn::Sqrt => x.sqrt(),
        UnaryFn::Rsqrt => 1.0 / x.sqrt(),
        UnaryFn::Exp => libm::exp(x),
        UnaryFn::Exp2 => libm::exp2(x),
        UnaryFn::Expm1 => libm::expm1(x),
        UnaryFn::Log => libm::log(x),
        UnaryFn::Log2 => libm::log2(x),
        UnaryFn::Log10 => libm::log10(x),
        UnaryFn::Log1p => libm::log1p(x),
        UnaryFn::Sin => libm::sin(x),
        UnaryFn::Cos => libm::cos(x),
        UnaryFn::Tan => libm::tan(x),
        UnaryFn::Asin => libm::asin(x),
        UnaryFn::Acos => libm::acos(x),
        UnaryFn::Atan => libm::atan(x),
        UnaryFn::Sinh => libm::sinh(x),
        UnaryFn::Cosh => libm::cosh(x),
        UnaryFn::Tanh => libm::tanh(x),
        UnaryFn::Asinh => libm::asinh(x),
        // libm's own gives numbers for arguments far below the domain.
        UnaryFn::Acosh if x < 1.0 => f64::NAN,
        UnaryFn::Acosh => libm::acosh(x),
        UnaryFn::Atanh => libm::atanh(x),
        UnaryFn::Erf => libm::erf(x),
        UnaryFn::Floor => x.floor(),
        UnaryFn::Ceil => x.ceil(),
        UnaryFn::Round => x.round_ties_even(),
        UnaryFn::Trunc => x.trunc(),
        UnaryFn::Not | UnaryFn::ToBits | UnaryFn::FromBits => {
            unreachable!("{f:?} is not a function of a float")
        }
    }
}

/// `f(a, b)`, or its fault.
pub fn evaluate_binary(f: BinaryFn, t: ScalarType, a: Number, b: Number) -> Result<Number, Fault> {
    if let Some(truth) = compare(f, a, b) {
        return Ok(Number::Bool(truth));
    }
    Ok(match (a, b) {
        (Number::Float(a), Number::Float(b)) => Number::Float(binary_float(f, a, b)),
        (Number::Bool(a), Number::Bool(b)) => Number::Bool(match f {
            BinaryFn::And => a & b,
            BinaryFn::Or => a | b,
            BinaryFn::Xor => a ^ b,
            BinaryFn::Min => a & b,
            BinaryFn::Max => a | b,
            _ => unreachable!("{f:?} is not defined on bool"),
        }),
        _ => binary_integer(f, t, a, b)?,
    })
}

fn compare(f: BinaryFn, a: Number, b: Number) -> Option<bool> {
    let ordering = match (a, b) {
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Uint(a), Number::Uint(b)) => Some(a.cmp(&b)),
        (Number::Bool(a), Number::Bool(b)) => Some(a.cmp(&b)),
        _ => unreachable!("operands of one type"),
    };
    Some(match f {
        BinaryFn::Eq => ordering.is_some_and(|o| o.is_eq()),
        BinaryFn::Ne => !ordering.is_some_and(|o| o.is_eq()),
        BinaryFn::Lt => ordering.is_some_and(|o| o.is_lt()),
        BinaryFn::Le => ordering.is_some_and(|o| o.is_le()),
        _ => return None,
    })
}

fn binary_float(f: BinaryFn, a: f64, b: f64) -> f64 {
    let nan = a.is_nan() || b.is_nan();
    match f {
        BinaryFn::Add => a + b,
        BinaryFn::Sub => a - b,
        BinaryFn::Mul => a * b,
        BinaryFn::Div => a / b,
        BinaryFn::Fmod => libm::fmod(a, b),
        BinaryFn::Pow => libm::pow(a, b),
        BinaryFn::Atan2 => libm::atan2(a, b),
        BinaryFn::Hypot => libm::hypot(a, b),
        BinaryFn::Min | BinaryFn::Max if nan => f64::NAN,
        BinaryFn::Min => a.min(b),
        BinaryFn::Max => a.max(b),
        BinaryFn::CopySign => a.copysign(b),
        _ => unreachable!("{f:?} is not defined on floats"),
    }
}

fn binary_integer(f: BinaryFn, t: ScalarType, a: Number, b: Number) -> Result<Number, Fault> {
    let wide = |n: Number| match n {
        Number::Uint(u) => u as i128,
        other => other.to_i64() as i128,
    };
    let (a, b) = (wide(a), wide(b));
    let bits = t.dtype().size() as i128 * 8;
    let value: i128 = match f {
        BinaryFn::Add => a + b,
        BinaryFn::Sub => a - b,
        BinaryFn::Mul => a.wrapping_mul(b),
        BinaryFn::FloorDiv | BinaryFn::FloorRem if b == 0 => return Err(Fault::DivisionByZero),
        BinaryFn::FloorDiv => a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0),
        BinaryFn::FloorRem => {
            let rem = a.rem_euclid(b);
            if b < 0 && rem != 0 { rem + b } else { rem }
        }
        BinaryFn::Pow if b < 0 => return Err(Fault::NegativeExponent),
        BinaryFn::Pow => return Ok(integer_power(a, b as u64, t.dtype())),
        BinaryFn::Min => a.min(b),
        BinaryFn::Max => a.max(b),
        BinaryFn::And => a & b,
        BinaryFn::Or => a | b,
        BinaryFn::Xor => a ^ b,
        BinaryFn::Shl if !(0..bits).contains(&b) => 0,
        BinaryFn::Shl => a << b,
        BinaryFn::Shr if !(0..bits).contains(&b) => a >> 127,
        BinaryFn::Shr => a >> b,
        BinaryFn::MulHi => (a * b) >> 32,
        _ => unreachable!("{f:?} is not defined on integers"),
    };
    Ok(wrap(value, t.dtype()))
}

fn wrap(value: i128, dtype: DType) -> Number {
    match dtype.kind() {
        Kind::Unsigned => Number::Uint(value as u64).cast(dtype),
        _ => Number::Int(value as i64).cast(dtype),
    }
}

fn integer_power(base: i128, mut exponent: u64, dtype: DType) -> Number {
    let (mut base, mut result) = (base as u64, 1u64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    wrap(result as i64 as i128, dtype)
}

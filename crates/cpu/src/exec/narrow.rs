//! Narrow integers at their own width.
//!
//! Code over bytes is defined in 32 bits, with a narrowing after each op, which takes four times the lanes and an
//! extra instruction. If everything that a map reads and writes is narrow integers of one dtype and booleans, and
//! every op gives the same result at that width, its tape uses narrow loops without narrowing.

use super::loops::{Loop1, Loop2, Loop3, dst, loop1, loop2, loop3, src};
use crate::isa_fn;
use wootz_ir::scalar::{BinaryFn, Instr, Program, UnaryFn};
use wootz_ir::{DType, ScalarType};
use wootz_plan::{Fused, Source, Store};

/// How much of a value its narrow form represents.
#[derive(Clone, Copy, PartialEq)]
enum Worth {
    /// It is a truth value.
    Truth,
    /// It has the value itself.
    Exact,
    /// The low bits of the value, which is all that narrowing keeps.
    Low,
}

/// The code with narrowings left out and the dtype it is computed in, where that gives the same.
pub fn program(fused: &Fused, stores: &[Store], params: &[DType]) -> Option<(Program, DType)> {
    let loads = fused.loads.iter();
    if !loads.clone().all(|load| matches!(load.source, Source::Buffer(_))) {
        return None;
    }
    let dtypes = || loads.clone().map(|load| load.dtype).chain(stores.iter().map(|store| store.dtype));
    let narrow = dtypes().find(|&dtype| dtype != DType::Bool)?;
    let known = matches!(narrow, DType::U8 | DType::I8 | DType::U16 | DType::I16);
    if !known || stores.is_empty() || dtypes().any(|dtype| dtype != narrow && dtype != DType::Bool) {
        return None;
    }
    let mut code = Rewriting { narrow, program: Program::default(), values: Vec::new() };
    for instr in &fused.program.instrs {
        code.add(instr, fused, params)?;
    }
    for (&result, store) in fused.program.results.iter().zip(stores) {
        let (register, worth) = code.values[result as usize];
        if (worth == Worth::Truth) != (store.dtype == DType::Bool) {
            return None;
        }
        code.program.results.push(register);
    }
    Some((code.program, narrow))
}

struct Rewriting {
    narrow: DType,
    program: Program,
    /// For each instruction of the original: its register now, and its worth.
    values: Vec<(u16, Worth)>,
}

impl Rewriting {
    fn add(&mut self, instr: &Instr, fused: &Fused, params: &[DType]) -> Option<()> {
        let worth = |register: u16| self.values[register as usize].1;
        let of_dtype = |dtype: DType| match dtype {
            DType::Bool => Some(Worth::Truth),
            dtype if dtype == self.narrow => Some(Worth::Exact),
            _ => None,
        };
        let gives = match *instr {
            Instr::Load(i, _) => of_dtype(fused.loads[i as usize].dtype)?,
            Instr::Param(i, _) => of_dtype(*params.get(i as usize)?)?,
            Instr::Literal(_, ScalarType::Bool) => Worth::Truth,
            Instr::Literal(value, _) => {
                let (low, high) = self.narrow.integer_range()?;
                let value = value.to_f64();
                let fits = value.fract() == 0.0 && (low as f64..=high as f64).contains(&value);
                fits.then_some(Worth::Exact)?
            }
            Instr::Unary(UnaryFn::Not | UnaryFn::Neg, t, a) => self.wraps(t, &[worth(a)])?,
            Instr::Unary(UnaryFn::Abs, _, a) if worth(a) == Worth::Exact => Worth::Low,
            Instr::Binary(f, t, a, b) => self.binary(f, t, worth(a), worth(b))?,
            Instr::Select(_, c, a, b) if worth(c) == Worth::Truth => match (worth(a), worth(b)) {
                (Worth::Truth, Worth::Truth) => Worth::Truth,
                (Worth::Exact, Worth::Exact) => Worth::Exact,
                (Worth::Truth, _) | (_, Worth::Truth) => return None,
                _ => Worth::Low,
            },
            Instr::Convert(ScalarType::Bool, to, _) if to == self.narrow.compute() => Worth::Exact,
            Instr::Narrow(dtype, a) if dtype == self.narrow && worth(a) != Worth::Truth => {
                // The narrow value is what remains of the wide one.
                self.values.push((self.values[a as usize].0, Worth::Exact));
                return Some(());
            }
            Instr::Unary(..)
            | Instr::Select(..)
            | Instr::Convert(..)
            | Instr::Narrow(..)
            | Instr::Fma(..) => {
                return None;
            }
        };
        self.program.instrs.push(instr.map(|register| self.values[register as usize].0));
        self.values.push((self.program.instrs.len() as u16 - 1, gives));
        Some(())
    }

    /// An op whose low bits depend on low bits only.
    fn wraps(&self, t: ScalarType, operands: &[Worth]) -> Option<Worth> {
        let truths = operands.iter().filter(|&&worth| worth == Worth::Truth).count();
        match (t, truths) {
            (ScalarType::Bool, n) if n == operands.len() => Some(Worth::Truth),
            (t, 0) if t == self.narrow.compute() => Some(Worth::Low),
            _ => None,
        }
    }

    fn binary(&self, f: BinaryFn, t: ScalarType, a: Worth, b: Worth) -> Option<Worth> {
        let alike = (a == b && a != Worth::Low).then_some(a);
        match f {
            BinaryFn::Add | BinaryFn::Sub | BinaryFn::Mul | BinaryFn::And | BinaryFn::Or | BinaryFn::Xor => {
                self.wraps(t, &[a, b])
            }
            BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le => alike.map(|_| Worth::Truth),
            BinaryFn::Min | BinaryFn::Max => alike,
            BinaryFn::Div
            | BinaryFn::FloorDiv
            | BinaryFn::FloorRem
            | BinaryFn::Fmod
            | BinaryFn::Pow
            | BinaryFn::Atan2
            | BinaryFn::Hypot
            | BinaryFn::Shl
            | BinaryFn::Shr
            | BinaryFn::CopySign
            | BinaryFn::MulHi => None,
        }
    }
}

/// The loop of a function of narrow integers.
pub fn unary(f: UnaryFn, dtype: DType) -> Option<Loop1> {
    Some(match (f, dtype) {
        (UnaryFn::Neg, DType::U8 | DType::I8) => loop1!(u8 => u8, |x| x.wrapping_neg()),
        (UnaryFn::Neg, DType::U16 | DType::I16) => loop1!(u16 => u16, |x| x.wrapping_neg()),
        (UnaryFn::Not, DType::U8 | DType::I8) => loop1!(u8 => u8, |x| !x),
        (UnaryFn::Not, DType::U16 | DType::I16) => loop1!(u16 => u16, |x| !x),
        (UnaryFn::Abs, DType::I8) => loop1!(i8 => i8, |x| x.wrapping_abs()),
        (UnaryFn::Abs, DType::I16) => loop1!(i16 => i16, |x| x.wrapping_abs()),
        (UnaryFn::Abs, DType::U8) => loop1!(u8 => u8, |x| x),
        (UnaryFn::Abs, DType::U16) => loop1!(u16 => u16, |x| x),
        _ => return None,
    })
}

/// The loop of a function of two narrow integers.
pub fn binary(f: BinaryFn, dtype: DType) -> Option<Loop2> {
    /// What does not depend on the sign.
    macro_rules! bits {
        (|$x:ident, $y:ident| $e:expr) => {
            match dtype.size() {
                1 => loop2!(u8 => u8, |$x, $y| $e),
                _ => loop2!(u16 => u16, |$x, $y| $e),
            }
        };
    }
    macro_rules! same {
        ($op:tt) => {
            match dtype.size() {
                1 => loop2!(u8 => u8, |x, y| (x $op y) as u8),
                _ => loop2!(u16 => u8, |x, y| (x $op y) as u8),
            }
        };
    }
    macro_rules! order {
        ($op:tt) => {
            match dtype {
                DType::U8 => loop2!(u8 => u8, |x, y| (x $op y) as u8),
                DType::I8 => loop2!(i8 => u8, |x, y| (x $op y) as u8),
                DType::U16 => loop2!(u16 => u8, |x, y| (x $op y) as u8),
                _ => loop2!(i16 => u8, |x, y| (x $op y) as u8),
            }
        };
    }
    macro_rules! extreme {
        ($f:ident) => {
            match dtype {
                DType::U8 => loop2!(u8 => u8, |x, y| x.$f(y)),
                DType::I8 => loop2!(i8 => i8, |x, y| x.$f(y)),
                DType::U16 => loop2!(u16 => u16, |x, y| x.$f(y)),
                _ => loop2!(i16 => i16, |x, y| x.$f(y)),
            }
        };
    }
    Some(match f {
        BinaryFn::Add => bits!(|x, y| x.wrapping_add(y)),
        BinaryFn::Sub => bits!(|x, y| x.wrapping_sub(y)),
        BinaryFn::Mul => bits!(|x, y| x.wrapping_mul(y)),
        BinaryFn::And => bits!(|x, y| x & y),
        BinaryFn::Or => bits!(|x, y| x | y),
        BinaryFn::Xor => bits!(|x, y| x ^ y),
        BinaryFn::Eq => same!(==),
        BinaryFn::Ne => same!(!=),
        BinaryFn::Lt => order!(<),
        BinaryFn::Le => order!(<=),
        BinaryFn::Min => extreme!(min),
        BinaryFn::Max => extreme!(max),
        _ => return None,
    })
}

/// `if a { b } else { c }` of narrow integers.
pub fn select(dtype: DType) -> Loop3 {
    match dtype.size() {
        1 => loop3!(u8, u8, |x, y, z, I| if x != 0 { y } else { z }),
        _ => loop3!(u8, u16, |x, y, z, I| if x != 0 { y } else { z }),
    }
}

/// A truth value as a narrow integer.
pub fn from_truth(dtype: DType) -> Loop1 {
    match dtype.size() {
        1 => loop1!(u8 => u8, |x| x),
        _ => loop1!(u8 => u16, |x| x as u16),
    }
}

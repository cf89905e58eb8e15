//! Scalar programs: the straight-line code that a fused kernel runs once per element.
//!
//! A program is a list of instructions in SSA form over the seven [`ScalarType`]s. The op table defines each
//! elementwise op as such code through a [`Builder`]; the planner concatenates the code of fused ops; a
//! backend prints a program as shader text or interprets it over blocks of elements.

use crate::dtype::{DType, Kind, Number, ScalarType};
use std::cell::RefCell;
use std::ops;

/// The result of an instruction: its position in the program.
pub type Reg = u16;

/// Functions of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the C99 or MSL function of the same name")]
pub enum UnaryFn {
    Neg,
    Abs,
    /// Bitwise complement; logical negation of a bool.
    Not,
    Sqrt,
    Rsqrt,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Floor,
    Ceil,
    /// Rounds to the nearest integer, ties to even.
    Round,
    Trunc,
    /// The bits of a float as a signed integer of the same width.
    ToBits,
    /// The float with the bits of a signed integer.
    FromBits,
}

impl UnaryFn {
    /// The function's name in C.
    pub fn name(self) -> &'static str {
        match self {
            UnaryFn::Neg => "neg",
            UnaryFn::Abs => "abs",
            UnaryFn::Not => "not",
            UnaryFn::Sqrt => "sqrt",
            UnaryFn::Rsqrt => "rsqrt",
            UnaryFn::Exp => "exp",
            UnaryFn::Exp2 => "exp2",
            UnaryFn::Expm1 => "expm1",
            UnaryFn::Log => "log",
            UnaryFn::Log2 => "log2",
            UnaryFn::Log10 => "log10",
            UnaryFn::Log1p => "log1p",
            UnaryFn::Sin => "sin",
            UnaryFn::Cos => "cos",
            UnaryFn::Tan => "tan",
            UnaryFn::Asin => "asin",
            UnaryFn::Acos => "acos",
            UnaryFn::Atan => "atan",
            UnaryFn::Sinh => "sinh",
            UnaryFn::Cosh => "cosh",
            UnaryFn::Tanh => "tanh",
            UnaryFn::Asinh => "asinh",
            UnaryFn::Acosh => "acosh",
            UnaryFn::Atanh => "atanh",
            UnaryFn::Erf => "erf",
            UnaryFn::Floor => "floor",
            UnaryFn::Ceil => "ceil",
            UnaryFn::Round => "round",
            UnaryFn::Trunc => "trunc",
            UnaryFn::ToBits => "to_bits",
            UnaryFn::FromBits => "from_bits",
        }
    }
}

/// Functions of two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the C99 or MSL function of the same name")]
pub enum BinaryFn {
    Add,
    Sub,
    Mul,
    /// Division of floats.
    Div,
    /// Integer division rounding towards −∞; a zero divisor is a fault.
    FloorDiv,
    /// Integer remainder with the divisor's sign; a zero divisor is a fault.
    FloorRem,
    /// C's `fmod` on floats.
    Fmod,
    /// On integers a negative exponent is a fault.
    Pow,
    Atan2,
    Hypot,
    /// NaN if either is NaN.
    Min,
    /// NaN if either is NaN.
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    And,
    Or,
    Xor,
    /// Zero when the count reaches the width or is negative.
    Shl,
    /// Arithmetic on signed, logical on unsigned types; a count beyond the width shifts everything out.
    Shr,
    CopySign,
    /// Upper half of the product of two U32.
    MulHi,
}

/// One instruction. Registers refer to earlier instructions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Instr {
    /// Element of operand `.0`, widened from its dtype to the compute type.
    Load(u16, ScalarType),
    /// Run-time scalar parameter `.0`, already in the compute type.
    Param(u32, ScalarType),
    /// A literal that is part of the op's definition.
    Literal(Number, ScalarType),
    /// A function of one register; the type is the argument's.
    Unary(UnaryFn, ScalarType, Reg),
    /// A function of two registers; the type is the arguments'.
    Binary(BinaryFn, ScalarType, Reg, Reg),
    /// `a·b + c`, rounded once if the device supports it.
    Fma(ScalarType, Reg, Reg, Reg),
    /// `if c { a } else { b }`, both evaluated.
    Select(ScalarType, Reg, Reg, Reg),
    /// Conversion between compute types: integers wrap, floats to integers truncate and saturate.
    Convert(ScalarType, ScalarType, Reg),
    /// The value after a round trip through a narrower dtype of the same compute type.
    Narrow(DType, Reg),
}

impl Instr {
    /// The type of the result.
    pub fn result(&self) -> ScalarType {
        match *self {
            Instr::Load(_, t) | Instr::Param(_, t) | Instr::Literal(_, t) => t,
            Instr::Unary(f, t, _) => match (f, t) {
                (UnaryFn::ToBits, ScalarType::F64) => ScalarType::I64,
                (UnaryFn::ToBits, _) => ScalarType::I32,
                (UnaryFn::FromBits, ScalarType::I64) => ScalarType::F64,
                (UnaryFn::FromBits, _) => ScalarType::F32,
                _ => t,
            },
            Instr::Binary(f, t, _, _) => match f {
                BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le => ScalarType::Bool,
                _ => t,
            },
            Instr::Fma(t, ..) | Instr::Select(t, ..) => t,
            Instr::Convert(_, to, _) => to,
            Instr::Narrow(dtype, _) => dtype.compute(),
        }
    }

    /// The registers that the instruction reads.
    pub fn arguments(&self) -> impl Iterator<Item = Reg> {
        let (list, n) = match *self {
            Instr::Load(..) | Instr::Param(..) | Instr::Literal(..) => ([0, 0, 0], 0),
            Instr::Unary(_, _, a) | Instr::Convert(_, _, a) | Instr::Narrow(_, a) => ([a, 0, 0], 1),
            Instr::Binary(_, _, a, b) => ([a, b, 0], 2),
            Instr::Fma(_, a, b, c) | Instr::Select(_, a, b, c) => ([a, b, c], 3),
        };
        list.into_iter().take(n)
    }

    /// The instruction with each register renamed.
    pub fn map(self, f: impl Fn(Reg) -> Reg) -> Instr {
        match self {
            Instr::Load(..) | Instr::Param(..) | Instr::Literal(..) => self,
            Instr::Unary(g, t, a) => Instr::Unary(g, t, f(a)),
            Instr::Binary(g, t, a, b) => Instr::Binary(g, t, f(a), f(b)),
            Instr::Fma(t, a, b, c) => Instr::Fma(t, f(a), f(b), f(c)),
            Instr::Select(t, c, a, b) => Instr::Select(t, f(c), f(a), f(b)),
            Instr::Convert(from, to, a) => Instr::Convert(from, to, f(a)),
            Instr::Narrow(dtype, a) => Instr::Narrow(dtype, f(a)),
        }
    }

    /// Whether the instruction can end in a [`Fault`](crate::error::Fault).
    pub fn can_fault(&self) -> bool {
        match self {
            Instr::Binary(BinaryFn::FloorDiv | BinaryFn::FloorRem, _, _, _) => true,
            Instr::Binary(BinaryFn::Pow, t, _, _) => t.is_signed(),
            _ => false,
        }
    }

    fn key(&self) -> (u8, u16, u64, [u16; 3]) {
        let t = |t: ScalarType| t as u16;
        match *self {
            Instr::Load(i, ty) => (0, t(ty), i as u64, [0; 3]),
            Instr::Param(i, ty) => (1, t(ty), i as u64, [0; 3]),
            Instr::Literal(n, ty) => (2, t(ty) | (n.bits().0 as u16) << 8, n.bits().1, [0; 3]),
            Instr::Unary(f, ty, a) => (3, t(ty), f as u64, [a, 0, 0]),
            Instr::Binary(f, ty, a, b) => (4, t(ty), f as u64, [a, b, 0]),
            Instr::Fma(ty, a, b, c) => (5, t(ty), 0, [a, b, c]),
            Instr::Select(ty, a, b, c) => (6, t(ty), 0, [a, b, c]),
            Instr::Convert(x, y, a) => (7, t(x), y as u64, [a, 0, 0]),
            Instr::Narrow(d, a) => (8, 0, d as u64, [a, 0, 0]),
        }
    }
}

impl Eq for Instr {}

impl std::hash::Hash for Instr {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// Straight-line code with one or more results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// Instructions, in order.
    pub instrs: Vec<Instr>,
    /// Registers of the results.
    pub results: Vec<Reg>,
}

impl Program {
    /// The program that returns operand 0 unchanged.
    pub fn identity(t: ScalarType) -> Program {
        Program { instrs: vec![Instr::Load(0, t)], results: vec![0] }
    }

    /// Whether the program only returns operand 0.
    pub fn is_identity(&self) -> bool {
        self.results == [0] && matches!(self.instrs.as_slice(), [Instr::Load(0, _)])
    }

    /// The type of result `i`.
    pub fn result_type(&self, i: usize) -> ScalarType {
        self.instrs[self.results[i] as usize].result()
    }

    /// Whether an instruction can fault.
    pub fn can_fault(&self) -> bool {
        self.instrs.iter().any(Instr::can_fault)
    }

    /// The number of arithmetic instructions, as a measure of work.
    pub fn cost(&self) -> usize {
        let is_work = |i: &&Instr| !matches!(i, Instr::Load(..) | Instr::Param(..) | Instr::Literal(..));
        self.instrs.iter().filter(is_work).count()
    }
}

/// A builder of programs; equal instructions are emitted once.
#[derive(Default)]
pub struct Builder {
    state: RefCell<BuilderState>,
}

#[derive(Default)]
struct BuilderState {
    instrs: Vec<Instr>,
    known: rustc_hash::FxHashMap<Instr, Reg>,
}

/// A value inside a program that is being built.
#[derive(Clone, Copy)]
pub struct Val<'b> {
    builder: &'b Builder,
    /// The register.
    pub reg: Reg,
    /// The type.
    pub ty: ScalarType,
}

impl Builder {
    /// An empty program.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Appends an instruction, or finds an equal one.
    pub fn emit(&self, instr: Instr) -> Val<'_> {
        let mut state = self.state.borrow_mut();
        let ty = instr.result();
        if let Some(&reg) = state.known.get(&instr) {
            return Val { builder: self, reg, ty };
        }
        let reg = state.instrs.len() as Reg;
        state.instrs.push(instr);
        state.known.insert(instr, reg);
        Val { builder: self, reg, ty }
    }

    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.state.borrow().instrs.len()
    }

    /// Whether nothing has been emitted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The instruction that defines a register.
    pub fn instr(&self, reg: Reg) -> Instr {
        self.state.borrow().instrs[reg as usize]
    }

    /// The value in a register.
    pub fn value(&self, reg: Reg) -> Val<'_> {
        Val { builder: self, reg, ty: self.state.borrow().instrs[reg as usize].result() }
    }

    /// A literal of a given type.
    pub fn literal(&self, value: impl Into<Number>, ty: ScalarType) -> Val<'_> {
        self.emit(Instr::Literal(value.into().cast(ty.dtype()), ty))
    }

    /// Finishes the program, removing instructions that no result needs.
    pub fn finish(self, results: Vec<Reg>) -> Program {
        let instrs = self.state.into_inner().instrs;
        let mut needed = vec![false; instrs.len()];
        for &r in &results {
            needed[r as usize] = true;
        }
        for i in (0..instrs.len()).rev() {
            if needed[i] || instrs[i].can_fault() {
                needed[i] = true;
                instrs[i].arguments().for_each(|a| needed[a as usize] = true);
            }
        }
        let mut renamed = vec![0 as Reg; instrs.len()];
        let mut kept = Vec::with_capacity(instrs.len());
        for (i, instr) in instrs.into_iter().enumerate().filter(|(i, _)| needed[*i]) {
            renamed[i] = kept.len() as Reg;
            kept.push(instr.map(|r| renamed[r as usize]));
        }
        Program { instrs: kept, results: results.iter().map(|&r| renamed[r as usize]).collect() }
    }
}

impl<'b> Val<'b> {
    /// The value's builder.
    pub fn builder(self) -> &'b Builder {
        self.builder
    }

    /// A literal of this value's type.
    pub fn lit(self, value: impl Into<Number>) -> Val<'b> {
        self.builder.literal(value, self.ty)
    }

    /// `f(self)`.
    pub fn unary(self, f: UnaryFn) -> Val<'b> {
        self.builder.emit(Instr::Unary(f, self.ty, self.reg))
    }

    /// `f(self, other)`.
    pub fn binary(self, f: BinaryFn, other: Val<'b>) -> Val<'b> {
        self.builder.emit(Instr::Binary(f, self.ty, self.reg, other.reg))
    }

    /// `self·b + c`.
    pub fn fma(self, b: Val<'b>, c: Val<'b>) -> Val<'b> {
        self.builder.emit(Instr::Fma(self.ty, self.reg, b.reg, c.reg))
    }

    /// `if self { a } else { b }`.
    pub fn select(self, a: Val<'b>, b: Val<'b>) -> Val<'b> {
        self.builder.emit(Instr::Select(a.ty, self.reg, a.reg, b.reg))
    }

    /// Conversion to another compute type.
    pub fn convert(self, to: ScalarType) -> Val<'b> {
        match (self.ty, to) {
            (from, to) if from == to => self,
            (from, ScalarType::Bool) => self.binary(BinaryFn::Ne, self.builder.literal(0u8, from)),
            (from, to) => self.builder.emit(Instr::Convert(from, to, self.reg)),
        }
    }

    /// The value as it reads back from an element of `dtype`: rounded or wrapped if `dtype` is narrower than its
    /// compute type.
    pub fn narrow(self, dtype: DType) -> Val<'b> {
        if dtype.compute().dtype() == dtype {
            self
        } else {
            self.builder.emit(Instr::Narrow(dtype, self.reg))
        }
    }

    /// The cast from an element of `from` to an element of `to`.
    pub fn cast(self, from: DType, to: DType) -> Val<'b> {
        if from == to {
            return self;
        }
        let value = self.convert(to.compute());
        match (from.kind(), to.integer_range()) {
            // Saturate at the narrow type, not only at its compute type.
            (Kind::Float, Some((low, high))) if to.compute().dtype() != to => value
                .binary(BinaryFn::Max, value.lit(low as i64))
                .binary(BinaryFn::Min, value.lit(high as i64)),
            _ => value.narrow(to),
        }
    }
}

macro_rules! val_operator {
    ($($trait:ident $method:ident $f:expr),* $(,)?) => {$(
        impl<'b> ops::$trait for Val<'b> {
            type Output = Val<'b>;
            fn $method(self, other: Val<'b>) -> Val<'b> {
                self.binary($f, other)
            }
        }
        impl<'b> ops::$trait<f64> for Val<'b> {
            type Output = Val<'b>;
            fn $method(self, other: f64) -> Val<'b> {
                self.binary($f, self.lit(other))
            }
        }
        impl<'b> ops::$trait<Val<'b>> for f64 {
            type Output = Val<'b>;
            fn $method(self, other: Val<'b>) -> Val<'b> {
                other.lit(self).binary($f, other)
            }
        }
    )*};
}
val_operator! {
    Add add BinaryFn::Add, Sub sub BinaryFn::Sub, Mul mul BinaryFn::Mul, Div div BinaryFn::Div,
    BitAnd bitand BinaryFn::And, BitOr bitor BinaryFn::Or, BitXor bitxor BinaryFn::Xor,
    Shl shl BinaryFn::Shl, Shr shr BinaryFn::Shr,
}

impl<'b> ops::Neg for Val<'b> {
    type Output = Val<'b>;
    fn neg(self) -> Val<'b> {
        self.unary(UnaryFn::Neg)
    }
}

impl<'b> ops::Not for Val<'b> {
    type Output = Val<'b>;
    fn not(self) -> Val<'b> {
        self.unary(UnaryFn::Not)
    }
}

macro_rules! val_methods {
    (unary $($u:ident $uf:ident),*; binary $($b:ident $bf:ident),*) => {
        #[allow(missing_docs, reason = "each emits the scalar function of the same name")]
        impl<'b> Val<'b> {
            $(pub fn $u(self) -> Val<'b> { self.unary(UnaryFn::$uf) })*
            $(pub fn $b(self, other: Val<'b>) -> Val<'b> { self.binary(BinaryFn::$bf, other) })*
            pub fn gt(self, other: Val<'b>) -> Val<'b> { other.lt(self) }
            pub fn ge(self, other: Val<'b>) -> Val<'b> { other.le(self) }
        }
    };
}
val_methods! {
    unary abs Abs, sqrt Sqrt, rsqrt Rsqrt, exp Exp, exp2 Exp2, expm1 Expm1, log Log, log2 Log2, log10 Log10,
        log1p Log1p, sin Sin, cos Cos, tan Tan, asin Asin, acos Acos, atan Atan, sinh Sinh, cosh Cosh,
        tanh Tanh, asinh Asinh, acosh Acosh, atanh Atanh, erf Erf, floor Floor, ceil Ceil, round Round,
        trunc Trunc, to_bits ToBits, from_bits FromBits;
    binary floor_div FloorDiv, floor_rem FloorRem, fmod Fmod, pow Pow, atan2 Atan2, hypot Hypot, min Min, max Max,
        eq Eq, ne Ne, lt Lt, le Le, copysign CopySign, mul_hi MulHi
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_instructions_are_emitted_once_and_unused_ones_dropped() {
        let b = Builder::new();
        let x = b.emit(Instr::Load(0, ScalarType::F32));
        let unused = x.sin();
        let y = x.exp() + x.exp();
        assert_ne!(unused.reg, y.reg);
        let reg = y.reg;
        let program = b.finish(vec![reg]);
        assert_eq!(program.instrs.len(), 3);
        assert_eq!(program.results, [2]);
    }

    #[test]
    fn faulting_instructions_survive() {
        let b = Builder::new();
        let x = b.emit(Instr::Load(0, ScalarType::I32));
        x.floor_div(x.lit(0));
        let reg = x.reg;
        assert_eq!(b.finish(vec![reg]).instrs.len(), 3);
    }
}

//! The table of elementwise ops: one row per op, from which everything else about it is generated.
//!
//! [`for_each_elementwise!`](crate::for_each_elementwise) passes the rows to a macro of the caller. This module
//! generates the [`ElementwiseOp`] enum and its properties from them; `wootz` generates the tensor methods, the
//! conformance crate its cases, and the docs the support table.
//!
//! A row consists of: doc, arity, variant, name, accepted dtypes, result, the NumPy equivalent (for the oracle
//! tests), and the definition as scalar code over the operands.

use crate::dtype::{DType, Kind, ScalarType};
use crate::error::{Error, Result};
use crate::scalar::{Builder, Val};

/// Calls `$callback!` with every row of the elementwise table.
#[macro_export]
macro_rules! for_each_elementwise {
    ($callback:ident) => {
        $callback! {
            #[doc = "The negative of each element; integers wrap."]
            unary Neg neg Numeric Same "-a" |a| { -a }
            #[doc = "The absolute value of each element; the lowest integer is unchanged."]
            unary Abs abs Numeric Same "np.abs(a)" |a| { $crate::elementwise::define::abs(a) }
            #[doc = "−1, 0 or 1 according to the sign of each element; NaN stays NaN."]
            unary Sign sign Numeric Same "np.sign(a)" |a| { $crate::elementwise::define::sign(a) }
            #[doc = "The square of each element."]
            unary Square square Numeric Same "np.square(a)" |a| { a * a }
            #[doc = "The reciprocal of each element."]
            unary Reciprocal reciprocal Float Same "1 / a" |a| { 1.0 / a }
            #[doc = "The square root of each element."]
            unary Sqrt sqrt Float Same "np.sqrt(a)" |a| { a.sqrt() }
            #[doc = "The reciprocal of the square root of each element."]
            unary Rsqrt rsqrt Float Same "1 / np.sqrt(a)" |a| { a.rsqrt() }
            #[doc = "e to the power of each element."]
            unary Exp exp Float Same "np.exp(a)" |a| { a.exp() }
            #[doc = "2 to the power of each element."]
            unary Exp2 exp2 Float Same "np.exp2(a)" |a| { a.exp2() }
            #[doc = "eˣ − 1, accurate for small x."]
            unary Expm1 expm1 Float Same "np.expm1(a)" |a| { a.expm1() }
            #[doc = "The natural logarithm of each element."]
            unary Log log Float Same "np.log(a)" |a| { a.log() }
            #[doc = "The logarithm to base 2 of each element."]
            unary Log2 log2 Float Same "np.log2(a)" |a| { a.log2() }
            #[doc = "The logarithm to base 10 of each element."]
            unary Log10 log10 Float Same "np.log10(a)" |a| { a.log10() }
            #[doc = "ln(1 + x), accurate for small x."]
            unary Log1p log1p Float Same "np.log1p(a)" |a| { a.log1p() }
            #[doc = "The sine of each element, in radians."]
            unary Sin sin Float Same "np.sin(a)" |a| { a.sin() }
            #[doc = "The cosine of each element, in radians."]
            unary Cos cos Float Same "np.cos(a)" |a| { a.cos() }
            #[doc = "The tangent of each element, in radians."]
            unary Tan tan Float Same "np.tan(a)" |a| { a.tan() }
            #[doc = "The inverse sine of each element."]
            unary Asin asin Float Same "np.arcsin(a)" |a| { a.asin() }
            #[doc = "The inverse cosine of each element."]
            unary Acos acos Float Same "np.arccos(a)" |a| { a.acos() }
            #[doc = "The inverse tangent of each element."]
            unary Atan atan Float Same "np.arctan(a)" |a| { a.atan() }
            #[doc = "The hyperbolic sine of each element."]
            unary Sinh sinh Float Same "np.sinh(a)" |a| { a.sinh() }
            #[doc = "The hyperbolic cosine of each element."]
            unary Cosh cosh Float Same "np.cosh(a)" |a| { a.cosh() }
            #[doc = "The hyperbolic tangent of each element."]
            unary Tanh tanh Float Same "np.tanh(a)" |a| { a.tanh() }
            #[doc = "The inverse hyperbolic sine of each element."]
            unary Asinh asinh Float Same "np.arcsinh(a)" |a| { a.asinh() }
            #[doc = "The inverse hyperbolic cosine of each element."]
            unary Acosh acosh Float Same "np.arccosh(a)" |a| { a.acosh() }
            #[doc = "The inverse hyperbolic tangent of each element."]
            unary Atanh atanh Float Same "np.arctanh(a)" |a| { a.atanh() }
            #[doc = "The error function of each element."]
            unary Erf erf Float Same "np_erf(a)" |a| { a.erf() }
            #[doc = "The largest integer not greater than each element."]
            unary Floor floor Numeric Same "np.floor(a)" |a| { $crate::elementwise::define::rounding(a, |a| a.floor()) }
            #[doc = "The smallest integer not less than each element."]
            unary Ceil ceil Numeric Same "np.ceil(a)" |a| { $crate::elementwise::define::rounding(a, |a| a.ceil()) }
            #[doc = "The nearest integer to each element, ties to even."]
            unary Round round Numeric Same "np.round(a)" |a| { $crate::elementwise::define::rounding(a, |a| a.round()) }
            #[doc = "Each element rounded towards zero."]
            unary Trunc trunc Numeric Same "np.trunc(a)" |a| { $crate::elementwise::define::rounding(a, |a| a.trunc()) }
            #[doc = "Whether each element is NaN."]
            unary IsNan isnan Numeric Bool "np.isnan(a)" |a| { a.ne(a) }
            #[doc = "Whether each element is +∞ or −∞."]
            unary IsInf isinf Numeric Bool "np.isinf(a)" |a| { $crate::elementwise::define::isinf(a) }
            #[doc = "Whether each element is neither NaN nor infinite."]
            unary IsFinite isfinite Numeric Bool "np.isfinite(a)" |a| { $crate::elementwise::define::isfinite(a) }
            #[doc = "Whether the sign bit of each element is set."]
            unary SignBit signbit Float Bool "np.signbit(a)" |a| { a.lit(1).copysign(a).lt(a.lit(0)) }
            #[doc = "Whether each element is zero or false."]
            unary LogicalNot logical_not Logical Bool "np.logical_not(a)" |a| { !a }
            #[doc = "The bitwise complement of each element; on bool, negation."]
            unary BitwiseNot bitwise_not Bitwise Same "np.invert(a)" |a| { !a }
            #[doc = "max(x, 0); NaN stays NaN."]
            unary Relu relu Numeric Same "np.maximum(a, 0)" |a| { a.max(a.lit(0)) }
            #[doc = "The logistic function 1 / (1 + e⁻ˣ)."]
            unary Sigmoid sigmoid Float Same "1 / (1 + np.exp(-a))" |a| { 1.0 / (1.0 + (-a).exp()) }
            #[doc = "x·σ(x), also called swish."]
            unary Silu silu Float Same "a / (1 + np.exp(-a))" |a| { a / (1.0 + (-a).exp()) }
            #[doc = "The exact Gaussian error linear unit ½x(1 + erf(x/√2))."]
            unary Gelu gelu Float Same "0.5 * a * (1 + np_erf(a * 0.5 ** 0.5))" |a| {
                0.5 * a * (1.0 + (a * std::f64::consts::FRAC_1_SQRT_2).erf())
            }
            #[doc = "The tanh approximation of the Gaussian error linear unit."]
            unary GeluTanh gelu_tanh Float Same "0.5 * a * (1 + np.tanh((2 / np.pi) ** 0.5 * (a + 0.044715 * a ** 3)))" |a| {
                0.5 * a * (1.0 + ((a + 0.044715 * (a * a * a)) * 0.7978845608028654).tanh())
            }
            #[doc = "ln(1 + eˣ), without overflow."]
            unary Softplus softplus Float Same "np.logaddexp(a, 0)" |a| {
                a.max(a.lit(0)) + (-a.abs()).exp().log1p()
            }
            #[doc = "Degrees to radians."]
            unary Deg2Rad deg2rad Float Same "np.deg2rad(a)" |a| { a * (std::f64::consts::PI / 180.0) }
            #[doc = "Radians to degrees."]
            unary Rad2Deg rad2deg Float Same "np.rad2deg(a)" |a| { a * (180.0 / std::f64::consts::PI) }

            #[doc = "The sum of two tensors; integers wrap."]
            binary Add add Numeric Same "a + b" |a, b| { a + b }
            #[doc = "The difference of two tensors; integers wrap."]
            binary Sub sub Numeric Same "a - b" |a, b| { a - b }
            #[doc = "The product of two tensors; integers wrap."]
            binary Mul mul Numeric Same "a * b" |a, b| { a * b }
            #[doc = "True division; integer operands are converted to f32 first."]
            binary Div div Float Same "a / b" |a, b| { a / b }
            #[doc = "Division rounded towards −∞. An integer divisor of zero is an error."]
            binary FloorDivide floor_divide Numeric Same "np.floor_divide(a, b)" |a, b| {
                $crate::elementwise::define::floor_divide(a, b)
            }
            #[doc = "The remainder of floor division, with the divisor's sign. An integer divisor of zero is an error."]
            binary Remainder remainder Numeric Same "np.remainder(a, b)" |a, b| {
                $crate::elementwise::define::remainder(a, b)
            }
            #[doc = "a to the power of b. A negative exponent on integers is an error."]
            binary Pow pow Numeric Same "np.power(a, b)" |a, b| { a.pow(b) }
            #[doc = "The angle of the point (b, a)."]
            binary Atan2 atan2 Float Same "np.arctan2(a, b)" |a, b| { a.atan2(b) }
            #[doc = "√(a² + b²), without intermediate overflow."]
            binary Hypot hypot Float Same "np.hypot(a, b)" |a, b| { a.hypot(b) }
            #[doc = "ln(eᵃ + eᵇ), without overflow."]
            binary LogAddExp logaddexp Float Same "np.logaddexp(a, b)" |a, b| {
                $crate::elementwise::define::logaddexp(a, b)
            }
            #[doc = "a with the sign of b."]
            binary CopySign copysign Float Same "np.copysign(a, b)" |a, b| { a.copysign(b) }
            #[doc = "The smaller of two elements; NaN if either is NaN."]
            binary Minimum minimum Numeric Same "np.minimum(a, b)" |a, b| { a.min(b) }
            #[doc = "The larger of two elements; NaN if either is NaN."]
            binary Maximum maximum Numeric Same "np.maximum(a, b)" |a, b| { a.max(b) }
            #[doc = "a = b."]
            binary Equal equal Any Bool "a == b" |a, b| { a.eq(b) }
            #[doc = "a ≠ b."]
            binary NotEqual not_equal Any Bool "a != b" |a, b| { a.ne(b) }
            #[doc = "a < b."]
            binary Less less Any Bool "a < b" |a, b| { a.lt(b) }
            #[doc = "a ≤ b."]
            binary LessEqual less_equal Any Bool "a <= b" |a, b| { a.le(b) }
            #[doc = "a > b."]
            binary Greater greater Any Bool "a > b" |a, b| { b.lt(a) }
            #[doc = "a ≥ b."]
            binary GreaterEqual greater_equal Any Bool "a >= b" |a, b| { b.le(a) }
            #[doc = "Whether both elements are true or non-zero."]
            binary LogicalAnd logical_and Logical Bool "np.logical_and(a, b)" |a, b| { a & b }
            #[doc = "Whether either element is true or non-zero."]
            binary LogicalOr logical_or Logical Bool "np.logical_or(a, b)" |a, b| { a | b }
            #[doc = "Whether exactly one of the elements is true or non-zero."]
            binary LogicalXor logical_xor Logical Bool "np.logical_xor(a, b)" |a, b| { a ^ b }
            #[doc = "Bitwise and."]
            binary BitwiseAnd bitwise_and Bitwise Same "a & b" |a, b| { a & b }
            #[doc = "Bitwise or."]
            binary BitwiseOr bitwise_or Bitwise Same "a | b" |a, b| { a | b }
            #[doc = "Bitwise exclusive or."]
            binary BitwiseXor bitwise_xor Bitwise Same "a ^ b" |a, b| { a ^ b }
            #[doc = "a shifted left by b bits; zero if all bits are shifted out."]
            binary ShiftLeft shift_left Integer Same "np.left_shift(a, b)" |a, b| { a << b }
            #[doc = "a shifted right by b bits, keeping the sign."]
            binary ShiftRight shift_right Integer Same "np.right_shift(a, b)" |a, b| { a >> b }
            #[doc = "The upper half of the 64-bit product of two u32."]
            binary MulHi mul_hi U32 Same "((a.astype(np.uint64) * b) >> np.uint64(32)).astype(np.uint32)" |a, b| { a.mul_hi(b) }

            #[doc = "Random bits from a counter (upper half b, lower half a) and a key c: Philox 2×32 with ten rounds."]
            ternary RandomBits random_bits U32 Same "np_philox(a, b, c)" |a, b, c| { $crate::elementwise::define::philox(a, b, c) }
            #[doc = "a where the condition holds, b elsewhere."]
            ternary Where where_ Condition Same "np.where(a, b, c)" |a, b, c| { a.select(b, c) }
            #[doc = "a·b + c, rounded once if the device supports it."]
            ternary Fma fma Numeric Same "a * b + c" |a, b, c| { a.fma(b, c) }
            #[doc = "a clamped to the range from b to c."]
            ternary Clip clip Numeric Same "np.minimum(np.maximum(a, b), c)" |a, b, c| { a.max(b).min(c) }
        }
    };
}

/// Which dtypes an op accepts, and how others are converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Every dtype.
    Any,
    /// Integers and floats.
    Numeric,
    /// Floats; integers and bool become f32.
    Float,
    /// Integers.
    Integer,
    /// Integers and bool.
    Bitwise,
    /// Every dtype, read as a truth value.
    Logical,
    /// A bool, then any two dtypes.
    Condition,
    /// `u32` only.
    U32,
}

/// The dtype of an op's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// The common dtype of the operands.
    Same,
    /// Always bool.
    Bool,
}

/// A row of the table.
pub struct Row {
    /// The method's name.
    pub name: &'static str,
    /// One-line documentation.
    pub doc: &'static str,
    /// Number of operands.
    pub arity: usize,
    /// Accepted dtypes.
    pub accepts: Accepts,
    /// Result dtype.
    pub gives: Gives,
    /// The equivalent NumPy expression over a, b, c.
    pub numpy: &'static str,
    define: for<'b> fn(&[Val<'b>]) -> Val<'b>,
}

/// Maximum number of operands.
pub const MAX_ARITY: usize = 3;

macro_rules! arity {
    (unary) => {
        1
    };
    (binary) => {
        2
    };
    (ternary) => {
        3
    };
}

macro_rules! make_table {
    ($(#[doc = $doc:literal] $arity:ident $variant:ident $name:ident $accepts:ident $gives:ident $numpy:literal
       |$($arg:ident),+| $body:block)*) => {
        /// An op that computes each element of its result from the elements at the same position.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ElementwiseOp {
            $(#[doc = $doc] $variant),*
        }

        impl ElementwiseOp {
            /// All ops, in table order.
            pub const ALL: &'static [ElementwiseOp] = &[$(ElementwiseOp::$variant),*];

            /// The op's row.
            pub fn row(self) -> &'static Row {
                &TABLE[self as usize]
            }
        }

        static TABLE: &[Row] = &[$({
            fn define<'b>(args: &[Val<'b>]) -> Val<'b> {
                let [$($arg),+] = *args else { unreachable!("arity is checked when the node is built") };
                $body
            }
            Row {
                name: strip(stringify!($name)),
                doc: $doc,
                arity: arity!($arity),
                accepts: Accepts::$accepts,
                gives: Gives::$gives,
                numpy: $numpy,
                define,
            }
        }),*];
    };
}
for_each_elementwise!(make_table);

/// `where_` is called `where` everywhere except in Rust.
const fn strip(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [head @ .., b'_'] => match std::str::from_utf8(head) {
            Ok(name) => name,
            Err(_) => name,
        },
        _ => name,
    }
}

impl ElementwiseOp {
    /// The op's name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The op with this name.
    pub fn from_name(name: &str) -> Option<ElementwiseOp> {
        ElementwiseOp::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// The dtype that each operand is cast to and the dtype of the result, for operands of these dtypes.
    pub fn resolve(self, dtypes: &[DType]) -> Result<Resolved> {
        let row = self.row();
        let refuse = |expected: &str| Err(Error::dtype(row.name, dtypes, expected));
        let operands = if row.accepts == Accepts::Condition { &dtypes[1..] } else { dtypes };
        let common = operands.iter().try_fold(operands[0], |a, &b| a.promote(b));
        let Some(common) = common else {
            return refuse(
                "dtypes with a common dtype (u64 and signed integers have none: cast one of them)",
            );
        };
        let operand = match row.accepts {
            Accepts::Any | Accepts::Condition => common,
            Accepts::Numeric if common == DType::Bool => {
                return refuse("integers or floats (cast bool first)");
            }
            Accepts::Numeric => common,
            Accepts::Float => common.to_float(),
            Accepts::Integer if !common.is_integer() => return refuse("integers"),
            Accepts::Bitwise if common.is_float() => return refuse("integers or bool"),
            Accepts::Integer | Accepts::Bitwise => common,
            Accepts::Logical => DType::Bool,
            Accepts::U32 if common != DType::U32 => return refuse("u32"),
            Accepts::U32 => common,
        };
        if row.accepts == Accepts::Condition && dtypes[0] != DType::Bool {
            return refuse("a bool condition first");
        }
        let result = match row.gives {
            Gives::Same => operand,
            Gives::Bool => DType::Bool,
        };
        Ok(Resolved { operand, result })
    }

    /// Emits the op's code over operands in compute types.
    pub fn define<'b>(self, args: &[Val<'b>]) -> Val<'b> {
        (self.row().define)(args)
    }

    /// Emits the op's code with the result rounded or wrapped to `dtype`, as a stored element reads back.
    pub fn lower<'b>(self, args: &[Val<'b>], dtype: DType) -> Val<'b> {
        self.define(args).narrow(dtype)
    }

    /// The op as a separate program: operand `i` is load `i`.
    pub fn program(self, operand_types: &[ScalarType]) -> crate::scalar::Program {
        let builder = Builder::new();
        let args: Vec<Val<'_>> = operand_types
            .iter()
            .enumerate()
            .map(|(i, &t)| builder.emit(crate::scalar::Instr::Load(i as u16, t)))
            .collect();
        let result = self.define(&args).reg;
        drop(args);
        builder.finish(vec![result])
    }
}

/// The result of [`ElementwiseOp::resolve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The dtype that operands are cast to (the condition of `where` stays bool).
    pub operand: DType,
    /// The dtype of the result.
    pub result: DType,
}

/// Definitions that are too long for a table row.
pub mod define {
    use super::{Kind, ScalarType, Val};

    /// |a|; unsigned integers are unchanged.
    pub fn abs(a: Val<'_>) -> Val<'_> {
        match a.ty.dtype().kind() {
            Kind::Unsigned | Kind::Bool => a,
            Kind::Signed | Kind::Float => a.abs(),
        }
    }

    /// −1, 0, 1 or NaN.
    pub fn sign(a: Val<'_>) -> Val<'_> {
        let positive = a.gt(a.lit(0)).select(a.lit(1), a.lit(0));
        match a.ty.dtype().kind() {
            Kind::Unsigned | Kind::Bool => positive,
            Kind::Signed => a.lt(a.lit(0)).select(a.lit(-1), positive),
            Kind::Float => {
                let signed = a.lt(a.lit(0)).select(a.lit(-1), positive);
                a.ne(a).select(a, signed)
            }
        }
    }

    /// Integers are unchanged.
    pub fn rounding<'b>(a: Val<'b>, f: impl Fn(Val<'b>) -> Val<'b>) -> Val<'b> {
        if a.ty.is_float() { f(a) } else { a }
    }

    /// |a| = ∞; never for integers.
    pub fn isinf(a: Val<'_>) -> Val<'_> {
        if a.ty.is_float() { a.abs().eq(a.lit(f64::INFINITY)) } else { a.ne(a) }
    }

    /// |a| < ∞; always for integers.
    pub fn isfinite(a: Val<'_>) -> Val<'_> {
        if a.ty.is_float() { a.abs().lt(a.lit(f64::INFINITY)) } else { a.eq(a) }
    }

    /// NumPy's floor division: exact for integers, consistent with [`remainder`] for floats.
    pub fn floor_divide<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
        if !a.ty.is_float() {
            return a.floor_div(b);
        }
        let (zero, one) = (a.lit(0), a.lit(1));
        let rem = a.fmod(b);
        let quotient = (a - rem) / b;
        let signs_differ = b.lt(zero) ^ rem.lt(zero);
        let adjusted = (rem.ne(zero) & signs_differ).select(quotient - one, quotient);
        let floor = adjusted.floor();
        let nearest = (adjusted - floor).gt(a.lit(0.5)).select(floor + one, floor);
        let signed_zero = adjusted.eq(zero).select(zero.copysign(a / b), nearest);
        b.eq(zero).select(a / b, signed_zero)
    }

    /// Python's remainder: it has the divisor's sign.
    pub fn remainder<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
        if a.ty == ScalarType::F32 || a.ty == ScalarType::F64 {
            let zero = a.lit(0);
            let rem = a.fmod(b);
            let signs_differ = b.lt(zero) ^ rem.lt(zero);
            let adjusted = signs_differ.select(rem + b, rem);
            return rem.eq(zero).select(zero.copysign(b), adjusted);
        }
        a.floor_rem(b)
    }

    /// Philox 2×32-10: the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3".
    pub fn philox<'b>(low: Val<'b>, high: Val<'b>, key: Val<'b>) -> Val<'b> {
        let multiplier = low.lit(0xD256_D193u32);
        let weyl = low.lit(0x9E37_79B9u32);
        let (mut low, mut high, mut key) = (low, high, key);
        for _ in 0..10 {
            (low, high) = (multiplier.mul_hi(low) ^ key ^ high, multiplier * low);
            key = key + weyl;
        }
        low
    }

    /// max + ln(1 + e^−|a−b|), with equal infinities kept.
    pub fn logaddexp<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
        let larger = a.max(b);
        let sum = larger + (-(a - b).abs()).exp().log1p();
        a.eq(b).select(a + std::f64::consts::LN_2, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for &op in ElementwiseOp::ALL {
            assert_eq!(ElementwiseOp::from_name(op.name()), Some(op));
            assert!(op.row().doc.ends_with('.'));
        }
        assert_eq!(ElementwiseOp::Where.name(), "where");
    }

    #[test]
    fn dtypes_resolve_or_are_refused_with_facts() {
        let r = ElementwiseOp::Div.resolve(&[DType::I32, DType::U8]).unwrap();
        assert_eq!((r.operand, r.result), (DType::F32, DType::F32));
        let e = ElementwiseOp::Add.resolve(&[DType::U64, DType::I8]).unwrap_err().to_string();
        assert!(e.contains("add") && e.contains("u64 and i8"), "{e}");
        assert!(ElementwiseOp::Add.resolve(&[DType::Bool, DType::Bool]).is_err());
        assert!(ElementwiseOp::BitwiseAnd.resolve(&[DType::F32, DType::I8]).is_err());
    }
}

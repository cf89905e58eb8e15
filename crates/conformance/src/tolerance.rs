//! Tolerances for comparing a device with the reference, and their justification.

use wootz_ir::{DType, ElementwiseOp};

/// A tolerance: an element passes if it is within any one of the three bounds.
///
/// NaN only matches NaN. An infinity matches itself, or values within `ulps` of the largest finite number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// In ulp of the expected value, in the result's dtype.
    pub ulps: f64,
    /// As a fraction of the element's magnitude: the sum of the absolute values of its terms, if the case defines it,
    /// otherwise the expected value.
    pub relative: f64,
    /// Absolute.
    pub absolute: f64,
    /// Whether −0 and +0 are distinct.
    pub signed_zeros: bool,
}

impl Tolerance {
    /// Equal values; zeros of both signs are equal.
    pub const EXACT: Tolerance = Tolerance { ulps: 0.0, relative: 0.0, absolute: 0.0, signed_zeros: false };

    /// Equal values, with signed zeros: for copies and sign ops.
    pub const SIGNED: Tolerance = Tolerance { signed_zeros: true, ..Tolerance::EXACT };

    /// A number of ulp.
    pub const fn ulps(ulps: f64) -> Tolerance {
        Tolerance { ulps, ..Tolerance::EXACT }
    }

    /// For sums of products in a dtype: `terms` roundings of the type that devices compute in, relative to the
    /// magnitude, and one rounding to the dtype where that is narrower.
    pub fn sum(dtype: DType, terms: f64) -> Tolerance {
        if !dtype.is_float() {
            return Tolerance::EXACT;
        }
        Tolerance { ulps: 1.0, relative: terms * epsilon(dtype), ..Tolerance::EXACT }
    }

    /// The same with an absolute bound.
    pub const fn or_within(self, absolute: f64) -> Tolerance {
        Tolerance { absolute, ..self }
    }
}

/// The unit roundoff of the type that devices compute in for a dtype (f16 and bf16 compute in f32).
pub fn epsilon(dtype: DType) -> f64 {
    if dtype == DType::F64 { f64::EPSILON } else { f32::EPSILON as f64 }
}

/// The distance between neighbouring numbers of a float dtype at a value.
pub fn ulp(value: f64, dtype: DType) -> f64 {
    let (digits, lowest) = match dtype {
        DType::F16 => (10, -14),
        DType::BF16 => (7, -126),
        DType::F32 => (23, -126),
        _ => (52, -1022),
    };
    let bits = value.abs().to_bits() >> 52;
    let exponent = if value.is_finite() { bits as i32 - 1023 } else { top_exponent(dtype) };
    power_of_two(exponent.max(lowest) - digits)
}

/// The exponent of the largest finite number.
pub(crate) fn top_exponent(dtype: DType) -> i32 {
    match dtype {
        DType::F16 => 15,
        DType::BF16 | DType::F32 => 127,
        _ => 1023,
    }
}

/// 2ⁿ, also where it is subnormal.
pub(crate) fn power_of_two(n: i32) -> f64 {
    if n >= -1022 { f64::from_bits(((n + 1023) as u64) << 52) } else { f64::from_bits(1 << (n + 1074)) }
}

/// The smallest normal number of a float dtype.
fn smallest_normal(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => power_of_two(-14),
        DType::F64 => f64::MIN_POSITIVE,
        _ => power_of_two(-126),
    }
}

/// The bound for an op of the elementwise table with this result dtype.
///
/// What IEEE 754 rounds correctly is compared exactly, in every dtype: computing f16 and bf16 in f32 and rounding
/// again gives the same bits, because f32 has more than twice their digits. The bounds of elementary functions are
/// those that the Metal Shading Language specification gives for its precise functions, the widest among the devices
/// that we take as correct; each backend's own tests hold it to what it promises. One more unit is for definitions in
/// several steps, and in f16 and bf16 one unit is all: an error in f32 can flip just the last rounding.
pub fn elementwise_tolerance(op: ElementwiseOp, result: DType) -> Tolerance {
    use ElementwiseOp::*;
    if !result.is_float() {
        return Tolerance::EXACT;
    }
    let narrow = matches!(result, DType::F16 | DType::BF16);
    let eps = epsilon(result);
    let ulps = |n: f64| Tolerance::ulps(if narrow { 1.0 } else { n });
    let tiny = smallest_normal(if narrow { DType::F32 } else { result });
    match op {
        Neg | Abs | CopySign | Floor | Ceil | Round | Trunc | Where => Tolerance::SIGNED,
        Sign | Square | Reciprocal | Sqrt | Add | Sub | Mul | Div | Remainder | Minimum | Maximum | Relu
        | Clip => Tolerance::EXACT,
        // Of bools and integers only, but rows may change.
        IsNan | IsInf | IsFinite | SignBit | LogicalNot | BitwiseNot | Equal | NotEqual | Less
        | LessEqual | Greater | GreaterEqual | LogicalAnd | LogicalOr | LogicalXor | BitwiseAnd
        | BitwiseOr | BitwiseXor | ShiftLeft | ShiftRight | MulHi | RandomBits => Tolerance::EXACT,
        // One product with a literal that is rounded itself.
        Deg2Rad | Rad2Deg => ulps(1.5),
        // A quotient beyond 2²⁴ is rounded twice; below, an error of one is many units.
        FloorDivide => ulps(2.0),
        Rsqrt | Hypot => ulps(4.0),
        Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Asin | Acos | Sinh | Cosh | Asinh
        | Acosh | Erf => ulps(4.0),
        Atan | Tanh | Atanh => ulps(5.0),
        Tan | Atan2 => ulps(6.0),
        Pow => ulps(16.0),
        // Where e⁻ˣ overflows, the true result is subnormal or nearly so; a device gives zero.
        Sigmoid | Silu | Softplus => ulps(8.0).or_within(100.0 * tiny),
        // 1 + erf and 1 + tanh cancel for negative x: the error is a fraction of |x|, not of the result.
        Gelu | GeluTanh => Tolerance { relative: 8.0 * eps, ..ulps(8.0) },
        // The larger operand cancels with ln(1 + …) where the result is near zero; both are below 1 there.
        LogAddExp => ulps(6.0).or_within(6.0 * eps),
        // A device without fused multiply-add rounds the product, which may then cancel with c.
        Fma => Tolerance { relative: 2.0 * eps, ..ulps(1.0) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_the_last_place() {
        assert_eq!(ulp(1.0, DType::F32), f32::EPSILON as f64);
        assert_eq!(ulp(-1.5, DType::F64), f64::EPSILON);
        assert_eq!(ulp(0.0, DType::F32), 2f64.powi(-149));
        assert_eq!(ulp(1e-40, DType::F32), 2f64.powi(-149));
        assert_eq!(ulp(65504.0, DType::F16), 32.0);
        assert_eq!(ulp(f64::INFINITY, DType::F16), 32.0);
        assert_eq!(ulp(0.0, DType::F64), f64::from_bits(1));
        assert_eq!(ulp(3.0, DType::BF16), 2f64.powi(-6));
    }
}

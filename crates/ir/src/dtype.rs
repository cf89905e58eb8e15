//! Element types, their promotion, and single values of them.

use smallvec::SmallVec;
use std::fmt;
use wootz_blocks::BlockFormat;

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// Signed 8-bit integer.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// IEEE half precision.
    F16,
    /// The upper half of an f32.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

/// The kinds that promotion and the op table distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `bool` alone.
    Bool,
    /// `u8` to `u64`.
    Unsigned,
    /// `i8` to `i64`.
    Signed,
    /// `f16`, `bf16`, `f32`, `f64`.
    Float,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [DType; 13] = [
        DType::Bool,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];

    /// The short name used in messages and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// The dtype with this short name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Bytes per element of the widest dtype.
    pub const MAX_SIZE: usize = 8;

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 | DType::I8 => 1,
            DType::U16 | DType::I16 | DType::F16 | DType::BF16 => 2,
            DType::U32 | DType::I32 | DType::F32 => 4,
            DType::U64 | DType::I64 | DType::F64 => 8,
        }
    }

    /// Which kind this dtype belongs to.
    pub const fn kind(self) -> Kind {
        match self {
            DType::Bool => Kind::Bool,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Unsigned,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Signed,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Kind::Float,
        }
    }

    /// True for the four floating-point dtypes.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// True for signed and unsigned integers, not for bool.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Unsigned | Kind::Signed)
    }

    /// The type in which scalar programs compute elements of this dtype.
    pub const fn compute(self) -> ScalarType {
        match self {
            DType::Bool => ScalarType::Bool,
            DType::U8 | DType::U16 | DType::U32 => ScalarType::U32,
            DType::I8 | DType::I16 | DType::I32 => ScalarType::I32,
            DType::U64 => ScalarType::U64,
            DType::I64 => ScalarType::I64,
            DType::F16 | DType::BF16 | DType::F32 => ScalarType::F32,
            DType::F64 => ScalarType::F64,
        }
    }

    /// The dtype that sums and products of this dtype accumulate in, as in NumPy.
    pub const fn accumulator(self) -> DType {
        match self.kind() {
            Kind::Bool | Kind::Signed => DType::I64,
            Kind::Unsigned => DType::U64,
            Kind::Float => self,
        }
    }

    /// The result dtype of functions that always return floats (`exp`, `mean`, true division).
    pub const fn to_float(self) -> DType {
        match self.kind() {
            Kind::Float => self,
            Kind::Bool | Kind::Unsigned | Kind::Signed => DType::F32,
        }
    }

    /// The dtype of the elements of an unquantised format, or `None`.
    pub fn of_format(format: BlockFormat) -> Option<DType> {
        let dtypes = [
            (BlockFormat::F32, DType::F32),
            (BlockFormat::F16, DType::F16),
            (BlockFormat::BF16, DType::BF16),
        ];
        dtypes.into_iter().find(|(known, _)| *known == format).map(|(_, dtype)| dtype)
    }

    /// The smallest and largest value of an integer dtype.
    pub const fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            DType::U8 => (0, u8::MAX as i128),
            DType::U16 => (0, u16::MAX as i128),
            DType::U32 => (0, u32::MAX as i128),
            DType::U64 => (0, u64::MAX as i128),
            DType::I8 => (i8::MIN as i128, i8::MAX as i128),
            DType::I16 => (i16::MIN as i128, i16::MAX as i128),
            DType::I32 => (i32::MIN as i128, i32::MAX as i128),
            DType::I64 => (i64::MIN as i128, i64::MAX as i128),
            DType::Bool | DType::F16 | DType::BF16 | DType::F32 | DType::F64 => return None,
        })
    }

    /// The promoted dtype of two operands, by the array API's lattice extended to mixed kinds: bool promotes to
    /// everything, integers promote to floats, `f16` with `bf16` gives `f32`. `u64` with a signed integer has no
    /// common integer type and gives `None`.
    pub fn promote(self, other: DType) -> Option<DType> {
        use DType::*;
        if self == other {
            return Some(self);
        }
        match (self.kind(), other.kind()) {
            (Kind::Bool, _) => Some(other),
            (_, Kind::Bool) => Some(self),
            (Kind::Float, Kind::Float) => match (self, other) {
                (F16, BF16) | (BF16, F16) => Some(F32),
                _ => Some(self.max(other)),
            },
            (Kind::Float, _) => Some(self),
            (_, Kind::Float) => Some(other),
            (Kind::Unsigned, Kind::Signed) => Self::promote_mixed(self, other),
            (Kind::Signed, Kind::Unsigned) => Self::promote_mixed(other, self),
            (Kind::Unsigned, Kind::Unsigned) | (Kind::Signed, Kind::Signed) => Some(self.max(other)),
        }
    }

    fn promote_mixed(unsigned: DType, signed: DType) -> Option<DType> {
        let wider = match unsigned {
            DType::U8 => DType::I16,
            DType::U16 => DType::I32,
            DType::U32 => DType::I64,
            _ => return None,
        };
        Some(wider.max(signed))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The types that scalar programs compute in. Narrower dtypes are widened on load and narrowed on store, so a backend
/// implements each scalar function for these seven only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarType {
    /// Boolean.
    Bool,
    /// Wrapping 32-bit signed integer.
    I32,
    /// Wrapping 32-bit unsigned integer.
    U32,
    /// Wrapping 64-bit signed integer.
    I64,
    /// Wrapping 64-bit unsigned integer.
    U64,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl ScalarType {
    /// The dtype whose elements are stored exactly in this form.
    pub const fn dtype(self) -> DType {
        match self {
            ScalarType::Bool => DType::Bool,
            ScalarType::I32 => DType::I32,
            ScalarType::U32 => DType::U32,
            ScalarType::I64 => DType::I64,
            ScalarType::U64 => DType::U64,
            ScalarType::F32 => DType::F32,
            ScalarType::F64 => DType::F64,
        }
    }

    /// True for F32 and F64.
    pub const fn is_float(self) -> bool {
        matches!(self, ScalarType::F32 | ScalarType::F64)
    }

    /// True for I32 and I64.
    pub const fn is_signed(self) -> bool {
        matches!(self, ScalarType::I32 | ScalarType::I64)
    }
}

/// A number, in the widest form of its kind; a dtype says how it is interpreted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating-point value.
    Float(f64),
}

impl Number {
    /// The nearest number representable in `dtype`: integers wrap, floats to integers truncate and saturate (NaN
    /// becomes 0), floats round to nearest even.
    pub fn cast(self, dtype: DType) -> Number {
        match dtype.kind() {
            Kind::Bool => Number::Bool(match self {
                Number::Bool(b) => b,
                Number::Int(i) => i != 0,
                Number::Uint(u) => u != 0,
                Number::Float(f) => f != 0.0,
            }),
            Kind::Float => Number::Float(match self {
                Number::Int(i) => round_integer(i < 0, i.unsigned_abs(), dtype),
                Number::Uint(u) => round_integer(false, u, dtype),
                Number::Bool(_) | Number::Float(_) => round_float(self.to_f64(), dtype),
            }),
            Kind::Signed | Kind::Unsigned => self.to_integer(dtype),
        }
    }

    fn to_integer(self, dtype: DType) -> Number {
        let wide: i128 = match self {
            Number::Bool(b) => b as i128,
            Number::Int(i) => i as i128,
            Number::Uint(u) => u as i128,
            Number::Float(f) => {
                let (low, high) = dtype.integer_range().expect("an integer dtype has a range");
                (f as i128).clamp(low, high)
            }
        };
        match dtype {
            DType::U8 => Number::Uint(wide as u8 as u64),
            DType::U16 => Number::Uint(wide as u16 as u64),
            DType::U32 => Number::Uint(wide as u32 as u64),
            DType::U64 => Number::Uint(wide as u64),
            DType::I8 => Number::Int(wide as i8 as i64),
            DType::I16 => Number::Int(wide as i16 as i64),
            DType::I32 => Number::Int(wide as i32 as i64),
            _ => Number::Int(wide as i64),
        }
    }

    /// The bytes of this number as an element of a dtype, in native byte order. The number is [cast](Number::cast)
    /// first.
    pub fn to_bytes(self, dtype: DType) -> SmallVec<[u8; 8]> {
        let number = self.cast(dtype);
        let (float, integer) = (number.to_f64(), number.to_i64());
        match dtype {
            DType::Bool | DType::U8 | DType::I8 => SmallVec::from_slice(&[integer as u8]),
            DType::U16 | DType::I16 => SmallVec::from_slice(&(integer as u16).to_ne_bytes()),
            DType::U32 | DType::I32 => SmallVec::from_slice(&(integer as u32).to_ne_bytes()),
            DType::U64 | DType::I64 => SmallVec::from_slice(&(integer as u64).to_ne_bytes()),
            DType::F16 => SmallVec::from_slice(&half::f16::from_f64(float).to_ne_bytes()),
            DType::BF16 => SmallVec::from_slice(&half::bf16::from_f64(float).to_ne_bytes()),
            DType::F32 => SmallVec::from_slice(&(float as f32).to_ne_bytes()),
            DType::F64 => SmallVec::from_slice(&float.to_ne_bytes()),
        }
    }

    /// The number with these bytes as an element of a dtype, in native byte order.
    ///
    /// # Panics
    /// If the number of bytes does not match the dtype.
    pub fn from_bytes(bytes: &[u8], dtype: DType) -> Number {
        fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
            let mut array = [0; N];
            array.copy_from_slice(bytes);
            array
        }
        match dtype {
            DType::Bool => Number::Bool(bytes[0] != 0),
            DType::U8 => Number::Uint(bytes[0].into()),
            DType::I8 => Number::Int((bytes[0] as i8).into()),
            DType::U16 => Number::Uint(u16::from_ne_bytes(array(bytes)).into()),
            DType::I16 => Number::Int(i16::from_ne_bytes(array(bytes)).into()),
            DType::U32 => Number::Uint(u32::from_ne_bytes(array(bytes)).into()),
            DType::I32 => Number::Int(i32::from_ne_bytes(array(bytes)).into()),
            DType::U64 => Number::Uint(u64::from_ne_bytes(array(bytes))),
            DType::I64 => Number::Int(i64::from_ne_bytes(array(bytes))),
            DType::F16 => Number::Float(half::f16::from_ne_bytes(array(bytes)).to_f64()),
            DType::BF16 => Number::Float(half::bf16::from_ne_bytes(array(bytes)).to_f64()),
            DType::F32 => Number::Float(f32::from_ne_bytes(array(bytes)).into()),
            DType::F64 => Number::Float(f64::from_ne_bytes(array(bytes))),
        }
    }

    /// This number as a double (64-bit integers round).
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Bool(b) => b as u8 as f64,
            Number::Int(i) => i as f64,
            Number::Uint(u) => u as f64,
            Number::Float(f) => f,
        }
    }

    /// This number as a signed 64-bit integer (unsigned wraps, floats truncate and saturate).
    pub fn to_i64(self) -> i64 {
        match self {
            Number::Bool(b) => b as i64,
            Number::Int(i) => i,
            Number::Uint(u) => u as i64,
            Number::Float(f) => f as i64,
        }
    }

    /// The default dtype of a literal of this kind.
    pub const fn default_dtype(self) -> DType {
        match self {
            Number::Bool(_) => DType::Bool,
            Number::Int(_) => DType::I64,
            Number::Uint(_) => DType::U64,
            Number::Float(_) => DType::F32,
        }
    }

    /// A key that is equal for bit-identical numbers.
    pub fn bits(self) -> (u8, u64) {
        match self {
            Number::Bool(b) => (0, b as u64),
            Number::Int(i) => (1, i as u64),
            Number::Uint(u) => (2, u),
            Number::Float(f) => (3, f.to_bits()),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Bool(v) => v.fmt(f),
            Number::Int(v) => v.fmt(f),
            Number::Uint(v) => v.fmt(f),
            Number::Float(v) => v.fmt(f),
        }
    }
}

/// `value` rounded once, ties to even, to the precision of a float dtype.
pub fn round_float(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => round_to_grid(value, 10, -14, 65504.0),
        DType::BF16 => round_to_grid(value, 7, -126, f32::from_bits(0x7f7f_0000) as f64),
        DType::F32 => value as f32 as f64,
        _ => value,
    }
}

/// `value` rounded to a narrow float format: `digits` after the leading one, exponents from `lowest` on, up to
/// `largest`.
///
/// Conversions through f32, or through the upper half of the f64, round twice or lose the bits that break a tie; the
/// result must not depend on which instructions a machine has.
fn round_to_grid(value: f64, digits: i32, lowest: i32, largest: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let unit = f64::from_bits(((exponent.max(lowest) - digits + 1023) as u64) << 52);
    let rounded = (value / unit).round_ties_even() * unit;
    if rounded.abs() > largest { f64::INFINITY.copysign(value) } else { rounded }
}

/// An integer, given as sign and magnitude, rounded once to the precision of a float dtype.
fn round_integer(negative: bool, magnitude: u64, dtype: DType) -> f64 {
    // Beyond 53 bits the lowest eleven only break ties: one sticky bit stands for them, and f64 holds the rest exactly.
    let exact = dtype == DType::F64 || magnitude >> 53 == 0;
    let sticky = (magnitude >> 11 | u64::from(magnitude & 0x7ff != 0)) << 11;
    let value = if exact { magnitude as f64 } else { sticky as f64 };
    round_float(if negative { -value } else { value }, dtype)
}

macro_rules! number_from {
    ($($t:ty => $variant:ident as $wide:ty),* $(,)?) => {$(
        impl From<$t> for Number {
            fn from(v: $t) -> Number {
                Number::$variant(v as $wide)
            }
        }
    )*};
}
number_from! {
    bool => Bool as bool, i8 => Int as i64, i16 => Int as i64, i32 => Int as i64, i64 => Int as i64,
    u8 => Uint as u64, u16 => Uint as u64, u32 => Uint as u64, u64 => Uint as u64, f32 => Float as f64,
    f64 => Float as f64, usize => Uint as u64, isize => Int as i64,
}

impl From<half::f16> for Number {
    fn from(v: half::f16) -> Number {
        Number::Float(v.to_f64())
    }
}

impl From<half::bf16> for Number {
    fn from(v: half::bf16) -> Number {
        Number::Float(v.to_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_commutative_and_idempotent() {
        for a in DType::ALL {
            assert_eq!(a.promote(a), Some(a));
            for b in DType::ALL {
                assert_eq!(a.promote(b), b.promote(a), "{a} {b}");
            }
        }
    }

    #[test]
    fn promotion_follows_the_array_api() {
        use DType::*;
        for (a, b, want) in [
            (I8, U8, Some(I16)),
            (I32, U32, Some(I64)),
            (U8, I64, Some(I64)),
            (U64, I8, None),
            (F16, F64, Some(F64)),
            (F16, BF16, Some(F32)),
            (I64, F16, Some(F16)),
            (Bool, U8, Some(U8)),
        ] {
            assert_eq!(a.promote(b), want, "{a} {b}");
        }
    }

    #[test]
    fn casts_saturate_from_floats_and_wrap_from_integers() {
        assert_eq!(Number::Float(300.7).cast(DType::U8), Number::Uint(255));
        assert_eq!(Number::Float(-1e30).cast(DType::I16), Number::Int(i16::MIN as i64));
        assert_eq!(Number::Float(f64::NAN).cast(DType::I32), Number::Int(0));
        assert_eq!(Number::Int(300).cast(DType::U8), Number::Uint(44));
        assert_eq!(Number::Int(-1).cast(DType::U64), Number::Uint(u64::MAX));
        assert_eq!(Number::Float(1.0 + 1e-9).cast(DType::F32), Number::Float(1.0));
    }

    #[test]
    fn floats_round_once() {
        let tie = 1.0 + 2f64.powi(-11);
        for (value, dtype, want) in [
            (tie, DType::F16, 1.0),
            (tie + 2f64.powi(-45), DType::F16, 1.0 + 2f64.powi(-10)),
            (-tie - 2f64.powi(-45), DType::F16, -1.0 - 2f64.powi(-10)),
            (1.0 + 2f64.powi(-8) + 2f64.powi(-45), DType::BF16, 1.0 + 2f64.powi(-7)),
            (65519.99, DType::F16, 65504.0),
            (65520.0, DType::F16, f64::INFINITY),
            (2f64.powi(-25), DType::F16, 0.0),
            (2f64.powi(-25) * 1.0001, DType::F16, 2f64.powi(-24)),
            (3.395e38, DType::BF16, 3.3895313892515355e38),
            (2f64.powi(-133), DType::BF16, 2f64.powi(-133)),
            (1e-310, DType::BF16, 0.0),
        ] {
            assert_eq!(round_float(value, dtype), want, "{value} {dtype}");
        }
        assert!(round_float(-1e-310, DType::F16).is_sign_negative());
        assert!(round_float(f64::NAN, DType::F16).is_nan());
    }

    #[test]
    fn every_half_is_its_own_rounding() {
        for bits in 0..=u16::MAX {
            for (value, dtype) in [
                (half::f16::from_bits(bits).to_f64(), DType::F16),
                (half::bf16::from_bits(bits).to_f64(), DType::BF16),
            ] {
                assert!(
                    value.is_nan() || round_float(value, dtype).to_bits() == value.to_bits(),
                    "{value} {dtype}"
                );
            }
        }
    }

    #[test]
    fn integers_round_to_floats_once() {
        let above_tie = (1i64 << 60) + (1 << 36) + 1;
        assert_eq!(Number::Int(above_tie).cast(DType::F32), Number::Float(above_tie as f32 as f64));
        assert_eq!(Number::Int(-above_tie).cast(DType::F32), Number::Float(-(above_tie as f32 as f64)));
        assert_eq!(Number::Uint(u64::MAX).cast(DType::F32), Number::Float(2f64.powi(64)));
        assert_eq!(Number::Uint(u64::MAX - 1024).cast(DType::F64), Number::Float((u64::MAX - 1024) as f64));
        assert_eq!(
            Number::Int((1 << 60) + (1 << 52) + 1).cast(DType::BF16),
            Number::Float(2f64.powi(60) + 2f64.powi(53))
        );
        assert_eq!(Number::Int(i64::MIN).cast(DType::F32), Number::Float(-(2f64.powi(63))));
    }
}

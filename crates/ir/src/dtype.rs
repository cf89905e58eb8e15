//! Element types, their promotion, and single values of them.

use std::fmt;

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

/// The kinds that promotion and the op table speak of.
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

    /// The type in which scalar programs compute with elements of this dtype.
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

    /// The dtype that sums and products of this dtype accumulate into, as NumPy has it.
    pub const fn accumulator(self) -> DType {
        match self.kind() {
            Kind::Bool | Kind::Signed => DType::I64,
            Kind::Unsigned => DType::U64,
            Kind::Float => self,
        }
    }

    /// The dtype of a function whose result is a float by nature (`exp`, `mean`, true division).
    pub const fn to_float(self) -> DType {
        match self.kind() {
            Kind::Float => self,
            Kind::Bool | Kind::Unsigned | Kind::Signed => DType::F32,
        }
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

    /// The common dtype of two operands, by the array API's lattice extended to mixed kinds:
    /// bool yields to everything, integers yield to floats, `f16` with `bf16` gives `f32`.
    /// `u64` with a signed integer has no common integer type and gives `None`.
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

/// The types that scalar programs compute in. Narrower dtypes widen on load and narrow on store, so a
/// backend implements each scalar function for these seven only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarType {
    /// A truth value.
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

/// One number, in the widest form of its kind; a dtype says how it is to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating-point value.
    Float(f64),
}

impl Number {
    /// The nearest number that `dtype` can hold: integers wrap, floats to integers truncate and saturate
    /// (NaN becomes 0), floats round to nearest even.
    pub fn cast(self, dtype: DType) -> Number {
        match dtype.kind() {
            Kind::Bool => Number::Bool(match self {
                Number::Bool(b) => b,
                Number::Int(i) => i != 0,
                Number::Uint(u) => u != 0,
                Number::Float(f) => f != 0.0,
            }),
            Kind::Float => Number::Float(round_float(self.to_f64(), dtype)),
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

    /// The dtype that a bare literal of this kind has when nothing else decides.
    pub const fn default_dtype(self) -> DType {
        match self {
            Number::Bool(_) => DType::Bool,
            Number::Int(_) => DType::I64,
            Number::Uint(_) => DType::U64,
            Number::Float(_) => DType::F32,
        }
    }

    /// A key under which equal numbers, bit for bit, are equal.
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

/// `value` rounded to the precision of a float dtype.
pub fn round_float(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => half::f16::from_f64(value).to_f64(),
        DType::BF16 => half::bf16::from_f64(value).to_f64(),
        DType::F32 => value as f32 as f64,
        _ => value,
    }
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
}

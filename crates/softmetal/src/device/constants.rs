//! Function constants: values that specialise a kernel when its pipeline is created.

use crate::error::{Error, Result};
use crate::source::rewrite::ConstantValues;
use crate::source::unit::Unit;
use std::collections::BTreeMap;

/// A value of a function constant.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstantValue {
    /// `bool`
    Bool(bool),
    /// `char`
    Char(i8),
    /// `uchar`
    UChar(u8),
    /// `short`
    Short(i16),
    /// `ushort`
    UShort(u16),
    /// `int`
    Int(i32),
    /// `uint`
    UInt(u32),
    /// `long`
    Long(i64),
    /// `ulong`
    ULong(u64),
    /// `half`
    Half(half::f16),
    /// `float`
    Float(f32),
    /// A vector of two to four values of one kind.
    Vector(Vec<ConstantValue>),
}

impl ConstantValue {
    pub(crate) fn type_name(&self) -> String {
        match self {
            ConstantValue::Bool(_) => "bool".into(),
            ConstantValue::Char(_) => "char".into(),
            ConstantValue::UChar(_) => "uchar".into(),
            ConstantValue::Short(_) => "short".into(),
            ConstantValue::UShort(_) => "ushort".into(),
            ConstantValue::Int(_) => "int".into(),
            ConstantValue::UInt(_) => "uint".into(),
            ConstantValue::Long(_) => "long".into(),
            ConstantValue::ULong(_) => "ulong".into(),
            ConstantValue::Half(_) => "half".into(),
            ConstantValue::Float(_) => "float".into(),
            ConstantValue::Vector(v) => {
                format!("{}{}", v.first().map_or("?".into(), ConstantValue::type_name), v.len())
            }
        }
    }

    /// As LLVM spells it behind its type.
    pub(crate) fn llvm(&self) -> String {
        match self {
            ConstantValue::Bool(v) => u8::from(*v).to_string(),
            ConstantValue::Char(v) => v.to_string(),
            ConstantValue::UChar(v) => v.to_string(),
            ConstantValue::Short(v) => v.to_string(),
            ConstantValue::UShort(v) => v.to_string(),
            ConstantValue::Int(v) => v.to_string(),
            ConstantValue::UInt(v) => v.to_string(),
            ConstantValue::Long(v) => v.to_string(),
            ConstantValue::ULong(v) => v.to_string(),
            ConstantValue::Half(v) => format!("0xH{:04X}", v.to_bits()),
            // Single precision is spelt as the double of the same value.
            ConstantValue::Float(v) => format!("0x{:016X}", f64::from(*v).to_bits()),
            ConstantValue::Vector(v) => {
                let parts = v.iter().map(|e| format!("{} {}", e.llvm_type(), e.llvm()));
                format!("<{}>", parts.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn llvm_type(&self) -> &'static str {
        match self {
            ConstantValue::Bool(_) | ConstantValue::Char(_) | ConstantValue::UChar(_) => "i8",
            ConstantValue::Short(_) | ConstantValue::UShort(_) => "i16",
            ConstantValue::Long(_) | ConstantValue::ULong(_) => "i64",
            ConstantValue::Half(_) => "half",
            ConstantValue::Float(_) => "float",
            ConstantValue::Int(_) | ConstantValue::UInt(_) | ConstantValue::Vector(_) => "i32",
        }
    }

    /// Whether a constant of this type in the source takes the value.
    pub(crate) fn has_type(&self, type_name: &str) -> bool {
        same_type(type_name, self)
    }

    fn text(&self) -> String {
        match self {
            ConstantValue::Bool(v) => v.to_string(),
            ConstantValue::Char(v) => v.to_string(),
            ConstantValue::UChar(v) => v.to_string(),
            ConstantValue::Short(v) => v.to_string(),
            ConstantValue::UShort(v) => v.to_string(),
            // The most negative number has no literal of its own.
            ConstantValue::Int(v) => format!("int({v}l)"),
            ConstantValue::UInt(v) => format!("{v}u"),
            ConstantValue::Long(v) => format!("long({}ul)", *v as u64),
            ConstantValue::ULong(v) => format!("{v}ul"),
            ConstantValue::Half(v) => format!("__builtin_bit_cast(half, ushort({}))", v.to_bits()),
            ConstantValue::Float(v) => format!("__builtin_bit_cast(float, {}u)", v.to_bits()),
            ConstantValue::Vector(v) => format!(
                "{}({})",
                self.type_name(),
                v.iter().map(ConstantValue::text).collect::<Vec<_>>().join(", ")
            ),
        }
    }
}

/// The values given for a function, by index or by name.
#[derive(Debug, Clone, Default)]
pub struct FunctionConstants {
    by_index: BTreeMap<u32, ConstantValue>,
    by_name: BTreeMap<String, ConstantValue>,
    rest_is_zero: bool,
}

impl FunctionConstants {
    /// An empty set of values.
    pub fn new() -> FunctionConstants {
        FunctionConstants::default()
    }

    /// Sets the constant at an index.
    #[must_use]
    pub fn with(mut self, index: u32, value: ConstantValue) -> FunctionConstants {
        self.by_index.insert(index, value);
        self
    }

    /// Sets the constant of a name.
    #[must_use]
    pub fn with_name(mut self, name: &str, value: ConstantValue) -> FunctionConstants {
        self.by_name.insert(name.to_string(), value);
        self
    }

    /// Constants without a value are zero, instead of an error where a kernel needs them.
    #[must_use]
    pub fn with_rest_zero(mut self) -> FunctionConstants {
        self.rest_is_zero = true;
        self
    }

    /// Whether constants without a value are zero.
    pub(crate) fn rest_is_zero(&self) -> bool {
        self.rest_is_zero
    }

    /// The value for a constant, by its name or its index.
    pub(crate) fn value(&self, name: &str, index: u32) -> Option<&ConstantValue> {
        self.by_name.get(name).or_else(|| self.by_index.get(&index))
    }

    /// The names given.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.by_name.keys()
    }

    /// The C++ values for a unit. Values that no constant takes are ignored when given by index, as Metal does.
    pub(crate) fn resolve(&self, unit: &Unit, kernel: &str) -> Result<ConstantValues> {
        let mut out = ConstantValues::default();
        let fail = |message: String| Error::Constant { kernel: kernel.to_string(), message };
        for name in self.by_name.keys() {
            if !unit.constants.iter().any(|c| c.name == *name) {
                return Err(fail(format!("the library has no constant named `{name}`")));
            }
        }
        for c in &unit.constants {
            let Some(v) = self.by_name.get(&c.name).or_else(|| self.by_index.get(&c.index)) else { continue };
            if !same_type(&c.type_name, v) {
                return Err(fail(format!(
                    "`{}` (index {}) has type `{}`, but the value given is `{}`",
                    c.name,
                    c.index,
                    c.type_name,
                    v.type_name()
                )));
            }
            out.insert(c.name.clone(), v.text());
        }
        Ok(out)
    }
}

fn same_type(type_name: &str, v: &ConstantValue) -> bool {
    let normal = match type_name {
        "uint32_t" | "unsigned int" | "unsigned" => "uint",
        "int32_t" => "int",
        "uint16_t" | "unsigned short" => "ushort",
        "int16_t" => "short",
        "uint8_t" | "unsigned char" => "uchar",
        "int8_t" => "char",
        "uint64_t" | "unsigned long" | "size_t" => "ulong",
        "int64_t" => "long",
        t => t,
    };
    let known = ["bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float"];
    let base = normal.trim_end_matches(|d: char| d.is_ascii_digit());
    // A typedef of the user's is left to the compiler.
    !known.contains(&base) || normal == v.type_name()
}

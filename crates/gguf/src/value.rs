//! Metadata values, read in place.

use crate::cursor::Cursor;
use crate::error::{Error, Result};

macro_rules! value_types {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $size:literal;)*) => {
        /// The type of a metadata value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ValueType { $($(#[$doc])* $name,)* }

        impl ValueType {
            pub(crate) fn from_id(id: u32) -> Option<ValueType> {
                match id { $($id => Some(ValueType::$name),)* _ => None }
            }

            pub(crate) fn id(self) -> u32 {
                match self { $(ValueType::$name => $id,)* }
            }

            /// Bytes per value; for strings and arrays, of their shortest form.
            pub(crate) fn least_bytes(self) -> u64 {
                match self { $(ValueType::$name => $size,)* }
            }
        }
    };
}

value_types! {
    /// 8 bits, unsigned.
    U8 = 0, 1;
    /// 8 bits, signed.
    I8 = 1, 1;
    /// 16 bits, unsigned.
    U16 = 2, 2;
    /// 16 bits, signed.
    I16 = 3, 2;
    /// 32 bits, unsigned.
    U32 = 4, 4;
    /// 32 bits, signed.
    I32 = 5, 4;
    /// 32-bit float.
    F32 = 6, 4;
    /// One byte, 0 or 1.
    Bool = 7, 1;
    /// Bytes, nearly always UTF-8.
    String = 8, 8;
    /// Values of one type.
    Array = 9, 12;
    /// 64 bits, unsigned.
    U64 = 10, 8;
    /// 64 bits, signed.
    I64 = 11, 8;
    /// 64-bit float.
    F64 = 12, 8;
}

/// A metadata value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Any unsigned integer, with its type.
    Unsigned(u64, ValueType),
    /// Any signed integer, with its type.
    Signed(i64, ValueType),
    /// A float, with its type.
    Float(f64, ValueType),
    /// A boolean.
    Bool(bool),
    /// A string, as bytes, because vocabularies contain partial characters.
    String(&'a [u8]),
    /// An array of values of one type.
    Array(Array<'a>),
}

/// An array of values of one type, parsed lazily.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array<'a> {
    /// Type of the elements.
    pub element: ValueType,
    len: usize,
    bytes: &'a [u8],
}

/// Maximum nesting of arrays; real files have none.
const MAX_DEPTH: usize = 4;

impl<'a> Value<'a> {
    pub(crate) fn parse(
        kind: ValueType,
        cursor: &mut Cursor<'a>,
        depth: usize,
        key: &str,
    ) -> Result<Value<'a>> {
        let what = || format!("value of '{key}'");
        let at = cursor.position() as u64;
        let invalid = |problem: String| Error::Invalid { what: format!("value of '{key}'"), at, problem };
        let fixed = |cursor: &mut Cursor<'a>| -> Result<u64> {
            let mut bytes = [0u8; 8];
            let raw = cursor.take(kind.least_bytes(), &what)?;
            bytes[..raw.len()].copy_from_slice(raw);
            Ok(u64::from_le_bytes(bytes))
        };
        Ok(match kind {
            ValueType::U8 | ValueType::U16 | ValueType::U32 | ValueType::U64 => {
                Value::Unsigned(fixed(cursor)?, kind)
            }
            ValueType::I8 => Value::Signed(i64::from(fixed(cursor)? as u8 as i8), kind),
            ValueType::I16 => Value::Signed(i64::from(fixed(cursor)? as u16 as i16), kind),
            ValueType::I32 => Value::Signed(i64::from(fixed(cursor)? as u32 as i32), kind),
            ValueType::I64 => Value::Signed(fixed(cursor)? as i64, kind),
            ValueType::F32 => Value::Float(f64::from(f32::from_bits(fixed(cursor)? as u32)), kind),
            ValueType::F64 => Value::Float(f64::from_bits(fixed(cursor)?), kind),
            ValueType::Bool => match fixed(cursor)? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                other => return Err(invalid(format!("a bool must be 0 or 1, not {other}"))),
            },
            ValueType::String => Value::String(cursor.string(&what)?),
            ValueType::Array => Value::Array(Array::parse(cursor, depth, key)?),
        })
    }

    /// The type of the value.
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::Unsigned(_, t) | Value::Signed(_, t) | Value::Float(_, t) => *t,
            Value::Bool(_) => ValueType::Bool,
            Value::String(_) => ValueType::String,
            Value::Array(_) => ValueType::Array,
        }
    }

    /// A non-negative integer of any width.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Unsigned(v, _) => Some(*v),
            Value::Signed(v, _) => u64::try_from(*v).ok(),
            _ => None,
        }
    }

    /// An integer of any width.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Unsigned(v, _) => i64::try_from(*v).ok(),
            Value::Signed(v, _) => Some(*v),
            _ => None,
        }
    }

    /// A float, or an integer as a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float(v, _) => Some(*v),
            Value::Unsigned(v, _) => Some(*v as f64),
            Value::Signed(v, _) => Some(*v as f64),
            _ => None,
        }
    }

    /// A boolean.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(v) = self { Some(*v) } else { None }
    }

    /// A UTF-8 string.
    pub fn as_str(&self) -> Option<&'a str> {
        if let Value::String(v) = self { std::str::from_utf8(v).ok() } else { None }
    }

    /// The bytes of a string.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        if let Value::String(v) = self { Some(v) } else { None }
    }

    /// An array.
    pub fn as_array(&self) -> Option<Array<'a>> {
        if let Value::Array(v) = self { Some(*v) } else { None }
    }

    /// A description of the type for errors: `"an array of 12 F32"`.
    pub fn describe(&self) -> String {
        match self {
            Value::Array(a) => format!("an array of {} {:?}", a.len, a.element),
            other => format!("{:?}", other.value_type()),
        }
    }
}

impl<'a> Array<'a> {
    fn parse(cursor: &mut Cursor<'a>, depth: usize, key: &str) -> Result<Array<'a>> {
        let what = || format!("array of '{key}'");
        let at = cursor.position() as u64;
        let invalid = |problem: String| Error::Invalid { what: format!("array of '{key}'"), at, problem };
        if depth >= MAX_DEPTH {
            return Err(invalid(format!("arrays are nested deeper than {MAX_DEPTH}")));
        }
        let id = cursor.u32(&what)?;
        let element = ValueType::from_id(id).ok_or_else(|| invalid(format!("unknown element type {id}")))?;
        let len = cursor.count(element.least_bytes(), &what)?;
        let start = cursor.position();
        match element {
            ValueType::String | ValueType::Array | ValueType::Bool => {
                for _ in 0..len {
                    Value::parse(element, cursor, depth + 1, key)?;
                }
            }
            _ => {
                cursor.take(len as u64 * element.least_bytes(), &what)?;
            }
        }
        Ok(Array { element, len, bytes: cursor.since(start) })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements, in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.bytes);
        let element = self.element;
        // The bytes were walked once when the file was read, so parsing them again gives `len` values.
        (0..self.len).map_while(move |_| Value::parse(element, &mut cursor, 0, "").ok())
    }
}

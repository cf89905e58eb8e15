//! `NSNumber`.

use super::NSNUMBER;
use crate::abi::{Bool, Id, methods};
use crate::objc::object::{self, Strong};

/// What a number holds.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer.
    Integer(i128),
    /// A float.
    Float(f64),
}

impl Number {
    fn integer(self) -> i128 {
        match self {
            Number::Integer(v) => v,
            Number::Float(v) => v as i128,
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Integer(v) => v as f64,
            Number::Float(v) => v,
        }
    }
}

/// A new number.
pub fn make(value: Number) -> Strong {
    Strong::new(&NSNUMBER, value)
}

/// Whether two numbers are equal; false of other objects.
pub fn equal(a: Id, b: Id) -> bool {
    match (a.get::<Number>(), b.get::<Number>()) {
        (Some(a), Some(b)) => a.float() == b.float() && a.integer() == b.integer(),
        _ => false,
    }
}

/// The number's text, for macros.
pub fn text(id: Id) -> Option<String> {
    id.get::<Number>().map(|n| match n {
        Number::Integer(v) => v.to_string(),
        Number::Float(v) => v.to_string(),
    })
}

fn own(this: Id) -> Number {
    *this.expect::<Number>("the number")
}

fn integer(value: impl Into<i128>) -> Id {
    make(Number::Integer(value.into())).autoreleased()
}

methods! { pub NUMBER;
    "initWithInt:" (this, v: i32) -> Id { object::fill(this, Number::Integer(v.into())) }
    "initWithBool:" (this, v: Bool) -> Id { object::fill(this, Number::Integer(v.0.into())) }
    "boolValue" (this) -> Bool { (own(this).float() != 0.0).into() }
    "intValue" (this) -> i32 { own(this).integer() as i32 }
    "unsignedIntValue" (this) -> u32 { own(this).integer() as u32 }
    "integerValue" (this) -> isize { own(this).integer() as isize }
    "unsignedIntegerValue" (this) -> usize { own(this).integer() as usize }
    "longLongValue" (this) -> i64 { own(this).integer() as i64 }
    "unsignedLongLongValue" (this) -> u64 { own(this).integer() as u64 }
    "floatValue" (this) -> f32 { own(this).float() as f32 }
    "doubleValue" (this) -> f64 { own(this).float() }
    "isEqualToNumber:" (this, other: Id) -> Bool { equal(this, other).into() }
    "isEqual:" (this, other: Id) -> Bool { equal(this, other).into() }
    "hash" (this) -> usize { own(this).integer() as usize }
    "stringValue" (this) -> Id { super::string::make(text(this).unwrap_or_default()).autoreleased() }
    "description" (this) -> Id { super::string::make(text(this).unwrap_or_default()).autoreleased() }
}

methods! { pub NUMBER_CLASS;
    "numberWithBool:" (this, v: Bool) -> Id { integer(v.0) }
    "numberWithInt:" (this, v: i32) -> Id { integer(v) }
    "numberWithUnsignedInt:" (this, v: u32) -> Id { integer(v) }
    "numberWithInteger:" (this, v: isize) -> Id { integer(v as i64) }
    "numberWithUnsignedInteger:" (this, v: usize) -> Id { integer(v as u64) }
    "numberWithLong:" (this, v: i64) -> Id { integer(v) }
    "numberWithUnsignedLong:" (this, v: u64) -> Id { integer(v) }
    "numberWithLongLong:" (this, v: i64) -> Id { integer(v) }
    "numberWithUnsignedLongLong:" (this, v: u64) -> Id { integer(v) }
    "numberWithFloat:" (this, v: f32) -> Id { make(Number::Float(v.into())).autoreleased() }
    "numberWithDouble:" (this, v: f64) -> Id { make(Number::Float(v)).autoreleased() }
}

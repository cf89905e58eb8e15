//! Values of function constants.

use crate::abi::{Id, NSRange, methods};
use crate::foundation::string;
use crate::objc::object;
use crate::report::raise;
use half::f16;
use parking_lot::Mutex;
use softmetal::{ConstantValue, FunctionConstants};
use std::ffi::c_void;

/// What is set so far.
#[derive(Debug, Default)]
pub struct Values(Mutex<FunctionConstants>);

impl Values {
    /// The values as SoftMetal takes them.
    pub fn current(&self) -> FunctionConstants {
        self.0.lock().clone()
    }
}

/// Kinds of `MTLDataType`: the first number of a row of scalar and vectors of two, three and four.
const ROWS: [(usize, usize); 11] =
    [(3, 4), (16, 2), (29, 4), (33, 4), (37, 2), (41, 2), (45, 1), (49, 1), (53, 1), (81, 8), (85, 8)];

/// The value of a type at a place, and its size.
fn read(start: *const c_void, kind: usize) -> (ConstantValue, usize) {
    let Some(&(first, size)) = ROWS.iter().find(|(first, _)| (*first..first + 4).contains(&kind)) else {
        raise(format!("MTLDataType {kind} is not a type of function constants"));
    };
    if start.is_null() {
        raise("the value must not be null");
    }
    let one = |i: usize| {
        let at = start.wrapping_byte_add(i * size);
        // SAFETY: the sender gave a value of the type that it named.
        unsafe {
            match first {
                3 => ConstantValue::Float(at.cast::<f32>().read_unaligned()),
                16 => ConstantValue::Half(f16::from_bits(at.cast::<u16>().read_unaligned())),
                29 => ConstantValue::Int(at.cast::<i32>().read_unaligned()),
                33 => ConstantValue::UInt(at.cast::<u32>().read_unaligned()),
                37 => ConstantValue::Short(at.cast::<i16>().read_unaligned()),
                41 => ConstantValue::UShort(at.cast::<u16>().read_unaligned()),
                45 => ConstantValue::Char(at.cast::<i8>().read()),
                49 => ConstantValue::UChar(at.cast::<u8>().read()),
                53 => ConstantValue::Bool(at.cast::<u8>().read() != 0),
                81 => ConstantValue::Long(at.cast::<i64>().read_unaligned()),
                _ => ConstantValue::ULong(at.cast::<u64>().read_unaligned()),
            }
        }
    };
    let lanes = kind - first + 1;
    if lanes == 1 {
        return (one(0), size);
    }
    // Vectors of three take the room of four.
    (ConstantValue::Vector((0..lanes).map(one).collect()), size * if lanes == 3 { 4 } else { lanes })
}

fn own(this: Id) -> &'static Values {
    this.expect::<Values>("the values")
}

fn update(this: Id, change: impl FnOnce(FunctionConstants) -> FunctionConstants) {
    let mut values = own(this).0.lock();
    *values = change(std::mem::take(&mut values));
}

methods! { pub VALUES;
    "init" (this) -> Id { object::fill(this, Values::default()) }
    "setConstantValue:type:atIndex:" (this, start: *const c_void, kind: usize, index: usize) {
        let (value, _) = read(start, kind);
        update(this, |values| values.with(index as u32, value));
    }
    "setConstantValue:type:withName:" (this, start: *const c_void, kind: usize, name: Id) {
        let (value, _) = read(start, kind);
        let name = string::expect(name, "the name");
        update(this, |values| values.with_name(&name, value));
    }
    "setConstantValues:type:withRange:" (this, start: *const c_void, kind: usize, range: NSRange) {
        let mut at = start;
        for index in range.location..range.location + range.length {
            let (value, size) = read(at, kind);
            update(this, |values| values.with(index as u32, value));
            at = at.wrapping_byte_add(size);
        }
    }
    "reset" (this) { update(this, |_| FunctionConstants::new()); }
    "copy" (this) -> Id {
        object::Strong::new(&super::CONSTANT_VALUES, Values(Mutex::new(own(this).current()))).into_owned()
    }
}

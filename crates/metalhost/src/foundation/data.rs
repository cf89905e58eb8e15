//! `NSData`.

use super::{NSDATA, string};
use crate::abi::{Id, methods};
use crate::objc::object::{self, Strong};
use std::ffi::c_void;

/// What an object of bytes holds.
#[derive(Debug)]
pub struct NsData(pub Vec<u8>);

fn copied(start: *const c_void, length: usize) -> NsData {
    if length == 0 {
        return NsData(Vec::new());
    }
    // SAFETY: the sender gave so many bytes.
    NsData(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) }.to_vec())
}

methods! { pub DATA;
    "init" (this) -> Id { object::fill(this, NsData(Vec::new())) }
    "initWithBytes:length:" (this, start: *const c_void, length: usize) -> Id { object::fill(this, copied(start, length)) }
    "bytes" (this) -> *const c_void { this.expect::<NsData>("the data").0.as_ptr().cast() }
    "length" (this) -> usize { this.expect::<NsData>("the data").0.len() }
}

methods! { pub DATA_CLASS;
    "dataWithBytes:length:" (this, start: *const c_void, length: usize) -> Id {
        Strong::new(&NSDATA, copied(start, length)).autoreleased()
    }
    "dataWithContentsOfFile:" (this, path: Id) -> Id {
        match std::fs::read(string::expect(path, "the path")) {
            Ok(bytes) => Strong::new(&NSDATA, NsData(bytes)).autoreleased(),
            Err(_) => Id::NIL,
        }
    }
}

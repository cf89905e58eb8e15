//! `NSString` and `NSMutableString`.

use super::{CONSTANT_STRING, CONSTANT_STRING_REFERENCE, NSMUTABLE_STRING, NSSTRING, array, root, scan};
use crate::abi::{Bool, Id, NSRange, Text, methods};
use crate::objc::class::{self, Class};
use crate::objc::object::{self, Strong};
use crate::report::raise;
use parking_lot::RwLock;
use std::ffi::{CStr, CString, c_char, c_void};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::OnceLock;

/// What a string holds.
#[derive(Debug)]
pub struct NsString {
    text: RwLock<String>,
    /// For C, once somebody asked; strings that change give copies.
    c: OnceLock<CString>,
}

impl NsString {
    fn new(text: String) -> NsString {
        NsString { text: RwLock::new(text), c: OnceLock::new() }
    }
}

/// A string that a compiler laid out.
#[repr(C)]
pub struct Constant {
    isa: *const Class,
    flags: usize,
    start: *const u8,
    length: usize,
}

// SAFETY: constants never change, and what they point to neither.
unsafe impl Sync for Constant {}

impl Constant {
    /// A literal of ASCII characters.
    pub const fn new(class: &'static Class, text: &'static CStr) -> Constant {
        const PLAIN_BYTES: usize = 0x07c8;
        let bytes = text.to_bytes();
        Constant { isa: class, flags: PLAIN_BYTES, start: bytes.as_ptr(), length: bytes.len() }
    }
}

/// A new string.
pub fn make(text: impl Into<String>) -> Strong {
    Strong::new(&NSSTRING, NsString::new(text.into()))
}

fn constant(id: Id) -> Option<&'static [u8]> {
    let class = class::of(id);
    if !std::ptr::eq(class, &CONSTANT_STRING) && !std::ptr::eq(class, &CONSTANT_STRING_REFERENCE) {
        return None;
    }
    // SAFETY: instances of the class are what compilers lay out, with a zero behind the text.
    unsafe {
        let constant = &*id.0.cast::<Constant>();
        Some(std::slice::from_raw_parts(constant.start, constant.length))
    }
}

/// The text of a string; none of another object.
pub fn text(id: Id) -> Option<String> {
    if id.is_nil() {
        return None;
    }
    match constant(id) {
        Some(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        None => id.get::<NsString>().map(|s| s.text.read().clone()),
    }
}

/// The text of an argument that must be a string.
pub fn expect(id: Id, what: &str) -> String {
    if id.is_nil() {
        raise(format!("{what} must not be nil"));
    }
    text(id).unwrap_or_else(|| raise(format!("{what} is of class {}, not a string", class::name_of(id))))
}

fn c_text(id: Id) -> *const c_char {
    if let Some(bytes) = constant(id) {
        return bytes.as_ptr().cast();
    }
    if std::ptr::eq(class::of(id), &NSMUTABLE_STRING) {
        return c_text(make(own(id)).autoreleased());
    }
    let string = id.expect::<NsString>("the string");
    string.c.get_or_init(|| CString::new(string.text.read().replace('\0', "")).unwrap_or_default()).as_ptr()
}

fn from_c(start: Text) -> String {
    if start.0.is_null() {
        raise("a C string must not be null");
    }
    // SAFETY: the sender gave a C string.
    unsafe { CStr::from_ptr(start.0) }.to_string_lossy().into_owned()
}

fn own(this: Id) -> String {
    text(this).unwrap_or_default()
}

/// A new string of the class that was asked, which may be that of strings that change.
fn class_new(class: Id, text: String) -> Id {
    // SAFETY: the receiver of a class method is a class.
    Strong::new(unsafe { &*class.0.cast::<Class>() }, NsString::new(text)).autoreleased()
}

/// The part of a text in units of UTF-16, as ranges count.
fn part(this: Id, range: NSRange) -> String {
    let units: Vec<u16> = own(this).encode_utf16().collect();
    let part = units.get(range.location..range.location.saturating_add(range.length));
    String::from_utf16_lossy(part.unwrap_or_else(|| raise(format!("{range:?} is beyond the end"))))
}

/// A path without `.`, `..` and doubled slashes.
fn standard(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|p| !p.is_empty() && *p != ".") {
        match (part, parts.last()) {
            ("..", Some(&last)) if last != ".." => {
                parts.pop();
            }
            ("..", None) if path.starts_with('/') => {}
            _ => parts.push(part),
        }
    }
    format!("{}{}", if path.starts_with('/') { "/" } else { "" }, parts.join("/"))
}

methods! { pub STRING;
    "init" (this) -> Id { object::fill(this, NsString::new(String::new())) }
    "initWithBytes:length:encoding:" (this, start: *const c_void, length: usize, _encoding: i32) -> Id {
        let bytes = if length == 0 { &[] } else {
            // SAFETY: the sender gave so many bytes.
            unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) }
        };
        object::fill(this, NsString::new(String::from_utf8_lossy(bytes).into_owned()))
    }
    "initWithUTF8String:" (this, start: Text) -> Id { object::fill(this, NsString::new(from_c(start))) }
    "initWithCString:encoding:" (this, start: Text, _encoding: usize) -> Id { object::fill(this, NsString::new(from_c(start))) }
    "initWithString:" (this, other: Id) -> Id { object::fill(this, NsString::new(expect(other, "the string"))) }
    "UTF8String" (this) -> Text { Text(c_text(this)) }
    "cStringUsingEncoding:" (this, _encoding: usize) -> Text { Text(c_text(this)) }
    "fileSystemRepresentation" (this) -> Text { Text(c_text(this)) }
    "length" (this) -> usize { own(this).encode_utf16().count() }
    "lengthOfBytesUsingEncoding:" (this, _encoding: i32) -> usize { own(this).len() }
    "characterAtIndex:" (this, index: usize) -> u16 {
        own(this).encode_utf16().nth(index).unwrap_or_else(|| raise(format!("index {index} is beyond the end")))
    }
    "isEqualToString:" (this, other: Id) -> Bool { (text(this) == text(other)).into() }
    "isEqual:" (this, other: Id) -> Bool { root::equal(this, other).into() }
    "hash" (this) -> usize { BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(own(this)) as usize }
    "compare:" (this, other: Id) -> isize { own(this).cmp(&expect(other, "the string")) as isize }
    "hasPrefix:" (this, part: Id) -> Bool { own(this).starts_with(&expect(part, "the prefix")).into() }
    "hasSuffix:" (this, part: Id) -> Bool { own(this).ends_with(&expect(part, "the suffix")).into() }
    "containsString:" (this, part: Id) -> Bool { own(this).contains(&expect(part, "the part")).into() }
    "description" (this) -> Id { Strong::of(this).autoreleased() }
    "copy" (this) -> Id {
        if std::ptr::eq(class::of(this), &NSMUTABLE_STRING) { make(own(this)).into_owned() } else { object::retain(this) }
    }
    "mutableCopy" (this) -> Id { Strong::new(&NSMUTABLE_STRING, NsString::new(own(this))).into_owned() }
    "stringByAppendingString:" (this, more: Id) -> Id { make(own(this) + &expect(more, "the string")).autoreleased() }
    "stringByAppendingPathComponent:" (this, more: Id) -> Id {
        make(format!("{}/{}", own(this).trim_end_matches('/'), expect(more, "the component"))).autoreleased()
    }
    "stringByDeletingLastPathComponent" (this) -> Id {
        let text = own(this);
        make(text.rsplit_once('/').map_or("", |(folder, _)| folder)).autoreleased()
    }
    "componentsSeparatedByString:" (this, separator: Id) -> Id {
        let separator = expect(separator, "the separator");
        array::make(own(this).split(&separator).map(make).collect()).autoreleased()
    }
    "stringByReplacingOccurrencesOfString:withString:" (this, old: Id, new: Id) -> Id {
        make(own(this).replace(&expect(old, "the target"), &expect(new, "the replacement"))).autoreleased()
    }
    "stringByAppendingPathExtension:" (this, kind: Id) -> Id {
        make(format!("{}.{}", own(this).trim_end_matches('/'), expect(kind, "the extension"))).autoreleased()
    }
    "stringByStandardizingPath" (this) -> Id { make(standard(&own(this))).autoreleased() }
    "lastPathComponent" (this) -> Id {
        make(own(this).trim_end_matches('/').rsplit('/').next().unwrap_or_default()).autoreleased()
    }
    "stringByTrimmingCharactersInSet:" (this, set: Id) -> Id {
        let set = scan::characters(set);
        make(own(this).trim_matches(|c| set.contains(c))).autoreleased()
    }
    "rangeOfString:" (this, wanted: Id) -> NSRange {
        let (text, wanted) = (own(this), expect(wanted, "the string"));
        match text.find(&wanted).filter(|_| !wanted.is_empty()) {
            Some(at) => NSRange { location: text[..at].encode_utf16().count(), length: wanted.encode_utf16().count() },
            None => NSRange { location: isize::MAX as usize, length: 0 },
        }
    }
    "substringWithRange:" (this, range: NSRange) -> Id { make(part(this, range)).autoreleased() }
    "substringToIndex:" (this, end: usize) -> Id { make(part(this, NSRange { location: 0, length: end })).autoreleased() }
    "substringFromIndex:" (this, start: usize) -> Id {
        let length = own(this).encode_utf16().count().saturating_sub(start);
        make(part(this, NSRange { location: start, length })).autoreleased()
    }
    "intValue" (this) -> i32 { own(this).trim().parse().unwrap_or(0) }
    "integerValue" (this) -> isize { own(this).trim().parse().unwrap_or(0) }
    "floatValue" (this) -> f32 { own(this).trim().parse().unwrap_or(0.0) }
    "doubleValue" (this) -> f64 { own(this).trim().parse().unwrap_or(0.0) }
}

methods! { pub STRING_CLASS;
    "string" (this) -> Id { class_new(this, String::new()) }
    "stringWithUTF8String:" (this, start: Text) -> Id { class_new(this, from_c(start)) }
    "stringWithCString:encoding:" (this, start: Text, _encoding: usize) -> Id { make(from_c(start)).autoreleased() }
    "stringWithString:" (this, other: Id) -> Id { class_new(this, expect(other, "the string")) }
    "pathWithComponents:" (this, parts: Id) -> Id {
        let parts: Vec<String> = array::items(parts).iter().map(|part| expect(part.id(), "the component")).collect();
        make(standard(&parts.join("/"))).autoreleased()
    }
    "stringWithContentsOfFile:encoding:error:" (this, path: Id, _encoding: usize, out: crate::abi::Out) -> Id {
        let path = expect(path, "the path");
        match std::fs::read_to_string(&path) {
            Ok(text) => make(text).autoreleased(),
            Err(e) => {
                out.set(super::error::make("NSCocoaErrorDomain", 260, format!("{path}: {e}")).autoreleased());
                Id::NIL
            }
        }
    }
}

methods! { pub MUTABLE;
    "initWithCapacity:" (this, _capacity: usize) -> Id { object::fill(this, NsString::new(String::new())) }
    "appendString:" (this, more: Id) {
        let more = expect(more, "the string");
        this.expect::<NsString>("the string").text.write().push_str(&more);
    }
    "setString:" (this, other: Id) {
        let other = expect(other, "the string");
        *this.expect::<NsString>("the string").text.write() = other;
    }
}

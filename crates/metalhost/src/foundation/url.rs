//! `NSURL`, for files.

use super::{NSURL, string};
use crate::abi::{Bool, Id, Text, methods};
use crate::objc::object::{self, Strong};

/// What an address holds: a path.
#[derive(Debug)]
pub struct NsUrl(String);

/// A new address of a file.
pub fn make(path: impl Into<String>) -> Strong {
    Strong::new(&NSURL, NsUrl(path.into()))
}

/// The path of an argument that must be an address.
pub fn expect(id: Id, what: &str) -> String {
    id.expect::<NsUrl>(what).0.clone()
}

fn plain(text: String) -> String {
    text.strip_prefix("file://").map_or(text.clone(), str::to_string)
}

methods! { pub URL;
    "initFileURLWithPath:" (this, path: Id) -> Id { object::fill(this, NsUrl(string::expect(path, "the path"))) }
    "initWithString:" (this, text: Id) -> Id { object::fill(this, NsUrl(plain(string::expect(text, "the address")))) }
    "path" (this) -> Id { string::make(expect(this, "the address")).autoreleased() }
    "absoluteString" (this) -> Id { string::make(format!("file://{}", expect(this, "the address"))).autoreleased() }
    "fileSystemRepresentation" (this) -> Text {
        let path = string::make(expect(this, "the address")).autoreleased();
        // SAFETY: strings answer with a C string, which the pool frees.
        unsafe { crate::objc::message::send(path, crate::objc::selector::register(b"UTF8String")) }
    }
    "isFileURL" (this) -> Bool { true.into() }
    "URLByAppendingPathComponent:" (this, part: Id) -> Id {
        let part = string::expect(part, "the component");
        make(format!("{}/{part}", expect(this, "the address").trim_end_matches('/'))).autoreleased()
    }
    "lastPathComponent" (this) -> Id {
        let path = expect(this, "the address");
        string::make(path.rsplit('/').next().unwrap_or("")).autoreleased()
    }
}

methods! { pub URL_CLASS;
    "fileURLWithPath:" (this, path: Id) -> Id { make(string::expect(path, "the path")).autoreleased() }
    "fileURLWithPath:isDirectory:" (this, path: Id, _folder: Bool) -> Id { make(string::expect(path, "the path")).autoreleased() }
    "URLWithString:" (this, text: Id) -> Id { make(plain(string::expect(text, "the address"))).autoreleased() }
}

//! `NSURL`, for files.

use super::{NSURL, string};
use crate::abi::{Bool, Id, Text, methods};
use crate::objc::object::{self, Strong};
use std::ffi::CStr;

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
    "initFileURLWithFileSystemRepresentation:isDirectory:relativeToURL:" (this, path: Text, _folder: Bool, base: Id) -> Id {
        // SAFETY: the sender gave a C string.
        let path = unsafe { CStr::from_ptr(path.0) }.to_string_lossy().into_owned();
        let above = if path.starts_with('/') {
            String::new()
        } else if base.is_nil() {
            std::env::current_dir().map_or(String::new(), |folder| format!("{}/", folder.display()))
        } else {
            format!("{}/", expect(base, "the base").trim_end_matches('/'))
        };
        object::fill(this, NsUrl(above + &path))
    }
    "getFileSystemRepresentation:maxLength:" (this, buffer: Text, most: usize) -> Bool {
        let path = expect(this, "the address");
        let fits = path.len() < most;
        if fits {
            // SAFETY: the sender gave so many bytes, and the path is shorter.
            unsafe {
                std::ptr::copy_nonoverlapping(path.as_ptr(), buffer.0.cast_mut().cast(), path.len());
                buffer.0.cast_mut().add(path.len()).write(0);
            }
        }
        fits.into()
    }
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

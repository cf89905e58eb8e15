//! Types of message arguments and results, with their Objective-C type encodings.

use crate::objc::class::Class;
use std::ffi::{c_char, c_void};

/// An object of any class, or nil.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Id(pub *mut c_void);

// SAFETY: a plain address; whoever follows it answers for the object.
unsafe impl Send for Id {}
// SAFETY: a plain address; whoever follows it answers for the object.
unsafe impl Sync for Id {}

impl Id {
    /// No object.
    pub const NIL: Id = Id(std::ptr::null_mut());

    /// Whether this is no object.
    pub fn is_nil(self) -> bool {
        self.0.is_null()
    }
}

/// A selector: the address of its only copy as a C string.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Sel(pub *const c_char);

// SAFETY: selectors live as long as the process and never change.
unsafe impl Send for Sel {}
// SAFETY: selectors live as long as the process and never change.
unsafe impl Sync for Sel {}

/// Objective-C's boolean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Bool(pub u8);

impl From<bool> for Bool {
    fn from(value: bool) -> Bool {
        Bool(u8::from(value))
    }
}

/// A block, or nil.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Block(pub *mut c_void);

/// Where an error is stored, or null.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out(pub *mut Id);

impl Out {
    /// Stores an object, which the caller does not own.
    pub fn set(self, value: Id) {
        if !self.0.is_null() {
            // SAFETY: the caller of the message gave a place for an object.
            unsafe { self.0.write(value) };
        }
    }
}

/// A C string.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text(pub *const c_char);

/// Metal's three extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct MTLSize {
    /// x
    pub width: usize,
    /// y
    pub height: usize,
    /// z
    pub depth: usize,
}

/// A start and a length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct NSRange {
    /// Where it starts.
    pub location: usize,
    /// How long it is.
    pub length: usize,
}

/// The size and the alignment that a resource takes in a heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct MTLSizeAndAlign {
    /// Bytes.
    pub size: usize,
    /// Bytes.
    pub align: usize,
}

/// A type of a message's arguments or result.
pub trait Encode {
    /// Its encoding.
    const ENCODING: &'static str;
}

macro_rules! encode {
    ($($type:ty => $encoding:literal),* $(,)?) => {
        $(impl Encode for $type { const ENCODING: &'static str = $encoding; })*
    };
}

encode! {
    () => "v", Id => "@", Sel => ":", Bool => "C", Block => "@?", Out => "^@", Text => "*",
    usize => "Q", isize => "q", u64 => "Q", i64 => "q", u32 => "I", i32 => "i", u16 => "S", f64 => "d", f32 => "f",
    *mut c_void => "^v", *const c_void => "^v", *const Id => "^@", *const u16 => "^S", &'static Class => "#",
    *const usize => "^Q", *const NSRange => "^{_NSRange=QQ}",
    MTLSize => "{?=QQQ}", NSRange => "{_NSRange=QQ}", MTLSizeAndAlign => "{?=QQ}",
}

/// One row of the method table.
pub struct MethodSpec {
    /// The selector.
    pub selector: &'static str,
    /// Encodings of the result and of the arguments after receiver and selector.
    pub types: &'static [&'static str],
    /// The function.
    pub imp: *const (),
}

// SAFETY: rows are constants.
unsafe impl Sync for MethodSpec {}

/// Rows of the method table: `"selector:" (this, argument: Type) -> Type { … }`.
macro_rules! methods {
    ($(#[$meta:meta])* $vis:vis $name:ident; $($selector:literal ($this:ident $(, $arg:ident : $type:ty)*) $(-> $ret:ty)? $body:block)*) => {
        $(#[$meta])*
        $vis static $name: &[$crate::abi::MethodSpec] = &[$({
            extern "C-unwind" fn imp($this: $crate::abi::Id, selector: $crate::abi::Sel $(, $arg: $type)*) $(-> $ret)? {
                let _call = $crate::report::Call::enter($this, selector);
                let _ = $this;
                $body
            }
            $crate::abi::MethodSpec {
                selector: $selector,
                types: &[$crate::abi::methods!(@result $($ret)?) $(, <$type as $crate::abi::Encode>::ENCODING)*],
                imp: imp as *const (),
            }
        }),*];
    };
    (@result) => { "v" };
    (@result $ret:ty) => { <$ret as $crate::abi::Encode>::ENCODING };
}
pub(crate) use methods;

//! Foundation's string constants, laid out as compilers lay out literals.
#![allow(non_upper_case_globals, reason = "the names are Foundation's")]

use super::CONSTANT_STRING_REFERENCE;
use super::string::Constant;
use crate::abi::Id;

macro_rules! names {
    ($($(#[$meta:meta])* $symbol:ident = $text:literal;)*) => {
        $(
            $(#[$meta])*
            #[unsafe(no_mangle)]
            pub static $symbol: Id = {
                static LITERAL: Constant = Constant::new(&CONSTANT_STRING_REFERENCE, $text);
                Id(std::ptr::from_ref(&LITERAL).cast_mut().cast())
            };
        )*
    };
}

names! {
    /// The key of an error's description.
    NSLocalizedDescriptionKey = c"NSLocalizedDescription";
    /// The key of a file's kind.
    NSFileType = c"NSFileType";
    /// A plain file.
    NSFileTypeRegular = c"NSFileTypeRegular";
    /// A symbolic link.
    NSFileTypeSymbolicLink = c"NSFileTypeSymbolicLink";
}

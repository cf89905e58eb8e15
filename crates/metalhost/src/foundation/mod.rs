//! The part of Foundation that Metal programs use.

pub mod array;
pub mod bundle;
pub mod data;
pub mod dictionary;
pub mod error;
pub mod lock;
pub mod names;
pub mod number;
pub mod root;
pub mod scan;
pub mod string;
pub mod url;

use crate::objc::class::{ClassSpec, class_objects};

class_objects! {
    /// The root.
    NSOBJECT "NSObject",
    /// Strings.
    NSSTRING "NSString",
    /// Strings that change.
    NSMUTABLE_STRING "NSMutableString",
    /// Strings that a compiler laid out.
    CONSTANT_STRING "NSConstantString",
    /// Arrays.
    NSARRAY "NSArray",
    /// Arrays that change.
    NSMUTABLE_ARRAY "NSMutableArray",
    /// Dictionaries.
    NSDICTIONARY "NSDictionary",
    /// Dictionaries that change.
    NSMUTABLE_DICTIONARY "NSMutableDictionary",
    /// Sets.
    NSSET "NSSet",
    /// Sets that change.
    NSMUTABLE_SET "NSMutableSet",
    /// Sets of characters.
    NSCHARACTER_SET "NSCharacterSet",
    /// Texts read piece by piece.
    NSSCANNER "NSScanner",
    /// Numbers.
    NSNUMBER "NSNumber",
    /// Any value.
    NSVALUE "NSValue",
    /// Errors.
    NSERROR "NSError",
    /// Addresses of files.
    NSURL "NSURL",
    /// Bytes.
    NSDATA "NSData",
    /// Locks.
    NSLOCK "NSLock",
    /// Pools as objects.
    NSAUTORELEASE_POOL "NSAutoreleasePool",
    /// Where a program's files are.
    NSBUNDLE "NSBundle",
    /// The process.
    NSPROCESS_INFO "NSProcessInfo",
    /// Files.
    NSFILE_MANAGER "NSFileManager",
}

/// Blocks that a compiler laid out.
#[unsafe(export_name = "_NSConcreteGlobalBlock")]
pub static GLOBAL_BLOCK: crate::objc::class::Class = crate::objc::class::Class::unregistered();
/// Blocks in frames.
#[unsafe(export_name = "_NSConcreteStackBlock")]
pub static STACK_BLOCK: crate::objc::class::Class = crate::objc::class::Class::unregistered();
/// Blocks on the heap.
#[unsafe(export_name = "_NSConcreteMallocBlock")]
pub static MALLOC_BLOCK: crate::objc::class::Class = crate::objc::class::Class::unregistered();

/// A row of the class table.
macro_rules! spec {
    ($class:ident, $name:literal < $super:expr, $memory:ident, $protocols:expr, $instance:expr, $class_methods:expr) => {
        $crate::objc::class::ClassSpec {
            class: &$class,
            name: $name,
            superclass: $super,
            memory: $crate::objc::class::Memory::$memory,
            protocols: $protocols,
            instance: $instance,
            class_methods: $class_methods,
        }
    };
}

pub(crate) use spec;

pub static CLASSES: &[ClassSpec] = &[
    spec!(NSOBJECT, "NSObject" < None, Counted, &["NSObject"], &[root::ROOT], &[root::ROOT_CLASS]),
    spec!(
        NSSTRING,
        "NSString" < Some(&NSOBJECT),
        Counted,
        &["NSCopying"],
        &[string::STRING],
        &[string::STRING_CLASS]
    ),
    spec!(NSMUTABLE_STRING, "NSMutableString" < Some(&NSSTRING), Counted, &[], &[string::MUTABLE], &[]),
    spec!(NSCHARACTER_SET, "NSCharacterSet" < Some(&NSOBJECT), Counted, &[], &[], &[scan::CHARACTERS_CLASS]),
    spec!(NSSCANNER, "NSScanner" < Some(&NSOBJECT), Counted, &[], &[scan::SCANNER], &[scan::SCANNER_CLASS]),
    spec!(CONSTANT_STRING, "NSConstantString" < Some(&NSSTRING), Static, &[], &[], &[]),
    spec!(CONSTANT_STRING_REFERENCE, "__NSCFConstantString" < Some(&NSSTRING), Static, &[], &[], &[]),
    spec!(
        NSARRAY,
        "NSArray" < Some(&NSOBJECT),
        Counted,
        &["NSCopying"],
        &[array::ARRAY],
        &[array::ARRAY_CLASS]
    ),
    spec!(NSMUTABLE_ARRAY, "NSMutableArray" < Some(&NSARRAY), Counted, &[], &[array::MUTABLE], &[]),
    spec!(NSSET, "NSSet" < Some(&NSARRAY), Counted, &[], &[array::SET], &[array::SET_CLASS]),
    spec!(NSMUTABLE_SET, "NSMutableSet" < Some(&NSSET), Counted, &[], &[array::MUTABLE_SET], &[]),
    spec!(
        NSDICTIONARY,
        "NSDictionary" < Some(&NSOBJECT),
        Counted,
        &["NSCopying"],
        &[dictionary::DICTIONARY],
        &[dictionary::DICTIONARY_CLASS]
    ),
    spec!(
        NSMUTABLE_DICTIONARY,
        "NSMutableDictionary" < Some(&NSDICTIONARY),
        Counted,
        &[],
        &[dictionary::MUTABLE],
        &[]
    ),
    spec!(NSVALUE, "NSValue" < Some(&NSOBJECT), Counted, &["NSCopying"], &[], &[]),
    spec!(NSNUMBER, "NSNumber" < Some(&NSVALUE), Counted, &[], &[number::NUMBER], &[number::NUMBER_CLASS]),
    spec!(
        NSERROR,
        "NSError" < Some(&NSOBJECT),
        Counted,
        &["NSCopying"],
        &[error::ERROR],
        &[error::ERROR_CLASS]
    ),
    spec!(NSURL, "NSURL" < Some(&NSOBJECT), Counted, &["NSCopying"], &[url::URL], &[url::URL_CLASS]),
    spec!(NSDATA, "NSData" < Some(&NSOBJECT), Counted, &["NSCopying"], &[data::DATA], &[data::DATA_CLASS]),
    spec!(NSLOCK, "NSLock" < Some(&NSOBJECT), Counted, &["NSLocking"], &[lock::LOCK], &[]),
    spec!(
        NSAUTORELEASE_POOL,
        "NSAutoreleasePool" < Some(&NSOBJECT),
        Counted,
        &[],
        &[lock::POOL],
        &[lock::POOL_CLASS]
    ),
    spec!(NSBUNDLE, "NSBundle" < Some(&NSOBJECT), Counted, &[], &[bundle::BUNDLE], &[bundle::BUNDLE_CLASS]),
    spec!(
        NSPROCESS_INFO,
        "NSProcessInfo" < Some(&NSOBJECT),
        Counted,
        &[],
        &[bundle::PROCESS],
        &[bundle::PROCESS_CLASS]
    ),
    spec!(
        NSFILE_MANAGER,
        "NSFileManager" < Some(&NSOBJECT),
        Counted,
        &[],
        &[bundle::FILES],
        &[bundle::FILES_CLASS]
    ),
    spec!(GLOBAL_BLOCK, "__NSGlobalBlock__" < Some(&NSOBJECT), Static, &[], &[], &[]),
    spec!(STACK_BLOCK, "__NSStackBlock__" < Some(&NSOBJECT), Block, &[], &[], &[]),
    spec!(MALLOC_BLOCK, "__NSMallocBlock__" < Some(&NSOBJECT), Block, &[], &[], &[]),
];

/// The class of `@"…"` in compiled images.
#[unsafe(export_name = "__CFConstantStringClassReference")]
pub static CONSTANT_STRING_REFERENCE: crate::objc::class::Class = crate::objc::class::Class::unregistered();

//! Metal's host side on Linux: runs unmodified Metal programs on SoftMetal.
//!
//! It has three layers: `objc` is an Objective-C runtime (selectors, classes, messages, reference counts, pools,
//! blocks), `foundation` contains the classes of Foundation that Metal programs use, `metal` contains Metal's compute
//! classes over SoftMetal. Every method is a row of one table with its type encoding, with which bindings verify the
//! messages they send. Rust programs use it through objc2 with its GNUstep feature, Objective-C and C++ programs
//! through Apple's ABI.
//!
//! **Promised**: behaviour as Apple documents it; where Apple's API lets a bug go unnoticed, a [`Report`] describes
//! it. An unknown selector, a nil or a wrong class where Metal raises an exception ends the process with a message
//! that names the call.
//! **Not promised**: anything about graphics, timing, or what Apple does not document.
#![cfg(target_os = "linux")]

pub mod abi;
mod dispatch;
mod foundation;
mod metal;
mod objc;
mod report;

pub use metal::device::why_no_device;
pub use metal::options::{Fault, Options, configure, fail_next, take_profiles};
pub use objc::class::{Class, live};
pub use objc::pool::with_pool;
pub use report::{Kind, Report, take_reports};

/// All classes, superclasses first.
pub(crate) static CLASS_TABLE: &[&[objc::class::ClassSpec]] = &[foundation::CLASSES, metal::CLASSES];

//! Metal's host side on Linux: unmodified programs for Metal run on SoftMetal.
//!
//! Three layers: `objc` is an Objective-C runtime (selectors, classes, messages, counts, pools, blocks), `foundation` the classes of
//! Foundation that Metal programs use, `metal` Metal's compute classes over SoftMetal. Every method is a row of one table with its type
//! encoding, from which bindings verify what they send. Rust programs reach it through objc2 with its GNUstep feature, Objective-C and C++
//! ones through Apple's ABI.
//!
//! **Promised**: behaviour as Apple documents it, and where Apple leaves a trap open, the program falls in and a [`Report`] says so;
//! an unknown selector, a nil or a wrong class where Metal raises ends the process with a message that names the call.
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
pub use objc::class::live;
pub use objc::pool::with_pool;
pub use report::{Kind, Report, take_reports};

/// All classes, superclasses first.
pub(crate) static CLASS_TABLE: &[&[objc::class::ClassSpec]] = &[foundation::CLASSES, metal::CLASSES];

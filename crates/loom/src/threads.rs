//! The types of `crates/cpu/src/sync.rs` and `crates/backend/src/sync.rs` unchanged, for ThreadSanitizer.

pub use standard::*;

#[path = "../../cpu/src/sync.rs"]
mod standard;

/// A mutex without poisoning, as the pool has it.
pub use parking_lot::Mutex as Lock;

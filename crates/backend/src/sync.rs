//! The synchronisation types of the pool. `crates/loom` compiles the pool against a file of the same name whose types
//! explore every interleaving.

pub use parking_lot::Mutex as Lock;

//! What the pool is built on. `crates/loom` compiles the pool against a file of the same name whose types try every interleaving.

pub use parking_lot::Mutex as Lock;

//! From C++ text to loaded code: clang, the precompiled shim, the disk cache, the loader.

pub mod air;
pub mod cache;
pub mod clang;
pub mod flops;
mod judge;
pub mod module;
pub mod preprocessed;
pub mod shim;
pub mod together;

//! The second front end: kernels compiled by Apple, from a `.metallib`.
//!
//! A metallib contains one LLVM bitcode module per function, in Apple's dialect AIR. Data passes through these files
//! in order:
//!
//! | file | from → to |
//! |---|---|
//! | [`container`] | bytes of the file → names, kinds, versions and bitcode of its functions |
//! | [`metadata`], [`reflect`] | LLVM text → parameters, function constants, compile options |
//! | [`translate`], with `groups` and `debug` | AIR text → LLVM text of this machine: one address space, threadgroup variables in the group's memory |
//! | [`intrinsics`] | each `air.*` declaration → its definition |
//! | [`launch`] | the parameters → the functions that start a thread or a threadgroup |
//!
//! `compile::air` runs LLVM's tools; from there on a kernel is a [`crate::compile::module::Module`] like any other,
//! and is executed, checked and profiled by the same code.

pub mod container;
mod debug;
mod groups;
pub mod intrinsics;
pub mod launch;
pub mod metadata;
pub mod reflect;
pub mod text;
pub mod translate;

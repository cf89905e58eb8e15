//! Shader generation for steps: a kernel family's template, surrounded by the fused code of the step.
//!
//! Extents, strides and offsets are words of a uniform block, so the text depends only on ranks, dtypes and code, and
//! one pipeline serves all shapes.

mod bindings;
pub(crate) mod library;
mod shader;
pub(crate) mod wgsl;

pub use bindings::StorageBinding;
pub use shader::{Facts, Launch};
pub(crate) use shader::{Shader, Task, UserKernel};
pub(crate) use wgsl::Wgsl;

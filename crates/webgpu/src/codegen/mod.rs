//! Shaders from steps: a kernel family's template, and around it what the step fuses.
//!
//! Extents, strides and offsets are words of a uniform block, so that the text depends on ranks, dtypes and code only, and one
//! pipeline serves all shapes.

mod bindings;
pub(crate) mod library;
mod shader;
pub(crate) mod wgsl;

pub use bindings::StorageBinding;
pub use shader::{Facts, Launch};
pub(crate) use shader::{Shader, Task, UserKernel};
pub(crate) use wgsl::Wgsl;

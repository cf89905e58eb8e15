//! The WebGPU backend: runs plans as WGSL on any GPU that wgpu supports (Vulkan, Metal, DirectX 12, a browser).
//!
//! Promises: one encoder and one submission per plan; extents and strides are data, so a pipeline serves every shape;
//! no assumptions about NaN, infinities, rounding or the accuracy of the adapter's elementary functions: what WGSL
//! leaves unspecified is computed from bit patterns. 8-, 16- and 64-bit integers, f16 and bf16 are packed into or
//! emulated with 32-bit words. f64 is rejected. Positions are 32-bit: tensors with more than 2³² elements are
//! rejected.
//!
//! Who checks what: the planner keeps positions inside buffers, so shaders of this crate run without bounds checks;
//! user-defined kernels run with them. Everything that wgpu reports (validation, memory, a lost device) is an `Err`.

#![deny(unsafe_op_in_unsafe_fn)]

mod backend;
mod codegen;
mod device;
mod exec;
mod executable;
mod groups;
mod memory;
mod pipelines;
pub mod raw;

pub use backend::WebGpuBackend;
pub use codegen::{Facts, Launch, StorageBinding};
pub use device::Options;
pub use executable::launches;
pub use raw::{Batch, Buffer, Device, Kernel};

/// The name that the device is chosen by.
pub(crate) const NAME: &str = "webgpu";

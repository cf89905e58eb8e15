//! Lazy tensors that run on the fastest device proven correct.
//!
//! ```
//! use wootz::Tensor;
//!
//! # fn main() -> wootz::Result<()> {
//! let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0])?.reshape([2, 2])?;
//! let y = (&x * 2.0)?.exp()?.sum_axes([1], false)?; // nothing has run yet
//! assert_eq!(y.shape(), [2]);
//! println!("{y}"); // now it runs, in one pass over the data
//! # Ok(())
//! # }
//! ```
//!
//! A [`Tensor`] remembers how to compute itself. When its values are needed ([`eval`], [`Tensor::to_vec`], printing),
//! the graph behind it becomes one plan, which runs on a [`Device`] as a single batch. Plans are cached by structure,
//! so evaluating the same graph again costs a hash and a submission; [`compile`] saves building the graph too. A few
//! elementwise ops over few elements are computed without a plan if the device supports it.
//!
//! Promises: every call that can fail returns a [`Result`] whose error names the op, the shapes, the dtypes and the
//! device. User input never causes a panic. Tensors are cheap to clone and can be used from several threads. Movement
//! ops never copy.
#![deny(unsafe_code)]

mod advanced;
mod calibrate;
pub mod check;
mod compile;
mod create;
mod custom;
mod device;
mod disk;
mod dispatch;
mod display;
pub mod distributed;
mod einsum;
mod element;
mod eval;
mod fork;
mod indexing;
mod io;
mod linalg;
mod movement;
mod operators;
mod program;
mod random;
mod reductions;
mod small;
mod standing;
mod tensor;
mod tiny;
mod traffic;
mod value;

/// The Metal API: devices, buffers and kernels without tensors, and the options of the software device.
pub use wootz_metal as metal;
/// The WebGPU API: devices, buffers and kernels without tensors.
#[cfg(feature = "webgpu")]
pub use wootz_webgpu as webgpu;

pub use advanced::Selector;
pub use calibrate::{Calibration, Limits};
pub use compile::{Call, Compiled, compile};
pub use custom::typed_host;
pub use device::Device;
pub use dispatch::{CostModel, Quote};
pub use display::PrintOptions;
pub use element::Element;
pub use eval::{Evaluation, Explanation, eval, eval_async, explain};
pub use indexing::Index;
pub use io::{
    NpzLimits, load_npy, load_npy_on, load_npz, load_npz_on, load_safetensors, load_safetensors_on, read_npy,
    read_npz, save_npy, save_npz, save_safetensors,
};
pub use linalg::AttentionOptions;
pub use operators::Operand;
pub use random::Seed;
pub use standing::{OnProgress, Proving};
pub use tensor::{Axis, Stored, Tensor};
pub use tiny::{Tiny, is_small};
pub use traffic::TrafficStats;
pub use wootz_backend::{Backend, Buffer, DeviceInfo, DeviceKind, HostMemory, MemoryStats, Stop};
pub use wootz_cpu::{Bandwidth, KernelTime, measure_bandwidth, measure_byte_gops, profile as profile_cpu};
pub use wootz_ir::custom::{CustomKernel, GpuSource, HostArray, Language};
pub use wootz_ir::op::{Activations, RopeStyle};
pub use wootz_ir::{BlockFormat, DType, Error, Layout, Number, Result, Shape};

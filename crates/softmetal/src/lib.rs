//! SoftMetal: a software Metal compute device.
//!
//! It takes unmodified Metal Shading Language source, compiles it with clang against its own `metal_stdlib`, and runs
//! the grid on the CPU with real threadgroup, simdgroup and atomic semantics. It can check every memory access of a
//! kernel and count what the kernel does.
//!
//! ```no_run
//! use softmetal::{CompileOptions, Device, DispatchType};
//! # fn main() -> softmetal::Result<()> {
//! let device = Device::system_default()?;
//! let source = "#include <metal_stdlib>
//!     kernel void twice(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
//! let library = device.new_library(source, &CompileOptions::default())?;
//! let pipeline = device.new_pipeline(&library.function("twice")?)?;
//! let buffer = device.new_buffer_with_bytes(bytemuck::cast_slice(&[1.0f32, 2.0, 3.0]))?;
//! let command = device.new_queue().command_buffer();
//! let mut encoder = command.compute_encoder(DispatchType::Serial);
//! encoder.set_pipeline(&pipeline);
//! encoder.set_buffer(0, &buffer, 0)?;
//! encoder.dispatch_threads(3, 3)?;
//! encoder.end_encoding();
//! command.run()?;
//! assert_eq!(buffer.read::<f32>()?, [2.0, 4.0, 6.0]);
//! # Ok(()) }
//! ```
//!
//! **Promised**: every API object is `Send + Sync`; encoders check all sizes and bindings; a kernel that does not
//! compile, faults, or never ends is an error and the device stays usable; with [`DeviceOptions::check`] set, every
//! load and store is checked. **Not promised**: the rounding of a particular GPU's fast math, or any prediction of
//! time. **Not checked** without the checker: what a kernel does with its pointers; it runs in this process, so run
//! only kernels that you would run as native code.

mod air;
pub mod check;
mod compile;
mod device;
mod error;
mod exec;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod judge;
mod lint;
pub mod profile;
mod source;

pub use device::{
    AddressMode, Argument, BlitEncoder, BorderColor, Buffer, CommandBuffer, CompareFunction, CompileOptions,
    ComputeEncoder, ConstantValue, Device, DeviceOptions, DispatchType, Event, Family, Filter, Function,
    FunctionConstants, Library, Limits, MipFilter, Pipeline, PixelFormat, Queue, Recipe, Sampler, Size,
    Status, StorageMode, Texture, TextureDescriptor, TextureKind,
};
pub use error::{Diagnostic, Error, Result};
pub use source::binding::{Access, Binding, BindingKind};
pub use source::members::{Layout, Member};

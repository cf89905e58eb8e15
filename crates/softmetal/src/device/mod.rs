//! The device API, close to Metal's own: device → library → function → pipeline; queue → command buffer → encoder.

mod buffer;
mod check_all;
mod command;
mod constants;
#[expect(clippy::module_inception, reason = "the device is the root object of the API")]
mod device;
mod encoder;
mod event;
mod execute;
mod family;
mod library;
mod metallib;
mod pipeline;
mod pixel_format;
mod prepare;
mod queue;
mod sampler;
mod source_library;
mod texture;

pub use buffer::{Buffer, StorageMode};
pub use command::{CommandBuffer, Status};
pub use constants::{ConstantValue, FunctionConstants};
pub use device::{Device, DeviceOptions};
pub use encoder::{BlitEncoder, ComputeEncoder, DispatchType, Size};
pub use event::Event;
pub use family::{Family, Limits};
pub use library::{CompileOptions, Function, Library};
pub use pipeline::{Argument, Pipeline};
pub use pixel_format::PixelFormat;
pub use prepare::Recipe;
pub use queue::Queue;
pub use sampler::{AddressMode, BorderColor, CompareFunction, Filter, MipFilter, Sampler};
pub use texture::{Texture, TextureDescriptor, TextureKind};

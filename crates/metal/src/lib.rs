//! The Metal backend of Wootz.
//!
//! In the order that a plan passes them: `exec` turns each step into dispatches of a kernel family
//! (`kernels/*.metal`), `codegen` generates the fused code around it, `source` assembles the text, `pipelines`
//! compiles it once, `executable` encodes a run as one command buffer, and `driver` submits that to an Apple GPU or
//! to SoftMetal. [`MetalBackend`] is the device. In addition, `compute` is Metal without tensors: [`Device`],
//! [`Buffer`], [`Kernel`].
//!
//! **Promised**: results as the reference evaluator defines them, within the tolerances of the conformance crate;
//! every evaluation is one submission (or a few, if it is long); errors name the op, the kernel and the shapes, and
//! the device stays usable after them.
//! **Not promised**: f64, which Metal lacks and which is rejected; the order of float additions.
#![cfg_attr(
    not(any(target_vendor = "apple", feature = "softmetal")),
    allow(dead_code, unused_imports, unused_mut, reason = "such a build has no Metal device at all")
)]

mod backend;
mod codegen;
mod compute;
pub mod driver;
mod exec;
mod executable;
mod memory;
mod pipelines;
mod source;

pub use backend::{MetalBackend, NO_DEVICE};
pub use compute::{Argument, Batch, Buffer, Contents, Device, Kernel, Pending, Timing};
#[cfg(feature = "softmetal")]
pub use driver::soft::SoftOptions;
pub use driver::{Constant, ConstantKey, Facts, Grid, Storage};
pub use executable::{generated_code, sources};
#[cfg(feature = "softmetal")]
pub use softmetal::Family;
pub use wootz_backend::MemoryStats;

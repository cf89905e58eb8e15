//! The Metal backend of Wootz.
//!
//! In the order that a plan passes them: `exec` turns each step into launches of a kernel family (`kernels/*.metal`), `codegen` writes the
//! fused code around it, `source` puts the text together, `pipelines` compiles it once, `executable` encodes a run as one command
//! buffer, and `driver` hands that to an Apple GPU or to SoftMetal. [`MetalBackend`] is the device. Beside it, `compute` is Metal without
//! tensors: [`Device`], [`Buffer`], [`Kernel`].
//!
//! **Promised**: results as the reference evaluator defines them, within the tolerances of the conformance kit; every evaluation is one
//! submission (or a few, where it is long); errors name the op, the kernel and the shapes, and the device lives on after them.
//! **Not promised**: f64, which Metal lacks and which is refused; the order in which floats are added.
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

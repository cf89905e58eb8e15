//! The contract between the engine and a device.
//!
//! A device implements [`Backend`]: it says what it is, gives and takes memory, compiles plans and runs them. The
//! engine calls it; users do not.
//!
//! Who checks what: nodes are valid before a plan exists (`wootz-ir`), and a plan's steps stay inside its buffers
//! (`wootz-plan`); the engine binds leaves that are as large as the plan says, on this device. A backend checks what only it
//! can know: memory that runs out, dtypes it lacks, faults in the data.
//!
//! Errors: a failed `submit` or fence fails one evaluation. The device, its buffers and other evaluations live on. A
//! fault names the op it was found in.
#![forbid(unsafe_code)]

mod buffer;
mod contract;
pub mod inject;
pub mod pool;
mod sync;

pub use buffer::{Buffer, DeviceMemory};
pub use contract::{Backend, DeviceInfo, DeviceKind, Executable, Fence, HostMemory, Run};
pub use pool::{MemoryStats, Pool, PoolLimits};
pub use wootz_ir::{Error, Result};

//! The contract between the engine and a device.
//!
//! A device implements [`Backend`]: it describes itself, allocates and frees memory, compiles plans and runs them.
//! The engine calls it; users do not.
//!
//! Who checks what: nodes are valid before a plan exists (`wootz-ir`), and a plan's steps stay inside its buffers
//! (`wootz-plan`); the engine binds leaves of the size that the plan expects, on this device. A backend checks only
//! what it alone can know: out of memory, unsupported dtypes, faults in the data.
//!
//! Errors: a failed `submit` or fence fails a single evaluation. The device, its buffers and other evaluations remain
//! usable. A fault names the op that caused it.
#![forbid(unsafe_code)]

mod buffer;
mod contract;
pub mod pool;
mod stop;
mod sync;

pub use buffer::{Buffer, DeviceMemory};
pub use contract::{Backend, DeviceInfo, DeviceKind, Executable, Fence, HostMemory, Run};
pub use pool::{MemoryStats, Pool, PoolLimits};
pub use stop::Stop;
pub use wootz_ir::{Error, Result};
pub use wootz_system::inject;

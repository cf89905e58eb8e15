//! The CPU backend of Wootz: a thread pool, and SIMD kernels chosen at run time.
//!
//! Promises of the kernel modules:
//! - They are independent of graphs and plans: slices and raw strided views in, results out.
//! - The instruction set is detected once at run time ([`isa`]); every kernel has one source for all of them.
//! - Parallel kernels take a [`team::Worker`] and must be called by *every* worker of a region with the same
//!   arguments; the others are single-threaded and can be called from anywhere.
//!
//! Not promised: identical bits under different instruction sets or worker counts (sums are associated differently).
//! For a given instruction set and worker count results are deterministic, unless a function says otherwise.

pub mod attention;
mod backend;
mod bandwidth;
pub mod convert;
pub mod copy;
mod exec;
pub mod gemm;
pub mod isa;
pub mod math;
mod memory;
mod peak;
mod places;
mod profile;
pub mod quant;
pub mod reduce;
pub mod rows;
pub mod scan;
pub mod scratch;
pub mod sort;
mod stop;
mod sync;
pub mod team;

pub use backend::CpuBackend;
pub use bandwidth::{Bandwidth, measure_bandwidth};
pub use exec::small::tiny_binary;
pub use memory::own_bytes;
pub use peak::{measure_byte_gops, measure_fma_gflops};
pub use profile::{KernelTime, profile};

/// Validates the environment variables of this device: `WOOTZ_ISA` and `WOOTZ_THREADS`.
pub fn check_environment() -> Result<(), String> {
    isa::requested()?;
    team::requested_size()?;
    Ok(())
}

//! MPI for Wootz, loaded when it is asked for: one binary works with and without it, and with any of three binary interfaces
//! (MPICH's, the MPI 5 standard's, Open MPI's).
//!
//! [`World::init`] finds a library, starts MPI and lists the ranks; a [`Group`] has the collectives over bytes of any dtype.
//!
//! What it promises:
//! - Every call ends: with a result, or with an error that names the rank and the cause, within the time limit
//!   (`WOOTZ_MPI_TIMEOUT` seconds). Nothing here blocks inside MPI but its start and its end; all waiting is polling, which watches
//!   for ranks that have ended, that do not answer, or that report a failure.
//! - Ranks that disagree (another op, dtype, shape or root) get an error on every rank, not garbage: each collective begins with an
//!   exchange of what it is. Small ones carry their data along with it and need nothing else.
//! - After a failure every later call fails with the same words.
//!
//! What it does not: recover. A group that has failed stays failed; end the process, and the launcher ends the others.

mod abi;
mod calls;
mod exchange;
mod group;
mod header;
mod library;
mod messages;
mod reduce;
mod start;
mod waiting;
mod world;

pub use abi::Abi;
pub use group::{Group, Traffic};
pub use library::{LibraryInfo, find};
pub use reduce::ReduceOp;
pub use start::{Launch, launch};
pub use world::World;

/// The error of everything that fails between ranks.
pub(crate) fn failed(detail: impl Into<String>) -> wootz_ir::Error {
    wootz_ir::Error::Device { device: "mpi".into(), detail: detail.into() }
}

//! MPI for Wootz, loaded at run time: one binary works with and without it, and with any of three ABIs (MPICH's, the
//! MPI 5 standard's, Open MPI's).
//!
//! [`World::init`] finds a library, starts MPI and lists the ranks; a [`Group`] has the collectives over bytes of any dtype.
//!
//! Promises:
//! - Every call ends: with a result, or with an error that names the rank and the cause, within the timeout
//!   (`WOOTZ_MPI_TIMEOUT` seconds) and the five seconds in which ranks may answer. Nothing here blocks inside MPI except
//!   starting and finalising it; all waiting is polling, which watches for ranks that have exited, that do not respond,
//!   or that report a failure. Two calls wait longer, as long as all ranks answer: [`Group::share`], for somebody who
//!   types on rank 0, and [`World::finish`], for ranks that still work.
//! - If ranks disagree (on op, dtype, shape or root), every rank gets an error instead of garbage: each collective
//!   starts by exchanging a description of itself. Small collectives include their data in it and need nothing else.
//! - After a failure every later call fails with the same message.
//!
//! Not promised: recovery. A group that has failed stays failed; end the process, and the launcher ends the others.

mod abi;
mod calls;
mod exchange;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod group;
mod header;
mod launch;
mod library;
mod messages;
mod process;
mod reduce;
mod start;
mod traffic;
mod waiting;
mod world;

pub use abi::Abi;
pub use group::Group;
pub use launch::{Launch, Launcher, launch};
pub use library::{LibraryInfo, find};
pub use reduce::ReduceOp;
pub use traffic::Traffic;
pub use world::World;

/// The error of everything that fails between ranks.
pub(crate) fn failed(detail: impl Into<String>) -> wootz_ir::Error {
    wootz_ir::Error::device("mpi", detail)
}

//! Distributed arrays and computing over several processes, on one machine or many, with MPI.
//!
//! Start the same program on every rank with an MPI launcher (`mpirun -n 4 program`), and call [`init`], which loads
//! the MPI library. A [`Group`] has the collectives; each takes a tensor and returns one, lazy like any other.
//!
//! ```
//! use wootz::{Tensor, distributed};
//!
//! # fn main() -> wootz::Result<()> {
//! let group = distributed::init_or_alone()?;              // one rank, unless started by a launcher
//! let x = Tensor::from_slice(&[1.0f32, 2.0])?;
//! let sum = group.all_sum(&x)?;                           // nothing has been sent yet
//! assert_eq!(sum.to_vec::<f32>()?, [1.0 * group.size() as f32, 2.0 * group.size() as f32]);
//! # Ok(())
//! # }
//! ```
//!
//! **Order.** Operations run when they are evaluated, in the order of the plan: ordered by their dependencies,
//! otherwise in the order of the requested tensors. Ranks that run the same program execute them in the same order.
//! If ranks differ (in op, dtype or shape), all of them get an error that says which rank does what; none hangs, and
//! none gets garbage.
//!
//! **Devices.** A collective operates on host memory in place. Tensors of other devices are evaluated and copied
//! through the host.

mod collectives;
mod grid;
mod kernels;
mod shard;

pub use grid::Grid;
pub use shard::{Sharded, part};
pub use wootz_mpi::{Abi, Launch, Launcher, LibraryInfo, ReduceOp, Traffic, launch};

use kernels::Kernels;
use std::fmt;
use std::sync::{Arc, OnceLock};
use wootz_ir::{Error, Result};
use wootz_mpi::World;

/// A group of processes that work together.
#[derive(Clone)]
pub struct Group(Arc<Inner>);

struct Inner {
    /// A group of one, without MPI.
    ranks: Option<wootz_mpi::Group>,
    kernels: Kernels,
}

static WORLD: OnceLock<Group> = OnceLock::new();

/// Starts MPI on the first call and returns the group of all ranks. Fails if no MPI library is found.
pub fn init() -> Result<Group> {
    if let Some(world) = WORLD.get() {
        return Ok(world.clone());
    }
    let world = World::init()?;
    Ok(WORLD.get_or_init(|| Group::over(Some(world.group().clone()))).clone())
}

/// Like [`init`] if an MPI launcher started this process; otherwise a group of this process alone, which needs no
/// library.
pub fn init_or_alone() -> Result<Group> {
    match launch() {
        Some(_) => init(),
        None => Ok(WORLD.get().cloned().unwrap_or_else(Group::alone)),
    }
}

/// The MPI library that [`init`] would use.
pub fn library() -> Result<LibraryInfo> {
    wootz_mpi::find()
}

/// Whether an MPI library is available.
pub fn is_available() -> bool {
    library().is_ok()
}

/// Finalises MPI. This happens automatically when the process ends through `exit`.
pub fn finalize() {
    if let Some(world) = World::current() {
        world.finish();
    }
}

impl Group {
    fn over(ranks: Option<wootz_mpi::Group>) -> Group {
        Group(Arc::new(Inner { ranks, kernels: Kernels::default() }))
    }

    /// A group of this process alone.
    pub fn alone() -> Group {
        Group::over(None)
    }

    /// The rank of this process, starting at 0.
    pub fn rank(&self) -> usize {
        self.ranks().map_or(0, wootz_mpi::Group::rank)
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.ranks().map_or(1, wootz_mpi::Group::size)
    }

    /// Whether this is the only rank.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// The subgroup of ranks with the same colour, ordered by key, then by rank.
    pub fn split(&self, colour: usize, key: i32) -> Result<Group> {
        let problem = || Error::argument("split", format!("color {colour} is too large"));
        let colour = i32::try_from(colour).map_err(|_| problem())?;
        let ranks = self.ranks().map(|ranks| ranks.split(colour, key)).transpose()?;
        Ok(Group::over(ranks))
    }

    /// Statistics of the group on this rank.
    pub fn traffic(&self) -> Traffic {
        self.ranks().map(wootz_mpi::Group::traffic).unwrap_or_default()
    }

    /// Waits until all ranks have called it.
    pub fn barrier(&self) -> Result<()> {
        self.ranks().map_or(Ok(()), wootz_mpi::Group::barrier)
    }

    /// Rank 0's bytes on every rank; the others wait for them as long as it takes.
    pub fn share(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.ranks().map_or_else(|| Ok(bytes.to_vec()), |ranks| ranks.share(bytes))
    }

    /// Fails on every rank unless all pass the same text; `what` names it in the error.
    pub fn agree(&self, what: &str, text: &str) -> Result<()> {
        self.ranks().map_or(Ok(()), |ranks| ranks.agree(what, text))
    }

    /// Tells all ranks that this one cannot continue, and why, so that none waits for it.
    pub fn abandon(&self, cause: &str) {
        if let Some(ranks) = self.ranks() {
            ranks.world().abandon(cause);
        }
    }

    /// The failure that made the group unusable, if any.
    pub fn failure(&self) -> Option<Error> {
        self.ranks()?.world().failure().cloned()
    }

    /// The rank that reports a failure to the user, so that it is reported once: rank 0, unless that rank was lost.
    pub fn speaker(&self) -> usize {
        self.ranks().map_or(0, |ranks| ranks.world().speaker())
    }

    fn ranks(&self) -> Option<&wootz_mpi::Group> {
        self.0.ranks.as_ref()
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Group) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group(rank {} of {})", self.rank(), self.size())
    }
}

//! Arrays and work over several processes, on one machine or many, by MPI.
//!
//! Start the same program on every rank with an MPI launcher (`mpirun -n 4 program`), and call [`init`]: the MPI library is
//! loaded then. A [`Group`] has the collectives; each takes tensors and gives a tensor, lazy like any other.
//!
//! ```
//! use wootz::{Tensor, distributed};
//!
//! # fn main() -> wootz::Result<()> {
//! let group = distributed::init_or_alone()?;              // alone, unless a launcher started this
//! let x = Tensor::from_slice(&[1.0f32, 2.0])?;
//! let sum = group.all_sum(&x)?;                           // nothing has been sent yet
//! assert_eq!(sum.to_vec::<f32>()?, [1.0 * group.size() as f32, 2.0 * group.size() as f32]);
//! # Ok(())
//! # }
//! ```
//!
//! **Order.** Operations run when they are evaluated, in the order in which a plan lists them: by what they depend on, else in the
//! order of the tensors that were asked for. Ranks that run the same program meet in the same order. Ranks that do not
//! (another op, dtype or shape at the same place) all get an error that says who does what; none hangs, and none gets garbage.
//!
//! **Devices.** A collective works on host memory where it is. Tensors of other devices go through the host, and are evaluated
//! for it.

mod collectives;
mod kernels;
mod shard;

pub use shard::{Sharded, part};
pub use wootz_mpi::{Abi, Launch, LibraryInfo, ReduceOp, Traffic, launch};

use kernels::Kernels;
use std::fmt;
use std::sync::{Arc, OnceLock};
use wootz_ir::{Error, Result};
use wootz_mpi::World;

/// Processes that work together.
#[derive(Clone)]
pub struct Group(Arc<Inner>);

struct Inner {
    /// Nobody else, where there is no MPI.
    ranks: Option<wootz_mpi::Group>,
    kernels: Kernels,
}

static WORLD: OnceLock<Group> = OnceLock::new();

/// Starts MPI, the first time; the group of all ranks. Fails where no MPI library can be found.
pub fn init() -> Result<Group> {
    if let Some(world) = WORLD.get() {
        return Ok(world.clone());
    }
    let world = World::init()?;
    Ok(WORLD.get_or_init(|| Group::over(Some(world.group().clone()))).clone())
}

/// The same, if an MPI launcher started this process; otherwise a group of this process alone, which needs no library.
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

/// Whether an MPI library can be found.
pub fn is_available() -> bool {
    library().is_ok()
}

/// Ends MPI. It happens by itself at the end of the process, where that comes by way of `exit`.
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

    /// This process's rank, from 0 on.
    pub fn rank(&self) -> usize {
        self.ranks().map_or(0, wootz_mpi::Group::rank)
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.ranks().map_or(1, wootz_mpi::Group::size)
    }

    /// Whether there are no others.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// A group of the ranks that give the same colour, in the order of their keys, then of their ranks.
    pub fn split(&self, colour: usize, key: i32) -> Result<Group> {
        let problem = || Error::argument("split", format!("colour {colour} is too large"));
        let colour = i32::try_from(colour).map_err(|_| problem())?;
        let ranks = self.ranks().map(|ranks| ranks.split(colour, key)).transpose()?;
        Ok(Group::over(ranks))
    }

    /// What the group has done so far on this rank.
    pub fn traffic(&self) -> Traffic {
        self.ranks().map(wootz_mpi::Group::traffic).unwrap_or_default()
    }

    /// Waits until every rank has come here.
    pub fn barrier(&self) -> Result<()> {
        self.ranks().map_or(Ok(()), wootz_mpi::Group::barrier)
    }

    /// Rank 0's bytes on every rank; the others wait for them as long as it takes.
    pub fn share(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.ranks().map_or_else(|| Ok(bytes.to_vec()), |ranks| ranks.share(bytes))
    }

    /// Fails on every rank unless all say the same; `what` names it in the error.
    pub fn agree(&self, what: &str, text: &str) -> Result<()> {
        self.ranks().map_or(Ok(()), |ranks| ranks.agree(what, text))
    }

    /// Tells all ranks that this one cannot go on, and why, so that none waits for it.
    pub fn abandon(&self, cause: &str) {
        if let Some(ranks) = self.ranks() {
            ranks.world().abandon(cause);
        }
    }

    /// What has made the group unusable, if something has.
    pub fn failure(&self) -> Option<Error> {
        self.ranks()?.world().failure().cloned()
    }

    /// The rank that tells users about a failure, so that it is told once: rank 0, unless that is the one that was lost.
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

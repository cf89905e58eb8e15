//! What every device has to get right, and how closely: the cases by which a device proves itself before `auto` uses it.
//!
//! In the order of use: [`cases()`] lists [`Case`]s, each a small graph over leaves with given values and a given
//! physical layout; a runner binds the leaves on a device, evaluates the graph, and hands the result to
//! [`Case::check`], which compares it with the reference evaluator within the case's [`Tolerance`].
//! [`expected_faults`] lists graphs that have to end in a fault instead; [`exceptions`] holds the known failures as data.
//!
//! Promises: everything is deterministic, the same list of cases on every machine; a case draws its numbers from its
//! own name, so that adding one case changes no other; bytes of a leaf that belong to no element are poison, so
//! that a read outside of the layout shows. The cases know no device: they depend on the IR alone.
#![forbid(unsafe_code)]

mod case;
mod compare;
pub mod exceptions;
mod families;
mod faults;
mod leaf;
mod random;
mod tolerance;
pub mod values;

pub use case::{Build, Case, Leeway, Numpy, evaluate};
pub use compare::{Mismatch, compare, compare_scaled};
pub use families::{Level, cases};
pub use faults::{FaultCase, expected_faults};
pub use leaf::{LayoutClass, Leaf, decode, encode};
pub use random::Random;
pub use tolerance::{Tolerance, elementwise_tolerance, epsilon, ulp};
pub use values::Values;

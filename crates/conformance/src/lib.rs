//! The conformance cases: what every device has to compute, and how precisely, before `auto` uses it.
//!
//! In the order of use: [`cases()`] lists [`Case`]s, each a small graph over leaves with given values and a given
//! memory layout; a runner binds the leaves on a device, evaluates the graph, and passes the result to
//! [`Case::check`], which compares it with the reference evaluator within the case's [`Tolerance`].
//! [`expected_faults`] lists graphs that must end with a fault instead; [`exceptions`] lists the known failures as
//! data.
//!
//! Promises: everything is deterministic, with the same list of cases on every machine; the seed of a case is its
//! name, so adding a case changes no other; bytes of a leaf that belong to no element are poisoned, so that reads
//! outside the layout are detected. The cases know no device: they depend on the IR only.
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

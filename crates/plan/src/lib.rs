//! Planning: from a graph to fused kernels, their order, and their memory.
//!
//! [`Plan::new`] is a pure function of a graph's structure and a device's [`Capabilities`]. In order: equal nodes are
//! merged ([`canonical`](self)), every node is assigned to a kernel (`group`), kernels are emitted with the
//! elementwise code around them (`lower`, `fuse`), buffers are allocated and barriers inserted (`memory`).
//! [`Plan::explain`] prints all of it.
//!
//! Promises: a plan's steps, run in order, compute what the reference evaluator computes for the graph, within the
//! rounding of the device; a step reads only leaves and results of earlier steps; scratch buffers overlap only if
//! their lifetimes do not. Nothing recurses over a graph.
#![forbid(unsafe_code)]

mod canonical;
mod explain;
pub mod fault;
mod fuse;
mod group;
mod kernel;
mod lower;
mod memory;
mod plan;

pub use kernel::Kernel;
pub use plan::{Buffer, BufferId, Capabilities, Fused, Load, Output, Place, Plan, Source, Step, Store};

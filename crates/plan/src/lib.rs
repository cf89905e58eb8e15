//! From graph to plan: what runs, in which order, fused with what, in which memory.
//!
//! [`Plan::new`] is a pure function of a graph's structure and a device's [`Capabilities`]. In the order of work:
//! equal nodes become one ([`canonical`](self)), every node finds the kernel that it will be computed in (`group`),
//! kernels are emitted with the elementwise code around them (`lower`, `fuse`), and buffers get places and steps get
//! barriers (`memory`). [`Plan::explain`] prints all of it.
//!
//! Promises: a plan's steps, run in order, compute what the reference evaluator computes for the graph, within the
//! rounding of the device; a step reads only what leaves hold or earlier steps wrote; scratch places overlap only when
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

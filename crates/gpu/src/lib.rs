//! Code shared by the GPU backends.
//!
//! In the order that a plan passes them: [`problem`] describes what a step computes, from which a backend chooses a
//! kernel and its configuration; [`Code`] prints the step's fused code around that kernel, in any shading
//! [`Language`]; [`Program`] is a plan as a list of launches, with scratch buffers for intermediate results;
//! [`Cache`] keeps pipelines by their source.
//!
//! Who checks what: [`Program::check`] compares the buffers of a run with the plan. A backend contains its driver,
//! its kernels, and what is specific to its language.
#![forbid(unsafe_code)]

mod bindings;
mod cache;
mod code;
mod language;
pub mod problem;
mod program;
mod quads;

pub use bindings::{Access, Bound, Opened};
pub use cache::Cache;
pub use code::{Code, Space};
pub use language::{Function, Language, QuadValues};
pub use program::{Buffers, Launches, Placed, Program, refuse_f64};
pub use quads::{in_quads, quads_of_layout};

//! The IR of Wootz: tensors, ops, and the meaning of each op.
//!
//! In the order that data passes: a front end builds nodes ([`build`]), which check shapes and dtypes and form a lazy
//! graph ([`graph`]); elementwise ops are rows of one table ([`elementwise`]) whose meaning is scalar code
//! ([`scalar`]); the [`mod@reference`] evaluator computes any graph slowly and obviously, and every backend is
//! compared with it.
//!
//! Promises: nothing here panics on user input, recurses over a graph, or depends on a device. Every node is valid:
//! its operands have the dtypes and shapes that its op requires.
#![forbid(unsafe_code)]

pub mod build;
pub mod custom;
pub mod dtype;
pub mod elementwise;
pub mod error;
pub mod flat;
pub mod graph;
pub mod layout;
pub mod op;
pub mod reference;
pub mod scalar;
pub mod shape;
pub mod small;
mod spec;

pub use custom::CustomKernel;
pub use dtype::{DType, Kind, Number, ScalarType};
pub use elementwise::ElementwiseOp;
pub use error::{Error, Fault, Result};
pub use layout::{Layout, Span, View};
pub use op::{Family, Op, Reads, Role};
pub use shape::Shape;
pub use small::{SmallGraph, SmallStep};
pub use wootz_blocks::BlockFormat;

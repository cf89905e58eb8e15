//! The profiler: exact counts per dispatch, and their place on a chip's roofline.

mod counters;

pub(crate) use counters::Transactions;
pub use counters::{Counters, DispatchProfile};

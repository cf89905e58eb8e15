//! The profiler: exact counts per dispatch, and their place on a chip's roofline.

mod chips;
mod counters;
mod plot;
mod roofline;

pub use chips::{CHIPS, Chip, chip};
pub(crate) use counters::Transactions;
pub use counters::{Counters, DispatchProfile};
pub use plot::svg;
pub use roofline::{Bound, Roofline, json, text};

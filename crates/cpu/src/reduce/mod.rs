//! Reductions over contiguous runs, and of rows into a row of results.
//!
//! Two cases cover any axis of a layout: [`reduce`] folds a run into one number, [`fold_rows`] folds rows elementwise
//! into accumulators. Both are single-threaded and memory-bound; the caller distributes the run (or the columns) over
//! workers and combines the parts with the same functions.
//!
//! - Float sums use many short chains whose results are added in f64 or with compensation: the error stays near
//!   that of pairwise summation. [`fold_rows`] adds eight rows at a time, pairwise.
//! - Integer sums and products wrap.
//! - Minimum and maximum propagate NaN; arg-reductions return the first NaN, else the first extreme value (NumPy).
//! - Empty runs: 0 for sums, 1 for products; minimum and maximum give the identity of the order (+inf, −inf, or
//!   the type's limits), which a caller that follows NumPy rejects beforehand; arg-reductions give `None`.

mod arg;
mod fold;
mod number;
#[cfg(test)]
mod tests;
mod truth;

pub use arg::{ArgMax, ArgMin, ArgOrder, arg_fold_row, arg_reduce};
pub use fold::{fold_rows, reduce, reduce_short, sum_wide};
pub use number::{Max, Min, Number, Prod, Reducer, Sum};
pub use truth::{all_true, any_true, count_true};

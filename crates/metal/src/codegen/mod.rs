//! From a step to the code around its kernel: types, `Args`, `Env`, `in0 …`, `finish`.
//!
//! The source of a pipeline is defines, `kernels/prelude.metal`, this code, and the family's file, in that order. The text depends on
//! dtypes, ranks, scalar programs and variant only; extents, strides, offsets and scalar parameters are data in `Args`.

mod args;
mod program;
mod step;
mod types;

pub use args::{Args, DIMS};
pub use step::{Binding, Parts, StepCode, step_code};
pub use types::compute;

use wootz_ir::Layout;

/// Ranks up to this one are spelled out; higher ones are a loop over data, so that few texts serve all of them.
pub const SPELLED_RANK: usize = 3;

/// Whether four neighbouring points of the last axis can be read (or written) in one access by every layout: steps of 1 or
/// 0, and starts that are multiples of four. `width` is the extent within which four points may not be split.
pub fn takes_four<'a>(width: usize, layouts: impl IntoIterator<Item = &'a Layout>) -> bool {
    width.is_multiple_of(4)
        && layouts.into_iter().all(|layout| {
            let Some((&last, outer)) = layout.strides.split_last() else { return false };
            match last {
                0 => true,
                1 => layout.offset.is_multiple_of(4) && outer.iter().all(|s| s % 4 == 0),
                _ => false,
            }
        })
}

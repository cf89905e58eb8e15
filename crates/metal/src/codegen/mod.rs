//! Code generation for a step, around its kernel: types, `Args`, `Env`, `in0 …`, `finish`.
//!
//! The source of a pipeline is `kernels/prelude.metal`, defines, this code, and the family's file, in that order. The
//! text depends only on dtypes, ranks, scalar programs and variant; extents, strides, offsets and scalar parameters
//! are data in `Args`.

mod msl;
mod step;

pub use msl::{Msl, storage};
pub use step::{Parts, StepCode, step_code, user_code};

use wootz_gpu::quads_of_layout;
use wootz_ir::Layout;

/// Whether four neighbouring points of the last axis can be read (or written) in one access by every layout: steps of 1 or
/// 0, and starts that are multiples of four. `width` is the extent within which four points may not be split.
pub fn takes_four<'a>(width: usize, layouts: impl IntoIterator<Item = &'a Layout>) -> bool {
    let is_quad = |layout: &Layout| layout.strides.last() == Some(&0) || quads_of_layout(layout);
    width.is_multiple_of(4) && layouts.into_iter().all(is_quad)
}

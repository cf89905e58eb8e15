//! Rotary embedding.

use super::{Launch, Launches};
use crate::source::kernels;
use wootz_gpu::problem::RowsProblem;
use wootz_ir::op::RopeStyle;
use wootz_plan::Step;

/// Rows that the grid has at most; a thread takes every so-manyth beyond.
const MOST_ROWS: usize = 65535;

pub fn launches(step: &Step, style: RopeStyle) -> Launches {
    let half = step.input_shapes[2].count();
    if step.shape.count() == 0 {
        return Launches::default();
    }
    let RowsProblem { rows, width } = RowsProblem::of(&step.shape);
    let units = width - half;
    let threads = units.next_power_of_two().clamp(32, 256) as u32;
    let mut launch = Launch::new(kernels!("rope"), "rope").over(units, threads, u32::MAX / 256);
    launch.groups[1] = rows.min(MOST_ROWS) as u32;
    launch.dims = vec![rows as u64, width as u64, half as u64];
    if style == RopeStyle::Interleaved { launch.define("INTERLEAVED", 1) } else { launch }.alone()
}

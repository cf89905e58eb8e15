//! Binary search: a thread per value.

use super::{Launch, Launches};
use crate::source::kernels;
use wootz_plan::Step;

/// Groups beyond which threads take several turns.
const MOST_GROUPS: u32 = 1 << 16;

pub fn launches(step: &Step, right: bool) -> Launches {
    let points = step.shape.count();
    if points == 0 {
        return Launches::default();
    }
    let mut launch = Launch::new(kernels!("search_sorted"), "search_sorted").over(points, 256, MOST_GROUPS);
    launch.dims = vec![points as u64, step.input_shapes[0][0] as u64];
    if right { launch.define("RIGHT", 1) } else { launch }.alone()
}

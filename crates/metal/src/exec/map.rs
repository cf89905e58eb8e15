//! Fused elementwise code, copies and casts.

use super::{Launch, Launches};
use crate::codegen::{Parts, takes_four};
use crate::source::kernels;
use wootz_plan::Step;

/// Groups beyond which threads take several turns.
const MOST_GROUPS: u32 = 1 << 16;

pub fn launches(step: &Step) -> Launches {
    let points = step.epilogue.shape.count();
    if points == 0 {
        return Launches::default();
    }
    let four = walks_by_four(step);
    let mut launch = Launch::new(kernels!("map"), "map").over(
        if four { points.div_ceil(4) } else { points },
        256,
        MOST_GROUPS,
    );
    launch.parts = Parts { inputs: false, four, ..Parts::WHOLE };
    launch.dims = vec![points as u64];
    if four { launch.define("VECTOR", 1) } else { launch }.alone()
}

/// Whether every load and store takes four neighbouring points at once. On a single axis the rest is taken one by one.
fn walks_by_four(step: &Step) -> bool {
    let shape = &step.epilogue.shape;
    let width = if shape.rank() == 1 { 4 } else { shape.last().copied().unwrap_or(1) };
    let layouts = step.epilogue.loads.iter().map(|l| &l.layout).chain(step.stores.iter().map(|s| &s.layout));
    shape.count() >= 4 && takes_four(width, layouts)
}

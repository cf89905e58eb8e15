//! Sorting rows: tiles in threadgroup memory, then merges.

use super::{Launch, Launches, refuse};
use crate::codegen::{Parts, compute};
use crate::driver::Facts;
use wootz_ir::Result;
use wootz_plan::Step;

/// What a sorted row leaves.
#[derive(Clone, Copy)]
pub struct Order {
    pub descending: bool,
    pub limit: usize,
    pub positions: bool,
}

/// Elements that a threadgroup sorts; with 64-bit keys they take 12 KiB.
const TILE: usize = 1024;

pub fn launches(step: &Step, facts: &Facts, order: Order) -> Result<Launches> {
    let width = step.input_shapes[0].last().copied().unwrap_or(1);
    let limit = order.limit.min(width);
    let rows = step.input_shapes[0].count() / width.max(1);
    if rows == 0 || limit == 0 {
        return Ok(Launches::default());
    }
    let key = step.inputs[0].program.result_type(0);
    // Two generations of keys and positions.
    let generation = (rows * width * (key.dtype().size() + 4)).next_multiple_of(256);
    if rows > u32::MAX as usize
        || (!step.wide && generation / 2 > i32::MAX as usize)
        || width >= u32::MAX as usize
    {
        return refuse(step, facts, &format!("{rows} rows of {width} elements are too many to sort at once"));
    }
    let base = |kernel: &'static str| {
        let launch = Launch::new("sort", kernel).define("KEY", compute(key));
        let launch = if order.descending { launch.define("DESCENDING", 1) } else { launch };
        if order.positions { launch.define("POSITIONS", 1) } else { launch }
    };
    let dims = |run: usize, from: usize, to: usize| {
        [rows, width, limit, run, from * generation / 4, to * generation / 4].map(|n| n as u64).to_vec()
    };
    let tiles = width.div_ceil(TILE);
    let mut tile = base("sort_tile").define("TILE", TILE);
    tile.threads = [256, 1, 1];
    tile.groups = [tiles as u32, rows as u32, 1];
    tile.dims = dims(TILE, 1, 0);
    if tiles == 1 {
        return Ok(tile.define("LAST", 1).alone());
    }
    tile.parts = Parts { epilogue: false, scratch: true, ..Parts::WHOLE };
    let mut list = vec![tile];
    let (mut run, mut from) = (TILE, 0);
    while run < width {
        let last = run * 2 >= width;
        let mut merge = base("sort_merge").over(width, 256, u32::MAX / 256);
        merge.groups[1] = rows as u32;
        merge.dims = dims(run, from, 1 - from);
        merge.parts = Parts { inputs: false, epilogue: last, scratch: true, ..Parts::WHOLE };
        merge.barrier = true;
        list.push(if last { merge.define("LAST", 1) } else { merge });
        (run, from) = (run * 2, 1 - from);
    }
    Ok(Launches { list, scratch: 2 * generation })
}

//! Row sorting: tiles in threadgroup memory, then merges; for top-k, repeated selection of each tile's first
//! elements.

use super::{Launch, Launches, refuse};
use crate::codegen::{Msl, Parts};
use crate::driver::Facts;
use crate::source::kernels;
use wootz_gpu::Language;
use wootz_gpu::problem::RowsProblem;
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

/// Selections go by tiles where the firsts of a tile are at most this part of it, so that each pass leaves much less than it read.
const SELECTED: usize = 4;

pub fn launches(step: &Step, facts: &Facts, order: Order) -> Result<Launches> {
    let RowsProblem { rows, width } = RowsProblem::of(&step.input_shapes[0]);
    let limit = order.limit.min(width);
    if rows == 0 || limit == 0 {
        return Ok(Launches::default());
    }
    let key = step.inputs[0].program.result_type(0);
    let base = |kernel: &'static str| {
        let launch = Launch::new(kernels!("sort"), kernel).define("KEY", Msl::name(key));
        let launch = if order.descending { launch.define("DESCENDING", 1) } else { launch };
        if order.positions { launch.define("POSITIONS", 1) } else { launch }
    };
    let element = key.dtype().size() + 4;
    if width > TILE && limit * SELECTED <= TILE && rows <= u16::MAX as usize && !step.wide {
        return Ok(selection(Rows { rows, width, limit, element }, &base));
    }
    // Two generations of keys and positions.
    let generation = (rows * width * element).next_multiple_of(256);
    if rows > u32::MAX as usize
        || (!step.wide && generation / 2 > i32::MAX as usize)
        || width >= u32::MAX as usize
    {
        return refuse(step, facts, &format!("{rows} rows of {width} elements are too many for one sort"));
    }
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
        list.push(if last { merge.define("LAST", 1) } else { merge });
        (run, from) = (run * 2, 1 - from);
    }
    Ok(Launches { list, scratch: 2 * generation })
}

/// Rows, their width, how many of each are wanted, and bytes of a key with its position.
#[derive(Clone, Copy)]
struct Rows {
    rows: usize,
    width: usize,
    limit: usize,
    element: usize,
}

/// The first `limit` elements of each tile, then of tiles of those, until one tile is left: rows are read once and
/// never sorted completely.
fn selection(of: Rows, base: &dyn Fn(&'static str) -> Launch) -> Launches {
    let Rows { rows, limit, element, .. } = of;
    // What a pass leaves of a row: the firsts of each tile, side by side.
    let left = |width: usize| {
        let tiles = width.div_ceil(TILE);
        (tiles - 1) * limit + limit.min(width - (tiles - 1) * TILE)
    };
    let generation = (rows * left(of.width) * element).next_multiple_of(256);
    let mut list = Vec::new();
    let (mut width, mut from) = (of.width, 1);
    loop {
        let last = width <= TILE;
        let mut tile = base("sort_tile").define("TILE", TILE).define(if last { "LAST" } else { "SELECT" }, 1);
        tile.threads = [256, 1, 1];
        tile.groups = [width.div_ceil(TILE) as u32, rows as u32, 1];
        let words = [from * generation / 4, (1 - from) * generation / 4];
        tile.dims = [rows, width, limit, left(width), words[0], words[1]].map(|n| n as u64).to_vec();
        let is_first = list.is_empty();
        tile.parts = Parts { inputs: is_first, epilogue: last, scratch: true, ..Parts::WHOLE };
        list.push(if is_first { tile } else { tile.define("AGAIN", 1) });
        if last {
            return Launches { list, scratch: 2 * generation };
        }
        (width, from) = (left(width), 1 - from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_shrink_to_one_tile() {
        for (width, limit, passes) in [(1025, 1, 2), (152_064, 40, 3), (152_064, 256, 5), (1 << 24, 1, 3)] {
            let base = |kernel: &'static str| Launch::new(kernels!("sort"), kernel);
            let launches = selection(Rows { rows: 2, width, limit, element: 8 }, &base);
            assert_eq!(launches.list.len(), passes, "{width} {limit}");
            assert_eq!(launches.list[passes - 1].groups, [1, 2, 1]);
        }
    }
}

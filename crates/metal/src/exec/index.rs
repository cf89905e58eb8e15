//! Gather, scatter, write-at, and gathering of quantised rows.

use super::{Launch, Launches, refuse};
use crate::codegen::{Parts, storage};
use crate::driver::Facts;
use crate::source::{Texts, kernels};
use wootz_ir::op::ScatterMode;
use wootz_ir::{BlockFormat, DType, Result, Shape};
use wootz_plan::Step;

/// Groups beyond which threads take several turns.
const MOST_GROUPS: u32 = 1 << 16;
/// Rows that a grid has at most; a thread takes every so-manyth beyond.
const MOST_ROWS: usize = 65535;

/// The dims of index.metal: points of a space, its axis, the extent that indices reach.
fn dims(space: &Shape, axis: u8, extent: usize) -> Vec<u64> {
    let head = [space.count(), space.rank(), axis as usize, extent];
    head.into_iter().chain(space.iter().copied()).map(|n| n as u64).collect()
}

fn over(kernel: &'static str, texts: Texts, points: usize) -> Launch {
    Launch::new(texts, kernel).over(points, 256, MOST_GROUPS)
}

pub fn gather(step: &Step, axis: u8) -> Launches {
    if step.shape.count() == 0 {
        return Launches::default();
    }
    let mut launch = over("gather", kernels!("index", "gather"), step.shape.count());
    launch.dims = dims(&step.shape, axis, step.input_shapes[0][axis as usize]);
    launch.alone()
}

pub fn write_at(step: &Step, axis: u8) -> Launches {
    let rows = &step.input_shapes[0];
    if rows.count() == 0 && step.shape.count() == 0 {
        return Launches::default();
    }
    let mut launch = over("write_at", kernels!("write_at"), rows.count());
    launch.dims = dims(rows, axis, step.stores[0].layout.shape[axis as usize]);
    launch.alone()
}

pub fn scatter(step: &Step, facts: &Facts, axis: u8, mode: ScatterMode) -> Result<Launches> {
    let points = &step.input_shapes[0];
    let target = &step.stores[0].layout.shape;
    if points.count() == 0 || target.count() == 0 {
        return Ok(Launches::default());
    }
    let space = dims(points, axis, target[axis as usize]);
    if mode == ScatterMode::Add {
        let mut launch =
            over("scatter_add", kernels!("lanes", "index", "scatter"), points.count()).define("ADDS", 1);
        launch.dims = space;
        return Ok(launch.alone());
    }
    let reached = points.count() / points[axis as usize] * target[axis as usize];
    if points.count() >= u32::MAX as usize || reached > u32::MAX as usize {
        return refuse(step, facts, "it sets more elements than fit in 32 bits");
    }
    let parts = Parts { inputs: false, epilogue: false, four: false, input_four: false, scratch: true };
    let mut clear = over("scatter_clear", kernels!("lanes", "index", "scatter"), reached).define("CLEARS", 1);
    clear.parts = parts.clone();
    clear.dims = vec![reached as u64];
    let mut elect = over("scatter_elect", kernels!("lanes", "index", "scatter"), points.count())
        .define("ELECTS", 1)
        .define("SETS", 1);
    elect.parts = Parts { inputs: true, ..parts };
    elect.dims = space.clone();
    let mut write = over("scatter_set", kernels!("lanes", "index", "scatter"), points.count())
        .define("WRITES", 1)
        .define("SETS", 1);
    write.parts = Parts { scratch: true, ..Parts::WHOLE };
    write.dims = space;
    Ok(Launches { list: vec![clear, elect, write], scratch: reached * 4 })
}

pub fn quant_gather(step: &Step, facts: &Facts, format: BlockFormat) -> Result<Launches> {
    let width = step.shape.last().copied().unwrap_or(0);
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let rows = step.shape.count() / width;
    let load = step.inputs[0].plain();
    if load.is_none_or(|load| load.layout.shape[1] > 1 && load.layout.strides[1] != 1) {
        return refuse(step, facts, "the bytes of a quantised row must be contiguous");
    }
    // A pair of runs of 16 values, or one value.
    let unit = if format.is_float() { 1 } else { 32 };
    let units = width / unit;
    let threads = units.next_power_of_two().clamp(32, 256) as u32;
    let texts: Texts =
        if format.is_float() { kernels!("quant_gather") } else { kernels!("blocks", "quant_gather") };
    let mut launch = Launch::new(texts, "quant_gather").over(units, threads, u32::MAX / 256);
    launch.groups[1] = rows.min(MOST_ROWS) as u32;
    launch.dims = vec![rows as u64, width as u64, step.input_shapes[0][0] as u64, unit as u64];
    Ok(match DType::of_format(format) {
        Some(dtype) => launch.define("FLOATS", storage(dtype)),
        None => launch.format(format),
    }
    .alone())
}

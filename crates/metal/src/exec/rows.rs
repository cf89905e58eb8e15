//! Common code of kernels with a threadgroup per row: the number of threads, and vectorised access to four elements.

use super::{Launch, refuse};
use crate::codegen::{Parts, takes_four};
use crate::driver::Facts;
use crate::source::Texts;
use wootz_gpu::problem::RowsProblem;
use wootz_ir::Result;
use wootz_plan::{Fused, Step};

/// Elements of a row that one thread holds in registers.
pub const ITEMS: usize = 4;
/// The most threads of a group.
const MOST_THREADS: usize = 1024;

/// Threads of a group that takes a row of `width`, `items` each: whole simdgroups.
pub fn threads_for(width: usize, items: usize, most: usize, facts: &Facts) -> u32 {
    let lanes = facts.simd_width as usize;
    width.div_ceil(items).next_multiple_of(lanes).clamp(lanes, most) as u32
}

/// Whether input 0 can be read four points at a time along rows of `width`.
pub fn input_by_four(input: &Fused, width: usize) -> bool {
    let last = input.shape.last().copied().unwrap_or(1);
    width.is_multiple_of(4) && takes_four(last, input.loads.iter().map(|load| &load.layout))
}

/// Whether results can be finished four points at a time along rows of `width`.
fn output_by_four(step: &Step, width: usize) -> bool {
    let last = step.epilogue.shape.last().copied().unwrap_or(1);
    let layouts =
        step.epilogue.loads.iter().map(|load| &load.layout).chain(step.stores.iter().map(|s| &s.layout));
    width.is_multiple_of(4) && takes_four(last, layouts)
}

/// A launch with a threadgroup per row, of the variant that holds the row in registers where it fits.
pub fn launch(
    step: &Step,
    facts: &Facts,
    texts: Texts,
    (held, walked): (&'static str, &'static str),
) -> Result<Launch> {
    let RowsProblem { rows, width } = RowsProblem::of(&step.shape);
    let fits = width <= ITEMS * MOST_THREADS;
    let mut launch = Launch::new(texts, if fits { held } else { walked });
    if fits {
        launch = launch.define("ITEMS", ITEMS);
    }
    let four = fits && input_by_four(&step.inputs[0], width) && output_by_four(step, width);
    launch.parts = Parts { four, input_four: four, ..Parts::WHOLE };
    launch.dims = vec![rows as u64, width as u64];
    let threads = threads_for(width, ITEMS, MOST_THREADS, facts);
    launch.threads = [threads, 1, 1];
    launch.groups = [groups(step, facts, rows, threads)?, 1, 1];
    Ok(launch)
}

/// A group per row, where Metal can count the threads of all of them.
pub fn groups(step: &Step, facts: &Facts, rows: usize, threads: u32) -> Result<u32> {
    match u32::try_from(rows) {
        Ok(rows) if rows.checked_mul(threads).is_some() => Ok(rows),
        _ => refuse(step, facts, &format!("{rows} rows of {threads} threads exceed a single dispatch")),
    }
}

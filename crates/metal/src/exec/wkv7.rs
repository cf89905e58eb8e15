//! RWKV-7's recurrence.

use super::{Launch, Launches, refuse};
use crate::driver::Facts;
use crate::source::kernels;
use wootz_ir::Result;
use wootz_plan::Step;

/// Threadgroup memory for the vectors of a chunk of steps.
const CHUNK_MEMORY: usize = 16 << 10;
/// Threads of a threadgroup, four per row of the state.
const MOST_THREADS: usize = 256;

pub fn launches(step: &Step, facts: &Facts) -> Result<Launches> {
    if step.inputs.iter().any(|input| input.plain().is_none()) {
        return refuse(step, facts, "its operands are not in memory, as requested from the planner");
    }
    let [steps, heads, width] = step.input_shapes[0][..] else {
        unreachable!("wkv7 takes inputs of three axes")
    };
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    // Rows of a head's state.
    let rows = step.input_shapes[3][2];
    let threads = (rows * 4).next_multiple_of(32).min(MOST_THREADS);
    let of_step = (5 * width.next_multiple_of(16) + rows.next_multiple_of(4)) * size_of::<f32>();
    let chunk = (CHUNK_MEMORY / of_step).clamp(1, 16).min(steps.max(1).next_power_of_two());
    if chunk * of_step > facts.max_threadgroup_memory as usize {
        let reason = format!("heads of {width} need {of_step} bytes of threadgroup memory");
        return refuse(step, facts, &reason);
    }
    let mut launch = Launch::new(kernels!("products", "wkv7"), "wkv7")
        .define("WIDTH", width)
        .define("ROWS", rows)
        .define("CHUNK", chunk)
        .define("THREADS", threads);
    launch.dims = vec![steps as u64, heads as u64];
    launch.groups = [(rows * 4).div_ceil(threads) as u32, heads as u32, 1];
    launch.threads = [threads as u32, 1, 1];
    Ok(launch.alone())
}

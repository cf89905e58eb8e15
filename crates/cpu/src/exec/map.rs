//! Elementwise code alone.

use super::Task;
use super::tape::BLOCK;
use super::workspace::Workspace;

/// Points that one worker takes at least.
const GRAIN: usize = 4 * BLOCK;

pub fn run(task: &Task<'_>, workspace: &mut Workspace) {
    let tape = task.epilogue;
    let range = task.worker.split(tape.len, GRAIN);
    if range.is_empty() {
        return;
    }
    // SAFETY: the run binds the plan's buffers, and workers take disjoint ranges.
    unsafe {
        let mut frame = tape.begin(task.run, workspace, range.len());
        tape.store(task.run, &mut frame, range, std::ptr::null());
    }
}

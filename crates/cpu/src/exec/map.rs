//! Elementwise steps.

use super::Task;
use super::tape::BLOCK;
use super::workspace::Workspace;
use crate::copy::Gather;
use crate::team::SyncPtr;
use wootz_plan::{Load, Source, Store};

/// Minimum number of points per worker.
const GRAIN: usize = 4 * BLOCK;

pub fn run(task: &Task<'_>, workspace: &Workspace) {
    if let Some((load, store)) = moves_elements(task) {
        return match load.dtype.size() {
            1 => move_elements::<u8>(task, load, store),
            2 => move_elements::<u16>(task, load, store),
            4 => move_elements::<u32>(task, load, store),
            _ => move_elements::<u64>(task, load, store),
        };
    }
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

/// The load and the store of a step that only brings elements of another layout into order.
fn moves_elements<'a>(task: &Task<'a>) -> Option<(&'a Load, &'a Store)> {
    let load = task.step.epilogue.plain()?;
    let store = &task.step.stores[0];
    let moves = matches!(load.source, Source::Buffer(_))
        && load.dtype == store.dtype
        && store.layout.is_contiguous()
        && !load.layout.is_contiguous();
    moves.then_some((load, store))
}

fn move_elements<T: Copy + Send + Sync>(task: &Task<'_>, load: &Load, store: &Store) {
    let Source::Buffer(buffer) = load.source else { unreachable!("checked before") };
    let from = task.run.pointers[buffer as usize].cast::<T>().wrapping_add(load.layout.offset);
    let to = task.run.pointers[store.buffer as usize].cast::<T>().wrapping_add(store.layout.offset);
    // SAFETY: the plan keeps both layouts inside their buffers, and no other step touches the store now.
    unsafe {
        let gather = Gather::new(from.cast_const(), &load.layout.shape, &load.layout.strides);
        gather.run(task.worker, SyncPtr::new(to));
    }
}

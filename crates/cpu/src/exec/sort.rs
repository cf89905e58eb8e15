//! Stable sorting of rows, whole or the first few; NaN counts as largest.

use super::Task;
use super::workspace::Workspace;
use crate::sort::{SortKey, Sorter};
use wootz_ir::ScalarType;

/// What a sorted row leaves.
#[derive(Clone, Copy)]
struct Order {
    descending: bool,
    limit: usize,
    positions: bool,
}

pub fn values(task: &Task<'_>, workspace: &mut Workspace, descending: bool, limit: usize) {
    run(task, workspace, Order { descending, limit, positions: false });
}

pub fn positions(task: &Task<'_>, workspace: &mut Workspace, descending: bool, limit: usize) {
    run(task, workspace, Order { descending, limit, positions: true });
}

fn run(task: &Task<'_>, workspace: &mut Workspace, order: Order) {
    match task.inputs[0].result_type {
        ScalarType::Bool => typed::<u8>(task, workspace, order),
        ScalarType::I32 => typed::<i32>(task, workspace, order),
        ScalarType::U32 => typed::<u32>(task, workspace, order),
        ScalarType::I64 => typed::<i64>(task, workspace, order),
        ScalarType::U64 => typed::<u64>(task, workspace, order),
        ScalarType::F32 => typed::<f32>(task, workspace, order),
        ScalarType::F64 => typed::<f64>(task, workspace, order),
    }
}

fn typed<T: SortKey + bytemuck::Pod>(task: &Task<'_>, workspace: &mut Workspace, order: Order) {
    let width = task.step.input_shapes[0].last().copied().unwrap_or(1);
    let rows = task.inputs[0].len.checked_div(width).unwrap_or(0);
    let own = task.worker.split(rows, 256usize.div_ceil(width.max(1)));
    let limit = order.limit.min(width);
    if own.is_empty() || limit == 0 {
        return;
    }
    let row = workspace.slice::<T>(width);
    let sorted = workspace.slice::<T>(if order.positions { 0 } else { limit });
    let places = workspace.slice::<i64>(if order.positions { limit } else { 0 });
    let mut sorter = Sorter::default();
    let tape = &task.inputs[0];
    // SAFETY: the points exist, the row is as long as the range, and workers take disjoint rows.
    unsafe {
        let mut frame = tape.begin(task.run, workspace, width);
        let mut finish = task.epilogue.begin(task.run, workspace, limit);
        for index in own {
            tape.load(task.run, &mut frame, index * width..(index + 1) * width, row.as_mut_ptr().cast());
            let from = if order.positions {
                sorter.places(row, order.descending, places);
                places.as_ptr().cast()
            } else {
                sorter.values(row, order.descending, sorted);
                sorted.as_ptr().cast()
            };
            task.epilogue.store(task.run, &mut finish, index * limit..(index + 1) * limit, from);
        }
    }
}

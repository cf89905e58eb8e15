//! Stable sorting of rows, complete or top-k; NaN sorts last.

use super::Task;
use super::workspace::Workspace;
use crate::sort::{LONGEST, Places, Scheme, SortKey, Sorter, Together, Values, fill, finish};
use std::ops::Range;
use wootz_ir::ScalarType;
use wootz_plan::{Kernel, Step};

/// A row from this length on is sorted by all workers together, if there are fewer rows than workers or just one.
const LONG: usize = 1 << 16;

/// Which order, and how much of it.
#[derive(Clone, Copy)]
struct Order {
    descending: bool,
    limit: usize,
    positions: bool,
}

pub fn values(task: &Task<'_>, workspace: &Workspace, descending: bool, limit: usize) {
    run(task, workspace, Order { descending, limit, positions: false });
}

pub fn positions(task: &Task<'_>, workspace: &Workspace, descending: bool, limit: usize) {
    run(task, workspace, Order { descending, limit, positions: true });
}

/// Rows and their length.
fn extent(step: &Step) -> (usize, usize) {
    let shape = &step.input_shapes[0];
    let width = shape.last().copied().unwrap_or(1);
    (shape.count().checked_div(width).unwrap_or(0), width)
}

/// Whether that many workers sort one row together. Partial sorts are left to one worker.
fn is_together(step: &Step, limit: usize, workers: usize) -> bool {
    let (rows, width) = extent(step);
    (rows < workers || rows == 1) && (LONG..=LONGEST).contains(&width) && limit >= width / 4
}

/// Working memory for rows that are sorted together.
pub fn shared_bytes(step: &Step, workers: usize) -> usize {
    let (Kernel::Sort { limit, .. } | Kernel::ArgSort { limit, .. }) = step.kernel else { return 0 };
    if !is_together(step, limit, workers) {
        return 0;
    }
    let (_, width) = extent(step);
    match (&step.kernel, step.inputs[0].program.result_type(0).dtype().size() > 4) {
        (Kernel::Sort { .. }, false) => Together::<u32>::bytes(width, workers),
        (Kernel::Sort { .. }, true) | (_, false) => Together::<u64>::bytes(width, workers),
        (_, true) => Together::<u128>::bytes(width, workers),
    }
}

fn run(task: &Task<'_>, workspace: &Workspace, order: Order) {
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

fn typed<T: SortKey + bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, order: Order) {
    let (_, width) = extent(task.step);
    match (order.positions, width <= LONGEST) {
        (false, _) => rows::<T, Values>(task, workspace, order),
        (true, true) => rows::<T, Places<T::Placed>>(task, workspace, order),
        (true, false) => rows::<T, Places<u128>>(task, workspace, order),
    }
}

fn rows<T: SortKey + bytemuck::Pod, S: Scheme<T, Out: bytemuck::Pod>>(
    task: &Task<'_>,
    workspace: &Workspace,
    order: Order,
) {
    let (rows, width) = extent(task.step);
    let limit = order.limit.min(width);
    if limit == 0 {
        return;
    }
    if is_together(task.step, order.limit, task.worker.count()) {
        for row in 0..rows {
            if row > 0 {
                // The memory of the last row is nobody's again.
                task.worker.barrier();
            }
            together::<T, S>(task, workspace, row, order);
        }
        return;
    }
    let own = task.worker.split(rows, 256usize.div_ceil(width.max(1)));
    if own.is_empty() {
        return;
    }
    let row = workspace.slice::<T>(width);
    let sorted = workspace.slice::<S::Out>(limit);
    let mut sorter = Sorter::default();
    let tape = &task.inputs[0];
    // SAFETY: the points exist, the row is as long as the range, and workers take disjoint rows.
    unsafe {
        let mut frame = tape.begin(task.run, workspace, width);
        let mut finish = task.epilogue.begin(task.run, workspace, limit);
        for index in own {
            tape.load(task.run, &mut frame, index * width..(index + 1) * width, row.as_mut_ptr().cast());
            sorter.sort::<T, S>(row, order.descending, sorted);
            let range = index * limit..(index + 1) * limit;
            task.epilogue.store(task.run, &mut finish, range, sorted.as_ptr().cast());
        }
    }
}

/// One row, sorted by all workers: each reads and writes its share.
fn together<T: SortKey + bytemuck::Pod, S: Scheme<T, Out: bytemuck::Pod>>(
    task: &Task<'_>,
    workspace: &Workspace,
    row: usize,
    order: Order,
) {
    let (_, width) = extent(task.step);
    let limit = order.limit.min(width);
    let tape = &task.inputs[0];
    // SAFETY: `shared_bytes` reserved the memory, for at least as many workers, and every worker comes here.
    let mut together = unsafe { Together::<S::Item>::new(task.worker, task.shared, width) };
    let share = together.share();
    let range: Range<usize> = row * width + share.start..row * width + share.end;
    // SAFETY: the points exist, `values` is as long as the range, and the workspace is this worker's.
    let values: &[T] = unsafe {
        match tape.in_memory(task.run) {
            Some(base) => std::slice::from_raw_parts(base.cast::<T>().add(range.start), range.len()),
            None => {
                let values = workspace.slice::<T>(share.len());
                let mut frame = tape.begin(task.run, workspace, share.len());
                tape.load(task.run, &mut frame, range, values.as_mut_ptr().cast());
                values
            }
        }
    };
    let (part, sorted) =
        together.sort(S::BITS, |items| fill::<T, S>(items, values, share.start, order.descending));
    let first = &sorted[..limit.saturating_sub(part.start).min(part.len())];
    let start = row * limit + part.start;
    // SAFETY: the points exist, `out` is as long as their range, and workers store disjoint parts.
    unsafe {
        let direct = task.epilogue.store_in_memory(task.run);
        let out: &mut [S::Out] = match direct {
            Some(to) => std::slice::from_raw_parts_mut(to.cast::<S::Out>().wrapping_add(start), first.len()),
            None => workspace.slice(first.len()),
        };
        finish::<T, S>(out, first, order.descending);
        if direct.is_none() {
            let mut frame = task.epilogue.begin(task.run, workspace, out.len());
            task.epilogue.store(task.run, &mut frame, start..start + out.len(), out.as_ptr().cast());
        }
    }
}

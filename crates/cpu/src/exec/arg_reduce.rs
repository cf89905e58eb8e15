//! Arg-reductions: the position of the minimum or maximum of each row.

use super::Task;
use super::workspace::Workspace;
use crate::reduce::{ArgMax, ArgMin, ArgOrder, Number, arg_reduce};
use std::ops::Range;
use wootz_ir::ScalarType;
use wootz_ir::op::ArgOp;
use wootz_plan::Step;

pub fn run(task: &Task<'_>, workspace: &Workspace, op: ArgOp) {
    match task.inputs[0].result_type {
        ScalarType::Bool => typed::<u8>(task, workspace, op),
        ScalarType::I32 => typed::<i32>(task, workspace, op),
        ScalarType::U32 => typed::<u32>(task, workspace, op),
        ScalarType::I64 => typed::<i64>(task, workspace, op),
        ScalarType::U64 => typed::<u64>(task, workspace, op),
        ScalarType::F32 => typed::<f32>(task, workspace, op),
        ScalarType::F64 => typed::<f64>(task, workspace, op),
    }
}

/// Elements of a row that are worth a worker of their own.
const SHARE: usize = 1 << 14;

/// Whether workers share the elements of each row: there are too few rows to share out, and they are long.
fn is_shared(step: &Step, workers: usize) -> bool {
    let (rows, width) = extent(step);
    rows < workers && width >= 2 * SHARE
}

/// What each worker found in its part of each row.
pub fn shared_bytes(step: &Step, workers: usize) -> usize {
    if is_shared(step, workers) { workers * extent(step).0 * size_of::<Found<u64>>() } else { 0 }
}

/// Rows and their length.
fn extent(step: &Step) -> (usize, usize) {
    let rows = step.shape.count();
    (rows, step.inputs[0].shape.count().checked_div(rows).unwrap_or(0))
}

/// The best element of a part of a row, and where it is in the row; a part without elements has none.
#[derive(Clone, Copy)]
struct Found<T>(Option<(i64, T)>);

fn typed<T: Number + bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, op: ArgOp) {
    let (rows, width) = extent(task.step);
    let (worker, workers) = (task.worker, task.worker.count());
    if !is_shared(task.step, workers) {
        let own = worker.split(rows, 1024usize.div_ceil(width.max(1)));
        // SAFETY: rows are the tape's points, and workers take disjoint ones.
        unsafe {
            let mut finish = task.epilogue.begin(task.run, workspace, 1);
            each_row::<T>(task, workspace, (own, 0..width), |index, row| {
                let best = position(row, op) as i64;
                task.epilogue.store(task.run, &mut finish, index..index + 1, (&raw const best).cast());
            });
        }
        return;
    }
    let own = worker.split(width, SHARE);
    let found =
        |worker: usize, row: usize| task.shared.get().cast::<Found<T>>().wrapping_add(worker * rows + row);
    // SAFETY: the columns exist; there is room for what each worker finds in each row, which it alone writes before the barrier;
    // after it, the first worker alone stores results.
    unsafe {
        each_row::<T>(task, workspace, (0..rows, own.clone()), |index, part| {
            let best = (!part.is_empty()).then(|| {
                let at = position(part, op);
                ((own.start + at) as i64, part[at])
            });
            found(worker.index(), index).write(Found(best));
        });
        worker.barrier();
        if worker.index() > 0 {
            return;
        }
        let mut finish = task.epilogue.begin(task.run, workspace, 1);
        for row in 0..rows {
            let parts = (0..workers).filter_map(|worker| found(worker, row).read().0);
            let best = parts.reduce(|a, b| if comes_before(op, a.1, b.1) { a } else { b });
            let best = best.map_or(0, |(at, _)| at);
            task.epilogue.store(task.run, &mut finish, row..row + 1, (&raw const best).cast());
        }
    }
}

/// Whether the best of a part stands against that of a later part.
fn comes_before<T: Number>(op: ArgOp, first: T, later: T) -> bool {
    match op {
        ArgOp::Min => !<ArgMin as ArgOrder<T>>::beats(later, first),
        ArgOp::Max => !<ArgMax as ArgOrder<T>>::beats(later, first),
    }
}

/// Shows some columns of some rows. What lies in memory is looked at where it is.
///
/// # Safety
/// The rows and the columns exist in the step's input.
unsafe fn each_row<T: bytemuck::Pod>(
    task: &Task<'_>,
    workspace: &Workspace,
    (rows, columns): (Range<usize>, Range<usize>),
    mut show: impl FnMut(usize, &[T]),
) {
    let (_, width) = extent(task.step);
    let (tape, n) = (&task.inputs[0], columns.len());
    if rows.is_empty() {
        return;
    }
    // SAFETY: the caller's promise; the row of values is as long as the range.
    unsafe {
        let there = tape.in_memory(task.run).map(<*const u8>::cast::<T>);
        let values = workspace.slice::<T>(if there.is_some() { 0 } else { n });
        let mut frame = tape.begin(task.run, workspace, n);
        for index in rows {
            let start = index * width + columns.start;
            match there {
                Some(base) => show(index, std::slice::from_raw_parts(base.add(start), n)),
                None => {
                    tape.load(task.run, &mut frame, start..start + n, values.as_mut_ptr().cast());
                    show(index, values);
                }
            }
        }
    }
}

/// Rows from this length on are worth vectors.
const LONG: usize = 64;

/// The first position of the extreme, or of the first NaN; 0 if there are no elements.
fn position<T: Number>(row: &[T], op: ArgOp) -> usize {
    match op {
        ArgOp::Min => first_of::<ArgMin, T>(row),
        ArgOp::Max => first_of::<ArgMax, T>(row),
    }
}

fn first_of<O: ArgOrder<T>, T: Number>(row: &[T]) -> usize {
    if row.len() >= LONG {
        return arg_reduce::<O, T>(row).map_or(0, |(at, _)| at);
    }
    (1..row.len()).fold(0, |best, i| if O::beats(row[i], row[best]) { i } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_and_the_first_nan_win() {
        for n in [1, 15, 63, 64, 65, 200, 1023, 1024, 1025, 5000] {
            for at in [0, n / 3, n - 1] {
                let mut row = vec![1.0; n];
                row[at] = 2.0;
                row[n - 1] = 2.0;
                assert_eq!(position(&row, ArgOp::Max), at, "{n}");
                let negative: Vec<f32> = row.iter().map(|v| -v).collect();
                assert_eq!(position(&negative, ArgOp::Min), at, "{n}");
                assert_eq!(
                    position(&row, ArgOp::Min),
                    if at == 0 { usize::from(n > 2) } else { 0 },
                    "{n} {at}"
                );
                row[at] = f32::NAN;
                row[n - 1] = f32::NAN;
                assert_eq!(position(&row, ArgOp::Max), at, "{n}");
            }
        }
        assert_eq!(position(&[-0.0, 0.0], ArgOp::Max), 0);
        assert_eq!(position(&[f32::NEG_INFINITY; 130], ArgOp::Max), 0);
    }
}

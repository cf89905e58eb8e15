//! Stable sorting of rows, whole or the first few; NaN counts as largest.

use super::Task;
use super::workspace::Workspace;
use std::cmp::Ordering;
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

/// Rising, with NaN last.
fn rising<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    a.partial_cmp(b).unwrap_or_else(|| (a != a).cmp(&(b != b)))
}

fn typed<T: PartialOrd + bytemuck::Pod>(task: &Task<'_>, workspace: &mut Workspace, order: Order) {
    let width = task.step.input_shapes[0].last().copied().unwrap_or(1);
    let rows = task.inputs[0].len.checked_div(width).unwrap_or(0);
    let own = task.worker.split(rows, 256usize.div_ceil(width.max(1)));
    let limit = order.limit.min(width);
    if own.is_empty() || limit == 0 {
        return;
    }
    let row = workspace.slice::<T>(width);
    let sorted = workspace.slice::<T>(limit);
    let places = workspace.slice::<i64>(limit);
    let mut pairs: Vec<(T, u32)> = Vec::with_capacity(width);
    let tape = &task.inputs[0];
    // SAFETY: the points exist, the row is as long as the range, and workers take disjoint rows.
    unsafe {
        let mut frame = tape.begin(task.run, workspace, width);
        let mut finish = task.epilogue.begin(task.run, workspace, limit);
        for index in own {
            tape.load(task.run, &mut frame, index * width..(index + 1) * width, row.as_mut_ptr().cast());
            pairs.clear();
            pairs.extend(row.iter().copied().zip(0u32..));
            sort_pairs(&mut pairs, order.descending, limit);
            for (i, &(value, place)) in pairs[..limit].iter().enumerate() {
                sorted[i] = value;
                places[i] = place as i64;
            }
            let from = if order.positions { places.as_ptr().cast() } else { sorted.as_ptr().cast() };
            task.epilogue.store(task.run, &mut finish, index * limit..(index + 1) * limit, from);
        }
    }
}

/// The first `limit` pairs in order. Equal values keep their order because the position decides between them.
fn sort_pairs<T: PartialOrd + Copy>(pairs: &mut [(T, u32)], descending: bool, limit: usize) {
    let compare = |a: &(T, u32), b: &(T, u32)| {
        let by_value = if descending { rising(&b.0, &a.0) } else { rising(&a.0, &b.0) };
        by_value.then(a.1.cmp(&b.1))
    };
    if limit < pairs.len() / 4 {
        pairs.select_nth_unstable_by(limit - 1, compare);
        pairs[..limit].sort_unstable_by(compare);
    } else {
        pairs.sort_unstable_by(compare);
    }
}

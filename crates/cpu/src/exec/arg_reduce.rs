//! The position of the smallest or largest element of each row.

use super::Task;
use super::workspace::Workspace;
use wootz_ir::ScalarType;
use wootz_ir::op::ArgOp;

pub fn run(task: &Task<'_>, workspace: &mut Workspace, op: ArgOp) {
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

fn typed<T: PartialOrd + bytemuck::Pod>(task: &Task<'_>, workspace: &mut Workspace, op: ArgOp) {
    let rows = task.step.shape.count();
    let width = task.inputs[0].len.checked_div(rows).unwrap_or(0);
    let own = task.worker.split(rows, 1024usize.div_ceil(width.max(1)));
    if own.is_empty() {
        return;
    }
    let row = workspace.slice::<T>(width);
    let tape = &task.inputs[0];
    // SAFETY: the points exist, the row is as long as the range, and workers take disjoint rows.
    unsafe {
        let mut frame = tape.begin(task.run, workspace, width);
        let mut finish = task.epilogue.begin(task.run, workspace, 1);
        for index in own {
            tape.load(task.run, &mut frame, index * width..(index + 1) * width, row.as_mut_ptr().cast());
            let best = position(row, op) as i64;
            task.epilogue.store(task.run, &mut finish, index..index + 1, (&raw const best).cast());
        }
    }
}

/// The first position of the extreme, or of the first NaN.
fn position<T: PartialOrd + Copy>(row: &[T], op: ArgOp) -> usize {
    let mut best = 0;
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    for i in 0..row.len() {
        if row[i] != row[i] {
            return i;
        }
        let better = match op {
            ArgOp::Min => row[i] < row[best],
            ArgOp::Max => row[i] > row[best],
        };
        if better {
            best = i;
        }
    }
    best
}

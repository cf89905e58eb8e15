//! The position of the smallest or largest element of each row.

use super::Task;
use super::workspace::Workspace;
use crate::isa::{Isa, Kernel, dispatch};
use wootz_ir::ScalarType;
use wootz_ir::op::ArgOp;

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

fn typed<T: PartialOrd + bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, op: ArgOp) {
    let rows = task.step.shape.count();
    let width = task.inputs[0].len.checked_div(rows).unwrap_or(0);
    let own = task.worker.split(rows, 1024usize.div_ceil(width.max(1)));
    if own.is_empty() {
        return;
    }
    let tape = &task.inputs[0];
    // SAFETY: the points exist, the row is as long as the range, and workers take disjoint rows.
    unsafe {
        let there = tape.in_memory(task.run).map(<*const u8>::cast::<T>);
        let row = workspace.slice::<T>(if there.is_some() { 0 } else { width });
        let mut frame = tape.begin(task.run, workspace, width);
        let mut finish = task.epilogue.begin(task.run, workspace, 1);
        for index in own {
            // What lies in memory is looked at where it is.
            let row = match there {
                Some(base) => std::slice::from_raw_parts(base.add(index * width), width),
                None => {
                    let range = index * width..(index + 1) * width;
                    tape.load(task.run, &mut frame, range, row.as_mut_ptr().cast());
                    &*row
                }
            };
            let best = dispatch(Position { row, op }) as i64;
            task.epilogue.store(task.run, &mut finish, index..index + 1, (&raw const best).cast());
        }
    }
}

/// The first position of the extreme, or of the first NaN.
struct Position<'a, T> {
    row: &'a [T],
    op: ArgOp,
}

/// Elements that are compared side by side.
const LANES: usize = 16;
/// Elements of which only the best is kept until the end.
const BLOCK: usize = 32 * LANES;

impl<T: PartialOrd + Copy> Kernel for Position<'_, T> {
    type Out = usize;
    #[inline(always)]
    fn run<I: Isa>(self) -> usize {
        match self.op {
            ArgOp::Min => first_of(self.row, |a, b| a < b),
            ArgOp::Max => first_of(self.row, |a, b| a > b),
        }
    }
}

#[inline(always)]
fn first_of<T: PartialOrd + Copy>(row: &[T], better: impl Fn(T, T) -> bool + Copy) -> usize {
    // The best block so far, by number, and its best element.
    let mut found: Option<(usize, T)> = None;
    for (number, block) in row.chunks(BLOCK).enumerate() {
        let Some(best) = best_of(block, better) else {
            return number * BLOCK + block.iter().position(is_nan).unwrap_or(0);
        };
        if found.is_none_or(|(_, known)| better(best, known)) {
            found = Some((number, best));
        }
    }
    found.map_or(0, |(number, best)| {
        let start = number * BLOCK;
        start + row[start..].iter().position(|v| *v == best).unwrap_or(0)
    })
}

/// The best element of a block that is not empty; none if there is a NaN.
#[inline(always)]
fn best_of<T: PartialOrd + Copy>(block: &[T], better: impl Fn(T, T) -> bool) -> Option<T> {
    let (pieces, rest) = block.as_chunks::<LANES>();
    let mut lanes = [block[0]; LANES];
    // A NaN of the lane, if there was one: a value and not a flag, so that it stays in a register of the same shape.
    let mut odd = lanes;
    for piece in pieces {
        for l in 0..LANES {
            lanes[l] = if better(piece[l], lanes[l]) { piece[l] } else { lanes[l] };
            odd[l] = if is_nan(&piece[l]) { piece[l] } else { odd[l] };
        }
    }
    if odd.iter().chain(rest).any(is_nan) {
        return None;
    }
    lanes.into_iter().chain(rest.iter().copied()).reduce(|a, b| if better(b, a) { b } else { a })
}

#[inline(always)]
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<T: PartialOrd>(value: &T) -> bool {
    value != value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(row: &[f32], op: ArgOp) -> usize {
        dispatch(Position { row, op })
    }

    #[test]
    fn the_first_of_equals_and_the_first_nan_win() {
        for n in [1, 15, 16, 65, 200, 511, 512, 513, 1500] {
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

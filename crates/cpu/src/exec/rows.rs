//! Kernels that take one row at a time: softmax, norms, scans.

use super::Task;
use super::workspace::Workspace;
use crate::math::Elementary;
use crate::rows::{self, Affine, RowIo};
use wootz_ir::ScalarType;
use wootz_ir::op::ScanOp;

/// Runs `f` on each row of the first input, and hands what it writes to the epilogue.
fn each_row<T: bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, mut f: impl FnMut(RowIo<T>)) {
    let width = task.step.shape.last().copied().unwrap_or(1);
    let total = task.step.shape.count();
    if total == 0 {
        return;
    }
    let own = task.worker.split(total / width, 1024usize.div_ceil(width));
    if own.is_empty() {
        return;
    }
    let row = workspace.slice::<T>(width);
    let tape = &task.inputs[0];
    // SAFETY: the points exist, rows are as long as the range, and workers take disjoint ones. The plan gives a step's
    // result no memory that the step reads, unless it is the very same.
    unsafe {
        let mut frame = tape.begin(task.run, workspace, width);
        let mut finish = task.epilogue.begin(task.run, workspace, width);
        let (source, direct) = (tape.in_memory(task.run), task.epilogue.store_in_memory(task.run));
        for index in own {
            let points = index * width..(index + 1) * width;
            // Read where it lies and written where it stays, where the code around allows it.
            let to = direct.map_or(row.as_mut_ptr(), |start| start.cast::<T>().add(points.start));
            let from = source.map(|start| start.cast::<T>().add(points.start));
            if from.is_none() {
                tape.load(task.run, &mut frame, points.clone(), to.cast());
            }
            let row = std::slice::from_raw_parts_mut(to, width);
            f(match from.filter(|&from| from != to.cast_const()) {
                Some(from) => RowIo::new(std::slice::from_raw_parts(from, width), row)
                    .followed_by(from.wrapping_add(width)),
                None => RowIo::in_place(row),
            });
            if direct.is_none() {
                task.epilogue.store(task.run, &mut finish, points, to.cast_const().cast());
            }
        }
    }
}

/// A parameter vector as values.
fn parameter<'w, T: bytemuck::Pod>(
    task: &Task<'_>,
    workspace: &'w Workspace,
    slot: usize,
) -> Option<&'w [T]> {
    let tape = task.inputs.get(slot)?;
    let values = workspace.slice::<T>(tape.len);
    // SAFETY: the points exist, and the slice is as long.
    unsafe {
        let mut frame = tape.begin(task.run, workspace, tape.len);
        tape.load(task.run, &mut frame, 0..tape.len, values.as_mut_ptr().cast());
    }
    Some(values)
}

macro_rules! by_float {
    ($task:expr, $f:ident::<_>($($arg:expr),*)) => {
        match $task.inputs[0].result_type {
            ScalarType::F64 => $f::<f64>($($arg),*),
            _ => $f::<f32>($($arg),*),
        }
    };
}

pub fn softmax(task: &Task<'_>, workspace: &Workspace, log: bool) {
    fn typed<T: Elementary + bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, log: bool) {
        let kernel = if log { rows::log_softmax::<T> } else { rows::softmax::<T> };
        each_row::<T>(task, workspace, kernel);
    }
    by_float!(task, typed::<_>(task, workspace, log));
}

pub fn rms_norm(task: &Task<'_>, workspace: &Workspace, eps: f64) {
    fn typed<T: Elementary + bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, eps: f64) {
        let weight = parameter::<T>(task, workspace, 1);
        let affine = Affine { weight, bias: None };
        each_row::<T>(task, workspace, |row| rows::rms_norm(row, affine, eps));
    }
    by_float!(task, typed::<_>(task, workspace, eps));
}

pub fn layer_norm(task: &Task<'_>, workspace: &Workspace, eps: f64) {
    fn typed<T: Elementary + bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, eps: f64) {
        let (weight, bias) = (parameter::<T>(task, workspace, 1), parameter::<T>(task, workspace, 2));
        let affine = Affine { weight, bias };
        each_row::<T>(task, workspace, |row| rows::layer_norm(row, affine, eps));
    }
    by_float!(task, typed::<_>(task, workspace, eps));
}

pub fn scan(task: &Task<'_>, workspace: &Workspace, op: ScanOp) {
    macro_rules! typed {
        ($t:ty, $add:expr, $mul:expr) => {
            each_row::<$t>(task, workspace, |row| {
                let row = row.copied();
                for i in 1..row.len() {
                    row[i] = match op {
                        ScanOp::Sum => $add(row[i - 1], row[i]),
                        ScanOp::Prod => $mul(row[i - 1], row[i]),
                    };
                }
            })
        };
    }
    match task.inputs[0].result_type {
        ScalarType::F32 => running_f32(task, workspace, op),
        ScalarType::F64 => typed!(f64, |a: f64, b: f64| a + b, |a: f64, b: f64| a * b),
        ScalarType::U64 => typed!(u64, u64::wrapping_add, u64::wrapping_mul),
        ScalarType::I64 => typed!(i64, i64::wrapping_add, i64::wrapping_mul),
        ScalarType::Bool | ScalarType::I32 | ScalarType::U32 => {
            unreachable!("scans accumulate in 64-bit integers or floats")
        }
    }
}

/// The running value is kept in f64, so that a long sum of f32 loses nothing on the way.
fn running_f32(task: &Task<'_>, workspace: &Workspace, op: ScanOp) {
    each_row::<f32>(task, workspace, |row| {
        let mut running = if op == ScanOp::Sum { 0.0f64 } else { 1.0 };
        for x in row.copied() {
            match op {
                ScanOp::Sum => running += *x as f64,
                ScanOp::Prod => running *= *x as f64,
            }
            *x = running as f32;
        }
    });
}

//! Writing by index: scatter and write-at. Both update a store that holds the other elements already.

use super::Task;
use super::access::{reader, writer};
use super::gather::resolve;
use super::loops::{self, raise};
use super::workspace::Workspace;
use wootz_ir::op::ScatterMode;
use wootz_ir::scalar::BinaryFn;
use wootz_ir::{Fault, Span, View};

/// Lines along the axis are split between workers, so that equal indices meet in one worker, in order.
pub fn scatter(task: &Task<'_>, workspace: &mut Workspace, axis: usize, mode: ScatterMode) {
    let store = &task.step.stores[0];
    let shape = &task.step.input_shapes[0];
    let (lines, length) = (shape.without(axis), shape[axis]);
    let target = task.run.pointers[store.buffer as usize];
    let size = store.dtype.size();
    let compute = store.dtype.compute();
    let wide = compute.dtype().size();
    let extent = store.layout.shape[axis];
    let (read, write) = (reader(store.dtype), writer(store.dtype));
    let add = loops::binary(BinaryFn::Add, compute);
    let strides = shape.row_major_strides();
    let old = workspace.reserve(64);
    let value = workspace.reserve(64);
    let sum = workspace.reserve(64);
    let index = workspace.slice::<i64>(1);
    // SAFETY: indices are resolved into the axis, so positions stay inside the store; workers take disjoint lines; the
    // little buffers hold one value each.
    unsafe {
        let (index_tape, value_tape) = (&task.inputs[0], &task.inputs[1]);
        let mut index_frame = index_tape.begin(task.run, workspace, 1);
        let mut value_frame = value_tape.begin(task.run, workspace, 1);
        for line in task.worker.split(lines.count(), 16) {
            let mut coords = lines.unravel(line);
            coords.insert(axis, 0);
            let first: isize = coords.iter().zip(&strides).map(|(&c, &s)| c as isize * s).sum();
            let base = store.layout.position(&coords) as isize;
            for i in 0..length {
                let point = (first + i as isize * strides[axis]) as usize;
                index_tape.load(task.run, &mut index_frame, point..point + 1, index.as_mut_ptr().cast());
                value_tape.load(task.run, &mut value_frame, point..point + 1, value);
                let at = base + resolve(index[0], extent) as isize * store.layout.strides[axis];
                let place = target.offset(at * size as isize);
                match (mode, add) {
                    (ScatterMode::Add, Some(add)) => {
                        read(place, 1, old, 1);
                        add(old, value, sum, 1);
                        write(sum, place, 1, 1);
                    }
                    _ => write(value, place, 1, 1),
                }
            }
        }
    }
    let _ = wide;
}

pub fn write_at(task: &Task<'_>, workspace: &mut Workspace, axis: usize) {
    let store = &task.step.stores[0];
    let shape = &task.step.input_shapes[0];
    let start = workspace.slice::<i32>(1);
    // SAFETY: the position is one element of its buffer.
    unsafe {
        let tape = &task.inputs[1];
        let mut frame = tape.begin(task.run, workspace, 1);
        tape.load(task.run, &mut frame, 0..1, start.as_mut_ptr().cast());
    }
    let start = start[0];
    if start < 0 || start as usize + shape[axis] > store.layout.shape[axis] {
        return raise(Fault::IndexOutOfRange);
    }
    let spans = (0..shape.rank())
        .map(|a| Span { start: if a == axis { start as usize } else { 0 }, step: 1, len: shape[a] })
        .collect();
    let layout = store.layout.view(&View::Slice(spans)).expect("slices are views");
    let width = shape.last().copied().unwrap_or(1);
    if shape.count() == 0 {
        return;
    }
    let compute = store.dtype.compute().dtype().size();
    let write = writer(store.dtype);
    let target = task.run.pointers[store.buffer as usize];
    let values = workspace.reserve(width * compute);
    let inner = layout.strides.last().copied().unwrap_or(1);
    // SAFETY: the slice lies inside the store, and workers take disjoint rows.
    unsafe {
        let tape = &task.inputs[0];
        let mut frame = tape.begin(task.run, workspace, width);
        for row in task.worker.split(shape.count() / width, 1024usize.div_ceil(width)) {
            let points = row * width..(row + 1) * width;
            tape.load(task.run, &mut frame, points.clone(), values);
            let at = layout.position(&shape.unravel(points.start));
            write(values, target.add(at * store.dtype.size()), inner, width);
        }
    }
}

//! Reading by index along an axis.

use super::Task;
use super::access::reader;
use super::loops::raise;
use super::workspace::Workspace;
use wootz_ir::Fault;
use wootz_plan::Source;

/// Points that one worker takes at least.
const GRAIN: usize = 1024;

/// A non-negative index from one that may count from the end; out of range is a fault, and reads element 0.
#[inline]
pub fn resolve(index: i64, extent: usize) -> usize {
    let resolved = if index < 0 { index + extent as i64 } else { index };
    if (0..extent as i64).contains(&resolved) {
        resolved as usize
    } else {
        raise(Fault::IndexOutOfRange);
        0
    }
}

pub fn run(task: &Task<'_>, workspace: &Workspace, axis: usize) {
    let load = task.step.inputs[0].plain().expect("the source of a gather is plain");
    let Source::Buffer(buffer) = load.source else { unreachable!("a plain source is in memory") };
    let source = task.run.pointers[buffer as usize].cast_const();
    let (layout, size) = (&load.layout, load.dtype.size());
    let extent = layout.shape[axis];
    let shape = &task.step.shape;
    let width = shape.last().copied().unwrap_or(1);
    let rank = shape.rank();
    let total = shape.count();
    if total == 0 {
        return;
    }
    let read = reader(load.dtype);
    let wide = load.dtype.compute().dtype().size();
    let rows = task.worker.split(total / width, GRAIN.div_ceil(width));
    let indices = workspace.slice::<i64>(width);
    let values = workspace.reserve(width * wide);
    // SAFETY: indices are resolved into the axis, so positions stay inside the source; ranges of points exist, and
    // workers take disjoint rows.
    unsafe {
        let index_tape = &task.inputs[1];
        let mut index_frame = index_tape.begin(task.run, workspace, width);
        let mut frame = task.epilogue.begin(task.run, workspace, width);
        for row in rows {
            let points = row * width..(row + 1) * width;
            index_tape.load(task.run, &mut index_frame, points.clone(), indices.as_mut_ptr().cast());
            let mut coords = shape.unravel(points.start);
            coords[axis] = 0;
            let base = layout.position(&coords) as isize;
            let inner = layout.strides[rank - 1];
            let step = layout.strides[axis];
            if axis + 1 < rank && indices.iter().all(|&i| i == indices[0]) {
                // One index for the whole row: an embedding look-up.
                let at = base + resolve(indices[0], extent) as isize * step;
                read(source.offset(at * size as isize), inner, values, width);
            } else {
                for (i, &index) in indices.iter().enumerate() {
                    let along = if axis + 1 == rank { 0 } else { i as isize * inner };
                    let at = base + along + resolve(index, extent) as isize * step;
                    read(source.offset(at * size as isize), 1, values.add(i * wide), 1);
                }
            }
            task.epilogue.store(task.run, &mut frame, points, values);
        }
    }
}

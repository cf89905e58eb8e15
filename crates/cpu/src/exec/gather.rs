//! Gather along an axis.

use super::Task;
use super::access::{ReadRun, reader};
use super::loops::raise;
use super::workspace::Workspace;
use crate::isa::{Isa, Kernel, dispatch};
use wootz_ir::{DType, Fault};
use wootz_plan::Source;

/// Minimum number of points per worker.
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
    let picker = Picker::new(load.dtype);
    let points = task.worker.split(total, GRAIN);
    let run = RUN.min(width);
    let block = workspace.slice::<i64>(run);
    let values = workspace.reserve(run * picker.wide);
    let (inner, step) = (layout.strides[rank - 1], layout.strides[axis]);
    // SAFETY: indices are resolved into the axis, so positions stay inside the source; ranges of points exist, and
    // workers take disjoint points.
    unsafe {
        let index_tape = &task.inputs[1];
        // Indices that lie in memory are read there, and elements that only have to be stored are picked into their places.
        let there = index_tape.in_memory(task.run).map(<*const u8>::cast::<i64>);
        let direct = task.epilogue.store_in_memory(task.run);
        let mut index_frame = index_tape.begin(task.run, workspace, run);
        let mut frame = task.epilogue.begin(task.run, workspace, run);
        let mut start = points.start;
        while start < points.end {
            crate::stop::check();
            // A piece of one row of the result.
            let column = start % width;
            let n = run.min(width - column).min(points.end - start);
            let indices = match there {
                Some(base) => std::slice::from_raw_parts(base.add(start), n),
                None => {
                    let block = &mut block[..n];
                    index_tape.load(task.run, &mut index_frame, start..start + n, block.as_mut_ptr().cast());
                    &*block
                }
            };
            let values = direct.map_or(values, |to| to.add(start * picker.wide));
            let mut coords = shape.unravel(start);
            coords[axis] = 0;
            let from = source.offset(layout.position(&coords) as isize * size as isize);
            if axis + 1 == rank {
                picker.pick(from, (step, 0), extent, indices, values);
            } else if indices.iter().all(|&i| i == indices[0]) {
                // One index for the whole piece: an embedding look-up.
                let at = resolve(indices[0], extent) as isize * step;
                (picker.read)(from.offset(at * size as isize), inner, values, n);
            } else {
                picker.pick(from, (step, inner), extent, indices, values);
            }
            if direct.is_none() {
                task.epilogue.store(task.run, &mut frame, start..start + n, values);
            }
            start += n;
        }
    }
}

/// Points that are picked at a time.
const RUN: usize = 1024;

/// How elements of a dtype are picked one by one.
struct Picker {
    read: ReadRun,
    size: usize,
    wide: usize,
}

impl Picker {
    fn new(dtype: DType) -> Picker {
        Picker { read: reader(dtype), size: dtype.size(), wide: dtype.compute().dtype().size() }
    }

    /// Element `index · step + i · along` for the i-th index.
    ///
    /// # Safety
    /// These elements exist for every index that the axis has, and `values` has room for all.
    unsafe fn pick(
        &self,
        from: *const u8,
        (step, along): (isize, isize),
        extent: usize,
        indices: &[i64],
        values: *mut u8,
    ) {
        // SAFETY: the caller's promise; indices are resolved into the axis.
        unsafe {
            match (self.size == self.wide, self.size) {
                (true, 4) => pick_typed::<u32>(from.cast(), (step, along), extent, indices, values.cast()),
                (true, 8) => pick_typed::<u64>(from.cast(), (step, along), extent, indices, values.cast()),
                _ => {
                    for (i, &index) in indices.iter().enumerate() {
                        let at = resolve(index, extent) as isize * step + i as isize * along;
                        (self.read)(from.offset(at * self.size as isize), 1, values.add(i * self.wide), 1);
                    }
                }
            }
        }
    }
}

/// Whether all indices are below an extent and none is negative.
struct InRange<'a> {
    indices: &'a [i64],
    extent: usize,
}

impl Kernel for InRange<'_> {
    type Out = bool;
    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        self.indices.iter().fold(true, |all, &index| all & ((index as u64) < self.extent as u64))
    }
}

/// # Safety
/// As for [`Picker::pick`].
unsafe fn pick_typed<T: Copy>(
    from: *const T,
    (step, along): (isize, isize),
    extent: usize,
    indices: &[i64],
    values: *mut T,
) {
    // Looked at first, all together, so that the loads that follow depend on nothing.
    let plain = dispatch(InRange { indices, extent });
    // SAFETY: the caller's promise; indices are in range or resolved into it.
    unsafe {
        match (plain, step, along) {
            (true, 1, 0) => {
                for (i, &index) in indices.iter().enumerate() {
                    *values.add(i) = *from.add(index as usize);
                }
            }
            (true, ..) => {
                for (i, &index) in indices.iter().enumerate() {
                    *values.add(i) = *from.offset(index as isize * step + i as isize * along);
                }
            }
            (false, ..) => {
                for (i, &index) in indices.iter().enumerate() {
                    let at = resolve(index, extent) as isize * step + i as isize * along;
                    *values.add(i) = *from.offset(at);
                }
            }
        }
    }
}

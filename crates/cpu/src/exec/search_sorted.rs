//! Binary search in a sorted vector.

use super::Task;
use super::access::{ReadRun, reader};
use super::tape::BLOCK;
use super::workspace::Workspace;
use crate::sort::SortKey;
use wootz_ir::ScalarType;
use wootz_plan::Source;

/// Minimum number of values per worker.
const GRAIN: usize = 1024;

pub fn run(task: &Task<'_>, workspace: &Workspace, right: bool) {
    match task.inputs[1].result_type {
        ScalarType::Bool => typed::<u8>(task, workspace, right),
        ScalarType::I32 => typed::<i32>(task, workspace, right),
        ScalarType::U32 => typed::<u32>(task, workspace, right),
        ScalarType::I64 => typed::<i64>(task, workspace, right),
        ScalarType::U64 => typed::<u64>(task, workspace, right),
        ScalarType::F32 => typed::<f32>(task, workspace, right),
        ScalarType::F64 => typed::<f64>(task, workspace, right),
    }
}

/// The vector that is searched.
struct Sorted {
    first: *const u8,
    /// Bytes from an element to the next.
    stride: isize,
    extent: usize,
    read: ReadRun,
}

impl Sorted {
    fn of(task: &Task<'_>) -> Sorted {
        let load = task.step.inputs[0].plain().expect("the vector is plain");
        let Source::Buffer(buffer) = load.source else { unreachable!("a plain source is in memory") };
        let (layout, size) = (&load.layout, load.dtype.size());
        Sorted {
            first: task.run.pointers[buffer as usize].wrapping_add(layout.offset * size),
            stride: layout.strides[0] * size as isize,
            extent: layout.shape[0],
            read: reader(load.dtype),
        }
    }

    /// The number of elements whose key is below a value's, or (`right`) not above it.
    ///
    /// # Safety
    /// `T` is the compute type of the vector's dtype, and its elements are readable.
    unsafe fn place<T: SortKey + Default>(&self, value: T, right: bool) -> i64 {
        let key = value.key();
        let (mut low, mut count) = (0, self.extent);
        while count > 0 {
            let half = count / 2;
            let mut element = T::default();
            let at = self.first.wrapping_offset((low + half) as isize * self.stride);
            // SAFETY: the position is below the extent.
            unsafe { (self.read)(at, 1, (&raw mut element).cast(), 1) };
            let before = element.key() < key || (right && element.key() == key);
            (low, count) = if before { (low + half + 1, count - half - 1) } else { (low, half) };
        }
        low as i64
    }
}

fn typed<T: SortKey + Default + bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, right: bool) {
    let sorted = Sorted::of(task);
    let points = task.worker.split(task.step.shape.count(), GRAIN);
    let n = points.len().min(BLOCK);
    let (values, places) = (workspace.slice::<T>(n), workspace.slice::<i64>(n));
    // SAFETY: the plan's buffers are bound, points exist, and workers take disjoint ones.
    unsafe {
        let mut input = task.inputs[1].begin(task.run, workspace, n);
        let mut finish = task.epilogue.begin(task.run, workspace, n);
        for start in points.clone().step_by(BLOCK) {
            crate::stop::check();
            let range = start..points.end.min(start + BLOCK);
            task.inputs[1].load(task.run, &mut input, range.clone(), values.as_mut_ptr().cast());
            for (place, &value) in places.iter_mut().zip(&values[..range.len()]) {
                *place = sorted.place(value, right);
            }
            task.epilogue.store(task.run, &mut finish, range, places.as_ptr().cast());
        }
    }
}

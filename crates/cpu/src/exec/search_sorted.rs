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
    /// Bytes of an element.
    size: usize,
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
            size,
        }
    }

    /// The elements, if they lie side by side as values of `T`, their compute type.
    ///
    /// # Safety
    /// The elements are readable for as long as the slice is used.
    unsafe fn slice<'a, T: bytemuck::Pod>(&self) -> Option<&'a [T]> {
        let together = self.stride == size_of::<T>() as isize && self.size == size_of::<T>();
        // SAFETY: they lie side by side, aligned as every buffer's are; an element as large as its compute type is one.
        together.then(|| unsafe { std::slice::from_raw_parts(self.first.cast(), self.extent) })
    }

    /// An element in its compute type.
    ///
    /// # Safety
    /// `T` is the compute type of the vector's dtype, the position is below the extent, and the element is readable.
    unsafe fn at<T: Default>(&self, position: usize) -> T {
        let mut element = T::default();
        let from = self.first.wrapping_offset(position as isize * self.stride);
        // SAFETY: the caller's promise; there is room for one value.
        unsafe { (self.read)(from, 1, (&raw mut element).cast(), 1) };
        element
    }
}

/// The number of the `extent` elements whose key is below a value's, or (`right`) not above it.
#[inline(always)]
fn place<T: SortKey>(extent: usize, element: impl Fn(usize) -> T, value: T, right: bool) -> i64 {
    let key = value.key();
    let (mut low, mut count) = (0, extent);
    while count > 0 {
        let half = count / 2;
        let found = element(low + half).key();
        let before = (found < key) | (right & (found == key));
        // Without a branch: which way it goes cannot be predicted.
        low = if before { low + half + 1 } else { low };
        count = if before { count - half - 1 } else { half };
    }
    low as i64
}

fn typed<T: SortKey + Default + bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, right: bool) {
    let sorted = Sorted::of(task);
    let points = task.worker.split(task.step.shape.count(), GRAIN);
    let n = points.len().min(BLOCK);
    let (values, places) = (workspace.slice::<T>(n), workspace.slice::<i64>(n));
    // SAFETY: the plan's buffers are bound, `T` is the inputs' compute type, points exist, and workers take disjoint ones.
    unsafe {
        let slice = sorted.slice::<T>();
        let mut input = task.inputs[1].begin(task.run, workspace, n);
        let mut finish = task.epilogue.begin(task.run, workspace, n);
        for start in points.clone().step_by(BLOCK) {
            crate::stop::check();
            let range = start..points.end.min(start + BLOCK);
            task.inputs[1].load(task.run, &mut input, range.clone(), values.as_mut_ptr().cast());
            for (out, &value) in places.iter_mut().zip(&values[..range.len()]) {
                *out = match slice {
                    Some(slice) => place(slice.len(), |i| slice[i], value, right),
                    None => place(sorted.extent, |i| sorted.at(i), value, right),
                };
            }
            task.epilogue.store(task.run, &mut finish, range, places.as_ptr().cast());
        }
    }
}

//! Destinations of GEMM results.

use std::marker::PhantomData;

/// Takes finished results. It is called from all workers at once, each element once.
pub trait Sink<T>: Sync {
    /// Takes the row segment (`row`, `column..column + values.len()`), all of K summed.
    fn store(&self, row: usize, column: usize, values: &[T]);

    /// Whether there is room for that many rows and columns. A product asserts it before it writes.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        self.strided().is_none_or(|result| result.has_room(rows, columns))
    }

    /// The result as plain memory, if possible: tiles are then accumulated in place.
    fn strided(&self) -> Option<StridedSink<'_, T>> {
        None
    }
}

/// A result in memory with any strides (in elements; negative ones too).
pub struct StridedSink<'a, T> {
    pub(super) start: *mut T,
    pub(super) row: isize,
    pub(super) column: isize,
    /// Rows and columns, as far as they are known.
    extent: (usize, usize),
    memory: PhantomData<&'a mut [T]>,
}

impl<T> Clone for StridedSink<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for StridedSink<'_, T> {}
// SAFETY: the workers of a product write disjoint elements, and `new` promises that nobody else touches them.
unsafe impl<T: Send> Sync for StridedSink<'_, T> {}
// SAFETY: an exclusive borrow of `[T]` may go to another thread where T may.
unsafe impl<T: Send> Send for StridedSink<'_, T> {}

impl<'a, T> StridedSink<'a, T> {
    /// The result whose element (0, 0) is at `start`.
    ///
    /// # Safety
    /// Every element of the result must be writable for `'a`, no two elements may share memory, and nobody
    /// else may touch them meanwhile.
    pub const unsafe fn new(start: *mut T, row_stride: isize, column_stride: isize) -> Self {
        let extent = (usize::MAX, usize::MAX);
        StridedSink { start, row: row_stride, column: column_stride, extent, memory: PhantomData }
    }

    /// A row-major result.
    pub fn row_major(matrix: &'a mut [T], columns: usize) -> Self {
        let extent = (matrix.len().checked_div(columns).unwrap_or(0), columns);
        StridedSink {
            start: matrix.as_mut_ptr(),
            row: columns as isize,
            column: 1,
            extent,
            memory: PhantomData,
        }
    }

    pub(super) fn has_room(&self, rows: usize, columns: usize) -> bool {
        rows <= self.extent.0 && columns <= self.extent.1
    }
}

impl<T: Copy + Send> Sink<T> for StridedSink<'_, T> {
    fn store(&self, row: usize, column: usize, values: &[T]) {
        assert!(
            self.has_room(row + 1, column + values.len()),
            "row {row} of the result ends before its values"
        );
        for (j, &value) in values.iter().enumerate() {
            let offset = row as isize * self.row + (column + j) as isize * self.column;
            // SAFETY: the element is in the result, every element of which is writable and ours.
            unsafe { *self.start.offset(offset) = value };
        }
    }

    fn strided(&self) -> Option<StridedSink<'_, T>> {
        Some(*self)
    }
}

/// An epilogue: `f(row, column, values)` takes finished row segments (to add a bias, activate, convert, store).
/// Segments come from all workers at once; their length is up to the kernel.
pub struct Epilogue<F>(pub F);

impl<T, F: Fn(usize, usize, &[T]) + Sync> Sink<T> for Epilogue<F> {
    fn store(&self, row: usize, column: usize, values: &[T]) {
        (self.0)(row, column, values)
    }
}

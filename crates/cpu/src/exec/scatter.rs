//! Scatter and write-at. Both update a result that already contains the other elements.

use super::Task;
use super::access::{ReadRun, WriteRun, reader, writer};
use super::gather::resolve;
use super::loops::{self, Loop2, raise};
use super::workspace::Workspace;
use wootz_ir::op::ScatterMode;
use wootz_ir::scalar::BinaryFn;
use wootz_ir::{DType, Fault, Span, View};

/// Points that are read and written at a time.
const RUN: usize = 1024;

/// The target is row-major: `slabs` in front of the axis, `columns` behind it. Workers take slabs or columns of their own,
/// so that equal indices meet in one worker, in order.
pub fn scatter(task: &Task<'_>, workspace: &Workspace, axis: usize, mode: ScatterMode) {
    let store = &task.step.stores[0];
    let shape = &task.step.input_shapes[0];
    let (slabs, columns): (usize, usize) =
        (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
    let (slabs, own) = if slabs >= columns {
        (task.worker.split(slabs, 1), 0..columns)
    } else {
        (0..slabs, task.worker.split(columns, 16))
    };
    let wide = store.dtype.compute().dtype().size();
    let values = workspace.reserve(RUN * wide);
    let indices = workspace.slice::<i64>(RUN);
    let mut target = Target::new(task, workspace, axis, mode);
    // One column: a run goes along the axis. Else a run is a piece of the columns at one place of the axis.
    let line = shape[axis] * columns;
    let (runs, run_step) = if columns == 1 { (1, line) } else { (shape[axis], columns) };
    let inside = if columns == 1 { 0..line } else { own };
    // SAFETY: points exist, the buffers hold a run, indices are resolved into the axis, and workers take disjoint slabs
    // or columns.
    unsafe {
        let (index_tape, value_tape) = (&task.inputs[0], &task.inputs[1]);
        let mut index_frame = index_tape.begin(task.run, workspace, RUN);
        let mut value_frame = value_tape.begin(task.run, workspace, RUN);
        for slab in slabs {
            for run in 0..runs {
                for start in inside.clone().step_by(RUN) {
                    let n = RUN.min(inside.end - start);
                    let first = slab * line + run * run_step + start;
                    let to = indices.as_mut_ptr().cast();
                    index_tape.load(task.run, &mut index_frame, first..first + n, to);
                    value_tape.load(task.run, &mut value_frame, first..first + n, values);
                    let column = if columns == 1 { None } else { Some(start) };
                    target.put(slab, column, &indices[..n], values);
                }
            }
        }
    }
}

/// The store of a scatter and how values get into it.
struct Target {
    start: *mut u8,
    extent: usize,
    columns: usize,
    size: usize,
    wide: usize,
    read: ReadRun,
    write: WriteRun,
    /// Adds instead of replacing, through these two runs of working memory.
    add: Option<(Loop2, *mut u8, *mut u8)>,
    /// Puts the values of one column where elements are stored as they are computed.
    direct: Option<PutColumn>,
}

/// Puts values at the rows that indices name of a column with so many rows.
///
/// # Safety
/// The column has so many rows, which are this worker's, and there is a value for each index.
type PutColumn = unsafe fn(column: *mut u8, extent: usize, indices: &[i64], values: *const u8);

/// # Safety
/// As for [`PutColumn`].
unsafe fn put_column<T: Addition, const ADD: bool>(
    column: *mut u8,
    extent: usize,
    indices: &[i64],
    values: *const u8,
) {
    let (column, values) = (column.cast::<T>(), values.cast::<T>());
    for (i, &index) in indices.iter().enumerate() {
        // SAFETY: the index is resolved into the column, and there is a value for it.
        unsafe {
            let (at, value) = (column.add(resolve(index, extent)), *values.add(i));
            *at = if ADD { (*at).plus(value) } else { value };
        }
    }
}

/// Addition as elements add: integers wrap.
trait Addition: Copy {
    fn plus(self, other: Self) -> Self;
}

macro_rules! additions {
    ($($t:ty, |$a:ident, $b:ident| $sum:expr;)*) => {$(
        impl Addition for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                let ($a, $b) = (self, other);
                $sum
            }
        }
    )*};
}
additions! {
    f32, |a, b| a + b;
    f64, |a, b| a + b;
    u32, |a, b| a.wrapping_add(b);
    u64, |a, b| a.wrapping_add(b);
}

fn direct(dtype: DType, mode: ScatterMode) -> Option<PutColumn> {
    Some(match (dtype, mode) {
        (DType::F32, ScatterMode::Add) => put_column::<f32, true>,
        (DType::F64, ScatterMode::Add) => put_column::<f64, true>,
        (DType::I32 | DType::U32, ScatterMode::Add) => put_column::<u32, true>,
        (DType::I64 | DType::U64, ScatterMode::Add) => put_column::<u64, true>,
        (DType::I32 | DType::U32 | DType::F32, ScatterMode::Set) => put_column::<u32, false>,
        (DType::I64 | DType::U64 | DType::F64, ScatterMode::Set) => put_column::<u64, false>,
        _ => return None,
    })
}

impl Target {
    fn new(task: &Task<'_>, workspace: &Workspace, axis: usize, mode: ScatterMode) -> Target {
        let store = &task.step.stores[0];
        let compute = store.dtype.compute();
        let wide = compute.dtype().size();
        let add = match mode {
            ScatterMode::Set => None,
            ScatterMode::Add => loops::binary(BinaryFn::Add, compute),
        };
        Target {
            start: task.run.pointers[store.buffer as usize]
                .wrapping_add(store.layout.offset * store.dtype.size()),
            extent: store.layout.shape[axis],
            columns: store.layout.shape[axis + 1..].iter().product(),
            size: store.dtype.size(),
            wide,
            read: reader(store.dtype),
            write: writer(store.dtype),
            add: add.map(|add| (add, workspace.reserve(RUN * wide), workspace.reserve(RUN * wide))),
            direct: direct(store.dtype, mode),
        }
    }

    /// Puts a run of values: one column's, along the axis, or one place's, from a column on.
    ///
    /// # Safety
    /// The slab and the columns exist and are this worker's; `values` has as many values as there are indices.
    unsafe fn put(&mut self, slab: usize, column: Option<usize>, indices: &[i64], values: *const u8) {
        let place = |index: i64, column: usize| {
            let row = slab * self.extent + resolve(index, self.extent);
            self.start.wrapping_add((row * self.columns + column) * self.size)
        };
        // SAFETY: by the caller's promises, places are inside the store and ours.
        unsafe {
            match column {
                Some(column) if indices.iter().all(|&i| i == indices[0]) => {
                    self.write_run(place(indices[0], column), values, indices.len());
                }
                None if self.direct.is_some() && self.extent > 0 => {
                    let put = self.direct.expect("just looked");
                    put(place(0, 0), self.extent, indices, values);
                }
                _ => {
                    for (i, &index) in indices.iter().enumerate() {
                        let column = column.map_or(0, |column| column + i);
                        self.write_run(place(index, column), values.add(i * self.wide), 1);
                    }
                }
            }
        }
    }

    /// Puts `n` values side by side.
    ///
    /// # Safety
    /// The place has room for them and is this worker's.
    unsafe fn write_run(&self, place: *mut u8, values: *const u8, n: usize) {
        // SAFETY: as promised.
        unsafe {
            match self.add {
                Some((add, old, sum)) => {
                    (self.read)(place, 1, old, n);
                    add(old, values.cast_mut(), sum, n);
                    (self.write)(sum, place, 1, n);
                }
                None => (self.write)(values, place, 1, n),
            }
        }
    }
}

pub fn write_at(task: &Task<'_>, workspace: &Workspace, axis: usize) {
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

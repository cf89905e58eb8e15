//! Matrix products: operands are packed from memory or from fused code, results go through the epilogue.

use super::Task;
use super::tape::{Frame, RunBuffers, Tape};
use super::workspace::Workspace;
use crate::gemm::{Gemm, PackSource, Shape, Sink, Strided, StridedSink, Widen};
use crate::isa::{Isa, Kernel as IsaKernel, Real, dispatch};
use crate::team::{SyncPtr, Worker};
use half::{bf16, f16};
use std::cell::UnsafeCell;
use std::ops::Range;
use wootz_ir::{DType, ScalarType};
use wootz_plan::{Kernel, Load, Source, Step};

/// `batch` products of `m×k` by `k×n`.
#[derive(Clone, Copy)]
pub struct BatchedShape {
    pub batch: usize,
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl BatchedShape {
    fn shape(self) -> Shape {
        Shape { m: self.m, n: self.n, k: self.k }
    }
}

/// Working memory of the packed product: one per worker when workers take whole products, else one for all.
pub fn shared_bytes(step: &Step, workers: usize) -> usize {
    let Kernel::Matmul { batch, m, n, k } = step.kernel else { return 0 };
    let shape = Shape { m, n, k };
    let bytes = |count: usize| match step.dtype.compute() {
        ScalarType::F32 => Gemm::<f32>::new(shape).scratch_bytes(count),
        ScalarType::F64 => Gemm::<f64>::new(shape).scratch_bytes(count),
        _ => 0,
    };
    if batch >= workers { bytes(1).next_multiple_of(64) * workers } else { bytes(workers) }
}

pub fn run(task: &Task<'_>, workspace: &Workspace, problem: BatchedShape) {
    if problem.batch * problem.m * problem.n == 0 {
        return;
    }
    match task.step.dtype.compute() {
        ScalarType::F32 => floats::<f32>(task, workspace, problem),
        ScalarType::F64 => floats::<f64>(task, workspace, problem),
        ScalarType::I32 => integers::<i32>(task, workspace, problem),
        ScalarType::U32 => integers::<u32>(task, workspace, problem),
        ScalarType::I64 => integers::<i64>(task, workspace, problem),
        ScalarType::U64 => integers::<u64>(task, workspace, problem),
        ScalarType::Bool => unreachable!("matmul of bool is refused when the node is built"),
    }
}

/// The float types, with the operand dtypes that widen to them while packing.
trait Packed: Real + crate::gemm::LoadAs<Self> + bytemuck::Pod {
    /// A source for a plain load of a narrower dtype.
    fn widened<'a>(operand: Operand<'a>) -> Box<dyn PackSource<Self> + 'a>;
}

impl Packed for f32 {
    fn widened<'a>(operand: Operand<'a>) -> Box<dyn PackSource<f32> + 'a> {
        // SAFETY: the plan keeps every element of the operand inside its buffer, and nobody writes it meanwhile.
        unsafe {
            match operand.dtype {
                DType::F16 => {
                    Box::new(Widen(Strided::<f16>::new(operand.start.cast(), operand.lane, operand.depth)))
                }
                _ => Box::new(Widen(Strided::<bf16>::new(operand.start.cast(), operand.lane, operand.depth))),
            }
        }
    }
}

impl Packed for f64 {
    fn widened<'a>(_: Operand<'a>) -> Box<dyn PackSource<f64> + 'a> {
        unreachable!("f64 has no narrower dtype that computes as it")
    }
}

/// One matrix of a plain operand: lanes are rows of the left one and columns of the right one.
#[derive(Clone, Copy)]
struct Operand<'a> {
    start: *const u8,
    lane: isize,
    depth: isize,
    dtype: DType,
    _memory: std::marker::PhantomData<&'a [u8]>,
}

fn floats<T: Packed>(task: &Task<'_>, workspace: &Workspace, problem: BatchedShape) {
    let worker = task.worker;
    let gemm = Gemm::<T>::new(problem.shape()).batch_invariant(task.run.batch_invariant);
    // SAFETY: the run binds the plan's buffers, and workers take disjoint products.
    if problem.batch > 1 && unsafe { small_products::<T>(task, problem, worker.split(problem.batch, 1)) } {
        return;
    }
    let whole_products = problem.batch >= worker.count();
    let solo = Worker::solo();
    let (products, worker, memory) = if whole_products {
        let bytes = gemm.scratch_bytes(1).next_multiple_of(64);
        let own = SyncPtr::new(task.shared.get().wrapping_add(worker.index() * bytes));
        (worker.split(problem.batch, 1), &solo, own)
    } else {
        (0..problem.batch, worker, task.shared)
    };
    let frames = Frames::new(task, workspace, problem);
    for index in products.clone() {
        let a = source::<T>(task, &frames, 0, index, problem);
        let b = source::<T>(task, &frames, 1, index, problem);
        let c = sink::<T>(task, &frames, index, problem);
        // SAFETY: every worker of this (sub)team comes here with equal arguments, and the memory has the size that
        // `shared_bytes` reserved.
        unsafe { gemm.run(worker, &*a, &*b, &*c, memory) };
        if index + 1 < products.end {
            worker.barrier();
        }
    }
}

/// Products up to this extent are not worth packing.
const SMALL: usize = 16;

/// Products of small matrices that lie in memory one behind the other, and whose results do: plain loops, which add in the order
/// of [`Gemm::run`] and so give its bits. Returns whether these are such, which does not depend on the number of workers.
///
/// # Safety
/// The run binds the plan's buffers, the products exist, and no other worker computes any of them.
unsafe fn small_products<T: Packed>(task: &Task<'_>, problem: BatchedShape, products: Range<usize>) -> bool {
    let BatchedShape { m, n, k, .. } = problem;
    // SAFETY: as promised by the caller.
    let places = unsafe {
        (
            task.inputs[0].in_memory(task.run),
            task.inputs[1].in_memory(task.run),
            task.epilogue.store_in_memory(task.run),
        )
    };
    let (Some(a), Some(b), Some(c)) = places else { return false };
    if m.max(n).max(k) > SMALL || k == 0 {
        return false;
    }
    let (first, count) = (products.start, products.len());
    // SAFETY: inputs and result hold `batch` matrices each, one behind the other; the result overlaps with neither input.
    let (a, b, c) = unsafe {
        (
            std::slice::from_raw_parts(a.cast::<T>().add(first * m * k), count * m * k),
            std::slice::from_raw_parts(b.cast::<T>().add(first * k * n), count * k * n),
            std::slice::from_raw_parts_mut(c.cast::<T>().add(first * m * n), count * m * n),
        )
    };
    dispatch(SmallProducts { a, b, c, problem });
    true
}

struct SmallProducts<'a, T> {
    a: &'a [T],
    b: &'a [T],
    c: &'a mut [T],
    problem: BatchedShape,
}

impl<T: Packed> IsaKernel for SmallProducts<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let BatchedShape { m, n, k, .. } = self.problem;
        match (m, n, k) {
            (2, 2, 2) => small::<I, T, 2>(self.a, self.b, self.c),
            (3, 3, 3) => small::<I, T, 3>(self.a, self.b, self.c),
            (4, 4, 4) => small::<I, T, 4>(self.a, self.b, self.c),
            _ => {
                let matrices = self.a.chunks_exact(m * k).zip(self.b.chunks_exact(k * n));
                for ((a, b), c) in matrices.zip(self.c.chunks_exact_mut(m * n)) {
                    for (row, to) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
                        to.fill(T::ZERO);
                        for (&x, line) in row.iter().zip(b.chunks_exact(n)) {
                            to.iter_mut().zip(line).for_each(|(t, &y)| *t = I::mul_add(x, y, *t));
                        }
                    }
                }
            }
        }
    }
}

/// Products of square matrices whose extent is known.
#[inline(always)]
fn small<I: Isa, T: Packed, const N: usize>(a: &[T], b: &[T], c: &mut [T]) {
    let square = N * N;
    let matrices = a.chunks_exact(square).zip(b.chunks_exact(square));
    for ((a, b), c) in matrices.zip(c.chunks_exact_mut(square)) {
        for i in 0..N {
            let mut row = [T::ZERO; N];
            for p in 0..N {
                for j in 0..N {
                    row[j] = I::mul_add(a[i * N + p], b[p * N + j], row[j]);
                }
            }
            c[i * N..(i + 1) * N].copy_from_slice(&row);
        }
    }
}

/// This worker's state for the code of a step: one for all products, however many there are.
struct Frames {
    inputs: [UnsafeCell<Frame>; 2],
    epilogue: UnsafeCell<Frame>,
}

impl Frames {
    fn new(task: &Task<'_>, workspace: &Workspace, problem: BatchedShape) -> Frames {
        let BatchedShape { m, n, k, .. } = problem;
        // SAFETY: the run binds the plan's buffers, and the workspace is this worker's.
        let begin = |tape: &Tape, points| UnsafeCell::new(unsafe { tape.begin(task.run, workspace, points) });
        Frames {
            inputs: [begin(&task.inputs[0], m * k), begin(&task.inputs[1], k * n)],
            epilogue: begin(task.epilogue, n),
        }
    }
}

fn source<'a, T: Packed>(
    task: &'a Task<'_>,
    frames: &'a Frames,
    slot: usize,
    index: usize,
    problem: BatchedShape,
) -> Box<dyn PackSource<T> + 'a> {
    let input = &task.step.inputs[slot];
    if let Some(load) = input.plain()
        && let Some(operand) = operand(load, task.run, slot, index)
    {
        if load.dtype != load.dtype.compute().dtype() {
            return T::widened(operand);
        }
        // SAFETY: the plan keeps every element of the operand inside its buffer, and nobody writes it meanwhile.
        return Box::new(unsafe { Strided::<T>::new(operand.start.cast(), operand.lane, operand.depth) });
    }
    let tape = &task.inputs[slot];
    let (rows, columns) = if slot == 0 { (problem.m, problem.k) } else { (problem.k, problem.n) };
    let offset = index * rows * columns;
    let code = Code { tape, run: task.run, frame: &frames.inputs[slot], offset, columns };
    if slot == 0 { Box::new(Left(code)) } else { Box::new(Right(code)) }
}

/// Matrix `index` of a plain operand; `None` for a load that is not from memory.
fn operand<'a>(load: &Load, run: &RunBuffers<'a>, slot: usize, index: usize) -> Option<Operand<'a>> {
    let Source::Buffer(buffer) = load.source else { return None };
    let rank = load.layout.shape.rank();
    let batch = wootz_ir::Shape::from(&load.layout.shape[..rank - 2]);
    let coords = batch.unravel(index);
    let delta: isize = coords.iter().zip(&load.layout.strides).map(|(&c, &s)| c as isize * s).sum();
    let position = load.layout.offset as isize + delta;
    let start = run.pointers[buffer as usize].wrapping_offset(position * load.dtype.size() as isize);
    let (row, column) = (load.layout.strides[rank - 2], load.layout.strides[rank - 1]);
    let (lane, depth) = if slot == 0 { (row, column) } else { (column, row) };
    Some(Operand {
        start: start.cast_const(),
        lane,
        depth,
        dtype: load.dtype,
        _memory: std::marker::PhantomData,
    })
}

/// An operand that is computed: row-major, `columns` wide, from point `offset` of the tape on.
struct Code<'a> {
    tape: &'a Tape,
    run: &'a RunBuffers<'a>,
    frame: &'a UnsafeCell<Frame>,
    offset: usize,
    columns: usize,
}

// SAFETY: every worker makes frames of its own, so each is touched by one thread only; products come one after the other,
// and the two operands and the result have different frames, so that no two uses of a frame overlap.
unsafe impl Sync for Code<'_> {}

impl Code<'_> {
    /// Columns `range` of a row.
    fn row<T: Real>(&self, row: usize, range: Range<usize>, out: &mut [T]) {
        let start = self.offset + row * self.columns + range.start;
        // SAFETY: the frame is used by one thread at a time; the points exist, and `out` is as long as the range.
        unsafe {
            let frame = &mut *self.frame.get();
            self.tape.load(self.run, frame, start..start + range.len(), out.as_mut_ptr().cast());
        }
    }
}

/// How many elements of a row are computed at a time.
const RUN: usize = 512;

struct Left<'a>(Code<'a>);

impl<T: Real> PackSource<T> for Left<'_> {
    fn pack(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [T]) {
        let mut run = [T::ZERO; RUN];
        for (l, row) in lanes.enumerate() {
            for start in depth.clone().step_by(RUN) {
                let piece = start..depth.end.min(start + RUN);
                let values = &mut run[..piece.len()];
                self.0.row(row, piece.clone(), values);
                let base = (start - depth.start) * width + l;
                values.iter().enumerate().for_each(|(d, &v)| out[base + d * width] = v);
            }
        }
    }
}

struct Right<'a>(Code<'a>);

impl<T: Real> PackSource<T> for Right<'_> {
    fn pack(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [T]) {
        if self.0.columns == 1 && width == 1 {
            // A vector is the one row of its transpose.
            return self.0.row(0, depth, out);
        }
        for (d, row) in depth.enumerate() {
            self.0.row(row, lanes.clone(), &mut out[d * width..d * width + lanes.len()]);
        }
    }
}

fn sink<'a, T: Packed>(
    task: &'a Task<'_>,
    frames: &'a Frames,
    index: usize,
    problem: BatchedShape,
) -> Box<dyn Sink<T> + 'a> {
    let offset = index * problem.m * problem.n;
    let tape = task.epilogue;
    // SAFETY: the store has room for every product, and workers write disjoint elements.
    unsafe {
        if let Some(start) = tape.store_in_memory(task.run) {
            return Box::new(StridedSink::<T>::new(start.cast::<T>().add(offset), problem.n as isize, 1));
        }
    }
    Box::new(Finish(Code { tape, run: task.run, frame: &frames.epilogue, offset, columns: problem.n }))
}

struct Finish<'a>(Code<'a>);

impl<T: Real> Sink<T> for Finish<'_> {
    fn store(&self, row: usize, column: usize, values: &[T]) {
        let start = self.0.offset + row * self.0.columns + column;
        // SAFETY: the frame is used by one thread at a time; the points exist, and no two workers finish the same one.
        unsafe {
            let frame = &mut *self.0.frame.get();
            self.0.tape.store(self.0.run, frame, start..start + values.len(), values.as_ptr().cast());
        }
    }
}

/// Integer products: exact modulo the type, a row of the result at a time.
fn integers<T: crate::gemm::Wrapping + bytemuck::Pod>(
    task: &Task<'_>,
    workspace: &Workspace,
    problem: BatchedShape,
) {
    let BatchedShape { batch, m, n, k } = problem;
    let (left, right) = (&task.inputs[0], &task.inputs[1]);
    let (a, b, sums) = (workspace.slice::<T>(k), workspace.slice::<T>(n), workspace.slice::<T>(n));
    // SAFETY: the points exist, the buffers are as long as the ranges, and workers take disjoint rows.
    unsafe {
        let mut left_frame = left.begin(task.run, workspace, k);
        let mut right_frame = right.begin(task.run, workspace, n);
        let mut frame = task.epilogue.begin(task.run, workspace, n);
        for row in task.worker.split(batch * m, 1) {
            left.load(task.run, &mut left_frame, row * k..(row + 1) * k, a.as_mut_ptr().cast());
            sums.fill(T::default());
            for (d, &x) in a.iter().enumerate() {
                let start = (row / m * k + d) * n;
                right.load(task.run, &mut right_frame, start..start + n, b.as_mut_ptr().cast());
                for (sum, &y) in sums.iter_mut().zip(b.iter()) {
                    *sum = T::wrapping_mul_add(x, y, *sum);
                }
            }
            task.epilogue.store(task.run, &mut frame, row * n..(row + 1) * n, sums.as_ptr().cast());
        }
    }
}

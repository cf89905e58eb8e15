//! Reductions: rows by the run kernels, columns by folding rows into a row of results.
//!
//! Input in memory is passed to the kernels directly; computed input is passed block by block. Either way a float sum
//! consists of many short chains, so that its error grows with the logarithm of its length instead of the length.

use super::Task;
use super::access::fill;
use super::loops::{self, Loop2};
use super::tape::{BLOCK, Frame, Tape};
use super::workspace::Workspace;
use crate::reduce::{self, Max, Min, Number as Run, Prod, Reducer, Sum};
use std::ops::Range;
use wootz_ir::op::ReduceOp;
use wootz_ir::{Number, ScalarType, Shape, View};
use wootz_plan::{Fused, Step};

/// Outer points whose results are finished together.
const BATCH: usize = 512;
/// Lines up to this length are combined many at a time.
const SHORT: usize = 32;
/// Rows added into one running block before it is added to the next level, in column order.
const ROWS: usize = 128;
/// Columns that are folded together when they lie in memory: their running values stay in the first-level cache.
const COLUMNS: usize = 4096;

/// How one reduction combines values of one type.
#[derive(Clone, Copy)]
struct Combine {
    /// `d[i] = a[i] ∘ b[i]`.
    step: Loop2,
    /// A run into one value.
    run: unsafe fn(*const u8, usize, *mut u8),
    /// Rows, `stride` values apart, into the first `n` running values.
    rows: unsafe fn(*mut u8, usize, *const u8, usize, usize),
    /// Reduces consecutive runs of equal length to one value each.
    short: unsafe fn(*const u8, usize, usize, *mut u8),
    identity: Number,
    kind: ScalarType,
    size: usize,
}

impl Combine {
    fn new(op: ReduceOp, kind: ScalarType) -> Combine {
        let step =
            loops::binary(op.function(), kind).expect("reductions are asked for on types that have them");
        let (run, rows, short) = match kind {
            // Truth values are bytes of 0 and 1: any is their maximum, all their minimum.
            ScalarType::Bool => kernels::<u8>(op),
            ScalarType::I32 => kernels::<i32>(op),
            ScalarType::U32 => kernels::<u32>(op),
            ScalarType::I64 => kernels::<i64>(op),
            ScalarType::U64 => kernels::<u64>(op),
            ScalarType::F32 => kernels::<f32>(op),
            ScalarType::F64 => kernels::<f64>(op),
        };
        let identity = op.identity(kind);
        Combine { step, run, rows, short, identity, kind, size: kind.dtype().size() }
    }
}

type RunKernel = unsafe fn(*const u8, usize, *mut u8);
type RowsKernel = unsafe fn(*mut u8, usize, *const u8, usize, usize);
type ShortKernel = unsafe fn(*const u8, usize, usize, *mut u8);

fn kernels<T: Run>(op: ReduceOp) -> (RunKernel, RowsKernel, ShortKernel)
where
    Sum: Reducer<T>,
    Prod: Reducer<T>,
    Min: Reducer<T>,
    Max: Reducer<T>,
{
    match op {
        ReduceOp::Sum => (run_kernel::<Sum, T>, rows_kernel::<Sum, T>, short_kernel::<Sum, T>),
        ReduceOp::Prod => (run_kernel::<Prod, T>, rows_kernel::<Prod, T>, short_kernel::<Prod, T>),
        ReduceOp::Min | ReduceOp::All => {
            (run_kernel::<Min, T>, rows_kernel::<Min, T>, short_kernel::<Min, T>)
        }
        ReduceOp::Max | ReduceOp::Any => {
            (run_kernel::<Max, T>, rows_kernel::<Max, T>, short_kernel::<Max, T>)
        }
    }
}

/// # Safety
/// `x` points at `runs` runs of `inner` values, `out` at room for a value of each; the two do not overlap.
unsafe fn short_kernel<R: Reducer<T>, T: Run>(x: *const u8, runs: usize, inner: usize, out: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        let x = std::slice::from_raw_parts(x.cast(), runs * inner);
        reduce::reduce_short::<R, T>(x, inner, std::slice::from_raw_parts_mut(out.cast(), runs));
    }
}

/// # Safety
/// `x` points at `n` values, `out` at room for one.
unsafe fn run_kernel<R: Reducer<T>, T: Run>(x: *const u8, n: usize, out: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { *out.cast::<T>() = reduce::reduce::<R, T>(std::slice::from_raw_parts(x.cast(), n)) };
}

/// # Safety
/// `acc` points at `n` values, `x` at `rows` rows of as many, `stride` values apart; the two do not overlap.
unsafe fn rows_kernel<R: Reducer<T>, T: Run>(
    acc: *mut u8,
    n: usize,
    x: *const u8,
    rows: usize,
    stride: usize,
) {
    // SAFETY: the caller's promise; the last row ends after its `n` values.
    unsafe {
        let x = std::slice::from_raw_parts(x.cast(), (rows - 1) * stride + n);
        reduce::fold_rows::<R, T>(std::slice::from_raw_parts_mut(acc.cast(), n), x, rows, stride);
    }
}

/// The input with its inner axes first, where that is how memory lies: outer points side by side.
pub fn by_columns(input: &Fused, inner: usize) -> Option<Fused> {
    let total = input.shape.count();
    if inner <= 1 || total == 0 {
        return None;
    }
    let outer = total / inner;
    let split = input.axes_of(outer)?;
    let rank = input.shape.rank();
    let walks_outer = |load: &wootz_plan::Load| {
        let strides = &load.layout.strides;
        strides[split - 1].abs() == 1 && strides[rank - 1].abs() != 1
    };
    if !input.loads.iter().any(walks_outer) {
        return None;
    }
    let permutation: smallvec::SmallVec<[u8; 8]> = (split..rank).chain(0..split).map(|a| a as u8).collect();
    let view = View::Permute(permutation);
    let mut fused = input.clone();
    fused.shape = view.shape(&input.shape);
    for load in &mut fused.loads {
        load.layout = load.layout.view(&view).expect("a permutation is a view");
    }
    Some(fused)
}

/// Partial results of each worker.
pub fn shared_bytes(step: &Step, workers: usize) -> usize {
    let outer = step.shape.count();
    if splits_inner(&step.shape, workers) { workers * outer * 8 } else { 0 }
}

/// Too few results to share out: workers share the elements of each instead.
fn splits_inner(shape: &Shape, workers: usize) -> bool {
    shape.count() < 64 * workers
}

pub fn run(task: &Task<'_>, workspace: &Workspace, op: ReduceOp, inner: usize) {
    let outer = task.step.shape.count();
    if outer == 0 {
        return;
    }
    let combine = Combine::new(op, task.inputs[0].result_type);
    let job = Job { task, combine, outer, inner, tape: &task.inputs[0] };
    // Shares are combined in another order than a whole row, and whether there are any depends on how many rows there are.
    let may_share = task.worker.count() > 1 && !task.run.batch_invariant;
    // SAFETY: the run binds the plan's buffers; workers finish disjoint results.
    unsafe {
        if may_share && splits_inner(&task.step.shape, task.worker.count()) {
            job.share_inner(workspace);
        } else if task.columns {
            job.columns(workspace);
        } else {
            job.rows(workspace);
        }
    }
}

struct Job<'a> {
    task: &'a Task<'a>,
    combine: Combine,
    outer: usize,
    inner: usize,
    tape: &'a Tape,
}

/// The blocks that a worker combines in.
struct Blocks {
    acc: *mut u8,
    level: *mut u8,
    spare: *mut u8,
    values: *mut u8,
}

impl Blocks {
    fn new(workspace: &Workspace) -> Blocks {
        let level = workspace.reserve(COLUMNS * 8);
        let block = || workspace.reserve(BLOCK * 8);
        Blocks { acc: block(), level, spare: block(), values: block() }
    }
}

impl Job<'_> {
    /// Combines consecutive points into one value at `out`.
    ///
    /// # Safety
    /// The points of `range` exist, the frame is of this job's tape, and `out` has room for a value.
    unsafe fn line(&self, frame: &mut Frame, range: Range<usize>, blocks: &Blocks, out: *mut u8) {
        let Combine { size, kind, identity, run, .. } = self.combine;
        // SAFETY: the points exist; blocks hold BLOCK values, and ranges are cut to blocks.
        unsafe {
            if range.is_empty() {
                return fill(identity, kind, out, 1);
            }
            if let Some(base) = self.tape.in_memory(self.task.run) {
                return run(base.add(range.start * size), range.len(), out);
            }
            // One value per block, which are combined in turn when there are as many as a block holds.
            let mut parts = 0;
            for start in range.clone().step_by(BLOCK) {
                let n = BLOCK.min(range.end - start);
                self.tape.load(self.task.run, frame, start..start + n, blocks.values);
                if parts == BLOCK {
                    run(blocks.acc, parts, out);
                    std::ptr::copy_nonoverlapping(out, blocks.acc, size);
                    parts = 1;
                }
                run(blocks.values, n, blocks.acc.add(parts * size));
                parts += 1;
            }
            run(blocks.acc, parts, out);
        }
    }

    /// Combines the short lines of some outer points into a value each, from `out` on: many lines are computed as one block.
    ///
    /// # Safety
    /// As for [`Job::line`]; lines are not empty and no longer than [`SHORT`], and `out` has room for a value of each.
    unsafe fn short_lines(&self, frame: &mut Frame, points: Range<usize>, blocks: &Blocks, out: *mut u8) {
        let Job { inner, .. } = *self;
        let Combine { size, short, .. } = self.combine;
        // SAFETY: the points exist; a block has room for as many lines as are loaded at once.
        unsafe {
            if let Some(base) = self.tape.in_memory(self.task.run) {
                return short(base.add(points.start * inner * size), points.len(), inner, out);
            }
            let lines = BLOCK / inner;
            for start in points.clone().step_by(lines) {
                let end = points.end.min(start + lines);
                self.tape.load(self.task.run, frame, start * inner..end * inner, blocks.values);
                short(blocks.values, end - start, inner, out.add((start - points.start) * size));
            }
        }
    }

    /// Each worker takes some outer points and walks the row of each.
    ///
    /// # Safety
    /// Every worker of the region calls it, with a workspace of its own.
    unsafe fn rows(&self, workspace: &Workspace) {
        let Job { task, combine, inner, .. } = *self;
        let own = task.worker.split(self.outer, 1024usize.div_ceil(inner.max(1)));
        if own.is_empty() {
            return;
        }
        let blocks = Blocks::new(workspace);
        let results = workspace.reserve(BATCH * 8);
        // SAFETY: ranges lie inside the input, results inside their block, and workers take disjoint points.
        unsafe {
            let points = if inner <= SHORT { BLOCK } else { inner };
            let mut frame = self.tape.begin(task.run, workspace, points);
            let mut finish = task.epilogue.begin(task.run, workspace, own.len());
            for start in own.clone().step_by(BATCH) {
                let end = own.end.min(start + BATCH);
                if (1..=SHORT).contains(&inner) {
                    self.short_lines(&mut frame, start..end, &blocks, results);
                } else {
                    for point in start..end {
                        let to = results.add((point - start) * combine.size);
                        self.line(&mut frame, point * inner..(point + 1) * inner, &blocks, to);
                    }
                }
                task.epilogue.store(task.run, &mut finish, start..end, results);
            }
        }
    }

    /// Combines rows `inner` of some columns into `blocks.level`: at most [`COLUMNS`] of them when they lie in memory, else
    /// at most a block.
    ///
    /// # Safety
    /// The columns exist, and the frame is of this job's tape.
    unsafe fn column_block(
        &self,
        frame: &mut Frame,
        columns: Range<usize>,
        inner: Range<usize>,
        blocks: &Blocks,
    ) {
        let n = columns.len();
        let Combine { size, kind, identity, step, rows, .. } = self.combine;
        // SAFETY: the columns exist; blocks hold BLOCK values, and there are at most as many columns.
        unsafe {
            fill(identity, kind, blocks.level, n);
            if inner.is_empty() {
                return;
            }
            if let Some(base) = self.tape.in_memory(self.task.run) {
                let first = base.add((inner.start * self.outer + columns.start) * size);
                return rows(blocks.level, n, first, inner.len(), self.outer);
            }
            for first in inner.clone().step_by(ROWS) {
                fill(identity, kind, blocks.acc, n);
                // Two blocks take turns, so that nothing is copied back.
                let (mut from, mut to) = (blocks.acc, blocks.spare);
                for row in first..inner.end.min(first + ROWS) {
                    let start = row * self.outer + columns.start;
                    self.tape.load(self.task.run, frame, start..start + n, blocks.values);
                    step(from, blocks.values, to, n);
                    std::mem::swap(&mut from, &mut to);
                }
                step(blocks.level, from, to, n);
                std::ptr::copy_nonoverlapping(to, blocks.level, n * size);
            }
        }
    }

    /// How many columns are taken at a time.
    fn column_step(&self) -> usize {
        // SAFETY: the run binds the plan's buffers.
        if unsafe { self.tape.in_memory(self.task.run) }.is_some() { COLUMNS } else { BLOCK }
    }

    /// Each worker takes some outer points, which lie side by side, and walks down all rows of them.
    ///
    /// # Safety
    /// Every worker of the region calls it, with a workspace of its own.
    unsafe fn columns(&self, workspace: &Workspace) {
        let task = self.task;
        let own = task.worker.split(self.outer, 64);
        if own.is_empty() {
            return;
        }
        let blocks = Blocks::new(workspace);
        // SAFETY: ranges lie inside the input, results inside their block, and workers take disjoint points.
        unsafe {
            let mut frame = self.tape.begin(task.run, workspace, BLOCK);
            let mut finish = task.epilogue.begin(task.run, workspace, own.len());
            for start in own.clone().step_by(self.column_step()) {
                let end = own.end.min(start + self.column_step());
                self.column_block(&mut frame, start..end, 0..self.inner, &blocks);
                task.epilogue.store(task.run, &mut finish, start..end, blocks.level);
            }
        }
    }

    /// Each worker combines its share of the inner points of every result; the first finishes.
    ///
    /// # Safety
    /// Every worker of the region calls it, with a workspace of its own; shared memory has a line for each.
    unsafe fn share_inner(&self, workspace: &Workspace) {
        let Job { task, combine, outer, inner, .. } = *self;
        let own = task.worker.split(inner, 1024);
        let blocks = Blocks::new(workspace);
        let partial = |worker: usize, point: usize| {
            task.shared.get().wrapping_add((worker * outer + point) * combine.size)
        };
        // SAFETY: every worker writes its own row of partial results; the barrier stands between writing and reading.
        unsafe {
            let mut frame = self.tape.begin(task.run, workspace, BLOCK);
            if task.columns {
                self.column_block(&mut frame, 0..outer, own, &blocks);
                let to = partial(task.worker.index(), 0);
                std::ptr::copy_nonoverlapping(blocks.level, to, outer * combine.size);
            } else {
                for point in 0..outer {
                    let range = point * inner + own.start..point * inner + own.end;
                    self.line(&mut frame, range, &blocks, partial(task.worker.index(), point));
                }
            }
            task.worker.barrier();
            if task.worker.index() == 0 {
                for other in 1..task.worker.count() {
                    (combine.step)(partial(0, 0), partial(other, 0), blocks.spare, outer);
                    std::ptr::copy_nonoverlapping(blocks.spare, partial(0, 0), outer * combine.size);
                }
                let mut finish = task.epilogue.begin(task.run, workspace, outer);
                task.epilogue.store(task.run, &mut finish, 0..outer, partial(0, 0));
            }
        }
    }
}

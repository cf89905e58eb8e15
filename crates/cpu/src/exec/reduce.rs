//! Reductions by block loops.
//!
//! Elements are combined into a block of running values, lane by lane, and the block is folded in halves at the end: every
//! type vectorises, and the error of a float sum grows with the logarithm of its length rather than with the length.

use super::Task;
use super::access::fill;
use super::loops::{self, Loop2};
use super::tape::{BLOCK, Frame, Tape};
use super::workspace::Workspace;
use std::ops::Range;
use wootz_ir::op::ReduceOp;
use wootz_ir::scalar::BinaryFn;
use wootz_ir::{DType, Number, ScalarType, Shape, View};
use wootz_plan::{Fused, Step};

/// Outer points whose results are finished together.
const BATCH: usize = 512;
/// Rows added into one running block before it is added to the next level, in column order.
const ROWS: usize = 128;

/// How one reduction combines values of one type.
#[derive(Clone, Copy)]
struct Combine {
    step: Loop2,
    identity: Number,
    kind: ScalarType,
    size: usize,
}

impl Combine {
    fn new(op: ReduceOp, kind: ScalarType) -> Combine {
        let f = match op {
            ReduceOp::Sum => BinaryFn::Add,
            ReduceOp::Prod => BinaryFn::Mul,
            ReduceOp::Min => BinaryFn::Min,
            ReduceOp::Max => BinaryFn::Max,
            ReduceOp::Any => BinaryFn::Or,
            ReduceOp::All => BinaryFn::And,
        };
        let step = loops::binary(f, kind).expect("reductions are asked for on types that have them");
        Combine { step, identity: identity(op, kind.dtype()), kind, size: kind.dtype().size() }
    }

    /// `acc[i] = acc[i] ∘ x[i]`; `spare` is a block that the result may pass through.
    ///
    /// # Safety
    /// All three point at `n` values; `spare` overlaps neither.
    unsafe fn accumulate(&self, acc: *mut u8, x: *const u8, spare: *mut u8, n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            (self.step)(acc, x, spare, n);
            std::ptr::copy_nonoverlapping(spare, acc, n * self.size);
        }
    }

    /// Folds `n ≥ 1` values into the first.
    ///
    /// # Safety
    /// `values` and `spare` have `n` values each and do not overlap.
    unsafe fn fold(&self, values: *mut u8, spare: *mut u8, mut n: usize) {
        while n > 1 {
            let half = n / 2;
            let rest = n - half;
            // SAFETY: both halves lie inside the block.
            unsafe { self.accumulate(values, values.add(rest * self.size), spare, half) };
            n = rest;
        }
    }
}

fn identity(op: ReduceOp, dtype: DType) -> Number {
    match op {
        ReduceOp::Sum | ReduceOp::Any => Number::Int(0).cast(dtype),
        ReduceOp::Prod | ReduceOp::All => Number::Int(1).cast(dtype),
        ReduceOp::Min if dtype.is_float() => Number::Float(f64::INFINITY),
        ReduceOp::Max if dtype.is_float() => Number::Float(f64::NEG_INFINITY),
        ReduceOp::Min => dtype.integer_range().map_or(Number::Bool(true), |(_, high)| wide(high)),
        ReduceOp::Max => dtype.integer_range().map_or(Number::Bool(false), |(low, _)| wide(low)),
    }
}

fn wide(value: i128) -> Number {
    if value > i64::MAX as i128 { Number::Uint(value as u64) } else { Number::Int(value as i64) }
}

/// The input with its inner axes first, where that is how memory lies: outer points side by side.
pub fn by_columns(input: &Fused, inner: usize) -> Option<Fused> {
    let total = input.shape.count();
    if inner <= 1 || total == 0 {
        return None;
    }
    let outer = total / inner;
    let split = (1..input.shape.rank()).find(|&s| input.shape[..s].iter().product::<usize>() == outer)?;
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

pub fn run(task: &Task<'_>, workspace: &mut Workspace, op: ReduceOp, inner: usize) {
    let outer = task.step.shape.count();
    if outer == 0 {
        return;
    }
    let combine = Combine::new(op, task.inputs[0].result_type);
    let job = Job { task, combine, outer, inner, tape: &task.inputs[0] };
    // SAFETY: the run binds the plan's buffers; workers finish disjoint results.
    unsafe {
        if task.worker.count() > 1 && splits_inner(&task.step.shape, task.worker.count()) {
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
    fn new(workspace: &mut Workspace) -> Blocks {
        let mut block = || workspace.reserve(BLOCK * 8);
        Blocks { acc: block(), level: block(), spare: block(), values: block() }
    }
}

impl Job<'_> {
    /// Points of the input as values: in memory, or computed into a block.
    unsafe fn values(&self, frame: &mut Frame, range: Range<usize>, blocks: &Blocks) -> *const u8 {
        // SAFETY: the points exist, and a block has room for them.
        unsafe {
            if let Some(base) = self.tape.in_memory(self.task.run) {
                return base.add(range.start * self.combine.size);
            }
            self.tape.load(self.task.run, frame, range, blocks.values);
            blocks.values
        }
    }

    /// Combines consecutive points into the first value of `blocks.acc`.
    unsafe fn line(&self, frame: &mut Frame, range: Range<usize>, blocks: &Blocks) {
        let Combine { size, kind, identity, .. } = self.combine;
        let width = range.len().clamp(1, BLOCK);
        // SAFETY: blocks hold BLOCK values; ranges are cut to blocks.
        unsafe {
            if range.is_empty() {
                return fill(identity, kind, blocks.acc, 1);
            }
            let first = range.start..range.start + width;
            let values = self.values(frame, first, blocks);
            std::ptr::copy_nonoverlapping(values, blocks.acc, width * size);
            for start in (range.start + width..range.end).step_by(BLOCK) {
                let n = BLOCK.min(range.end - start);
                let values = self.values(frame, start..start + n, blocks);
                self.combine.accumulate(blocks.acc, values, blocks.spare, n);
            }
            self.combine.fold(blocks.acc, blocks.spare, width);
        }
    }

    /// Each worker takes some outer points and walks the row of each.
    unsafe fn rows(&self, workspace: &mut Workspace) {
        let Job { task, combine, inner, .. } = *self;
        let own = task.worker.split(self.outer, 1024usize.div_ceil(inner.max(1)));
        if own.is_empty() {
            return;
        }
        let blocks = Blocks::new(workspace);
        let results = workspace.reserve(BATCH * 8);
        // SAFETY: ranges lie inside the input, results inside their block, and workers take disjoint points.
        unsafe {
            let mut frame = self.tape.begin(task.run, workspace, inner);
            let mut finish = task.epilogue.begin(task.run, workspace, own.len());
            for start in own.clone().step_by(BATCH) {
                let end = own.end.min(start + BATCH);
                for point in start..end {
                    self.line(&mut frame, point * inner..(point + 1) * inner, &blocks);
                    let to = results.add((point - start) * combine.size);
                    std::ptr::copy_nonoverlapping(blocks.acc, to, combine.size);
                }
                task.epilogue.store(task.run, &mut finish, start..end, results);
            }
        }
    }

    /// Combines rows `inner` of the columns `columns` (at most a block) into `blocks.level`.
    unsafe fn column_block(
        &self,
        frame: &mut Frame,
        columns: Range<usize>,
        inner: Range<usize>,
        blocks: &Blocks,
    ) {
        let n = columns.len();
        // SAFETY: as in `line`.
        unsafe {
            fill(self.combine.identity, self.combine.kind, blocks.level, n);
            for first in inner.clone().step_by(ROWS) {
                fill(self.combine.identity, self.combine.kind, blocks.acc, n);
                // Two blocks take turns, so that nothing is copied back.
                let (mut from, mut to) = (blocks.acc, blocks.spare);
                for row in first..inner.end.min(first + ROWS) {
                    let start = row * self.outer + columns.start;
                    let values = self.values(frame, start..start + n, blocks);
                    (self.combine.step)(from, values, to, n);
                    std::mem::swap(&mut from, &mut to);
                }
                self.combine.accumulate(blocks.level, from, to, n);
            }
        }
    }

    /// Each worker takes some outer points, which lie side by side, and walks down all rows of them.
    unsafe fn columns(&self, workspace: &mut Workspace) {
        let task = self.task;
        let own = task.worker.split(self.outer, 64);
        if own.is_empty() {
            return;
        }
        let blocks = Blocks::new(workspace);
        // SAFETY: as in `rows`.
        unsafe {
            let mut frame = self.tape.begin(task.run, workspace, BLOCK);
            let mut finish = task.epilogue.begin(task.run, workspace, own.len());
            for start in own.clone().step_by(BLOCK) {
                let end = own.end.min(start + BLOCK);
                self.column_block(&mut frame, start..end, 0..self.inner, &blocks);
                task.epilogue.store(task.run, &mut finish, start..end, blocks.level);
            }
        }
    }

    /// Each worker combines its share of the inner points of every result; the first finishes.
    unsafe fn share_inner(&self, workspace: &mut Workspace) {
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
                    self.line(&mut frame, range, &blocks);
                    let to = partial(task.worker.index(), point);
                    std::ptr::copy_nonoverlapping(blocks.acc, to, combine.size);
                }
            }
            task.worker.barrier();
            if task.worker.index() == 0 {
                for other in 1..task.worker.count() {
                    combine.accumulate(partial(0, 0), partial(other, 0), blocks.spare, outer);
                }
                let mut finish = task.epilogue.begin(task.run, workspace, outer);
                task.epilogue.store(task.run, &mut finish, 0..outer, partial(0, 0));
            }
        }
    }
}

//! Quantised products and look-ups: weights stay as they are in the file.
//!
//! A product with chosen matrices of a stack is computed matrix by matrix, each with the rows that chose it
//! ([`super::experts`]).

use super::Task;
use super::experts::Choices;
use super::gather::resolve;
use super::workspace::Workspace;
use crate::quant::{ActLayout, Acts, Output, Weights, matmul_rows};
use smallvec::SmallVec;
use wootz_blocks::{BlockFormat, dequantize};
use wootz_plan::{Kernel, Source, Step};

/// Minimum number of weight rows per worker.
const GRAIN: usize = 16;

/// Whether results can be written where they stay.
fn is_direct(step: &Step) -> bool {
    step.epilogue.program.is_identity()
        && step.stores[0].dtype == wootz_ir::DType::F32
        && step.stores[0].layout.is_contiguous()
}

/// The operands of a step.
#[derive(Clone, Copy, PartialEq)]
struct BatchedShape {
    format: BlockFormat,
    rows: usize,
    columns: usize,
    width: usize,
    /// Matrices to choose from, and how many of them each row chooses.
    stack: Option<(usize, usize)>,
    /// Of activations as integers, where there is an integer product.
    layout: Option<ActLayout>,
}

impl BatchedShape {
    /// `None` if the step is not a quantised product, or an empty one.
    fn of(step: &Step) -> Option<BatchedShape> {
        let (format, activations, stack) = match step.kernel {
            Kernel::QuantMatmul { format, activations } => (format, activations, None),
            Kernel::ExpertMatmul { format, activations } => {
                let stack = (step.input_shapes[1][0], step.input_shapes[2][1]);
                (format, activations, Some(stack))
            }
            _ => return None,
        };
        let (x, weights) = (&step.input_shapes[0], &step.input_shapes[1]);
        let [.., width, bytes] = **weights else { return None };
        let columns = bytes / format.block_bytes() * format.block_len();
        let rows = x.count().checked_div(columns)?;
        let layout = ActLayout::new(columns, activations).filter(|_| Weights::supports(format));
        let problem = BatchedShape { format, rows, columns, width, stack, layout };
        (problem.out_rows() * width > 0).then_some(problem)
    }

    /// Rows of the result.
    fn out_rows(&self) -> usize {
        self.rows * self.stack.map_or(1, |(_, slots)| slots)
    }

    /// Bytes of one copy of the activations.
    fn coded_bytes(&self) -> usize {
        let words = self.layout.map_or(self.columns, |layout| layout.words());
        (self.rows * words * 4).next_multiple_of(64)
    }

    /// How many copies of the coded activations there are. One row is coded by every worker for itself: that takes no
    /// longer than to wait for one of them, and nobody has to.
    fn copies(&self, workers: usize) -> usize {
        if self.rows == 1 { workers } else { 1 }
    }
}

/// Activations coded, and results that an epilogue has yet to finish.
pub fn shared_bytes(step: &Step, workers: usize) -> usize {
    let Some(problem) = BatchedShape::of(step) else { return 0 };
    let results = if is_direct(step) { 0 } else { problem.out_rows() * problem.width * 4 };
    problem.coded_bytes() * problem.copies(workers) + results
}

/// Whether a step leaves coded activations at the start of the shared memory.
pub fn codes(step: &Step) -> bool {
    BatchedShape::of(step).is_some()
}

/// Whether what `earlier` coded is what `later` would code again.
pub fn same_codes(earlier: &Step, later: &Step) -> bool {
    let (Some(a), Some(b)) = (BatchedShape::of(earlier), BatchedShape::of(later)) else { return false };
    (a.columns, a.layout) == (b.columns, b.layout)
        && earlier.input_shapes[0] == later.input_shapes[0]
        && earlier.inputs[0] == later.inputs[0]
}

/// Whether a step uses shared memory for more than coded activations.
pub fn keeps_results(step: &Step) -> bool {
    !matches!(step.kernel, Kernel::QuantMatmul { .. } | Kernel::ExpertMatmul { .. }) || !is_direct(step)
}

/// The bytes of a plain operand.
fn bytes<'a>(task: &'a Task<'_>, slot: usize) -> &'a [u8] {
    let load = task.step.inputs[slot].plain().expect("weights are plain");
    let Source::Buffer(buffer) = load.source else { unreachable!("weights are in memory") };
    let start = task.run.pointers[buffer as usize].cast_const();
    assert!(load.layout.is_contiguous(), "weights lie in row-major order");
    // SAFETY: the plan keeps the operand inside its buffer, and nobody writes weights.
    unsafe { std::slice::from_raw_parts(start.add(load.layout.offset), load.layout.shape.count()) }
}

/// A worker's part of a product.
struct Product<'a> {
    task: &'a Task<'a>,
    problem: BatchedShape,
    /// Where this worker finds the activations.
    coded: *mut u8,
    /// The rows of activations that this worker codes, and whether others wait for them.
    to_code: std::ops::Range<usize>,
    is_shared: bool,
    /// Unfinished results of all workers.
    unfinished: *mut u8,
}

pub fn matmul(task: &Task<'_>, workspace: &Workspace) {
    let Some(problem) = BatchedShape::of(task.step) else { return };
    let copies = problem.copies(task.worker.count());
    let bytes = problem.coded_bytes();
    let is_shared = copies == 1;
    let product = Product {
        task,
        problem,
        coded: task.shared.get().wrapping_add(if is_shared { 0 } else { task.worker.index() * bytes }),
        to_code: if is_shared { task.worker.split(problem.rows, 1) } else { 0..problem.rows },
        is_shared,
        unfinished: task.shared.get().wrapping_add(copies * bytes),
    };
    match problem.layout {
        Some(layout) => product.by_integers(workspace, layout),
        None => product.by_floats(workspace),
    }
}

impl Product<'_> {
    /// Where results go: into the store, or into shared memory until the epilogue has seen them.
    fn output(&self) -> *mut f32 {
        if is_direct(self.task.step) {
            // SAFETY: the run binds the plan's buffers.
            let start = unsafe { self.task.epilogue.store_in_memory(self.task.run) };
            return start.expect("a direct step stores in memory").cast();
        }
        self.unfinished.cast()
    }

    /// Waits until all activations are quantised, if workers quantise for each other.
    fn meet(&self) {
        if self.is_shared {
            self.task.worker.barrier();
        }
    }

    /// Runs the epilogue over this worker's columns of every row.
    fn finish(&self, workspace: &Workspace, own: std::ops::Range<usize>, output: *mut f32) {
        if is_direct(self.task.step) {
            return;
        }
        let (tape, width) = (self.task.epilogue, self.problem.width);
        // SAFETY: this worker has just computed these results, and finishes no others.
        unsafe {
            let mut frame = tape.begin(self.task.run, workspace, own.len());
            for row in 0..self.problem.out_rows() {
                let points = row * width + own.start..row * width + own.end;
                let from = output.add(points.start).cast_const().cast();
                tape.store(self.task.run, &mut frame, points, from);
            }
        }
    }

    /// Activations as codes of 8 or 16 bits, integer dot products.
    fn by_integers(&self, workspace: &Workspace, layout: ActLayout) {
        let (task, BatchedShape { format, rows, columns, width, stack, .. }) = (self.task, self.problem);
        let words = layout.words();
        let codes: *mut u32 = self.coded.cast();
        let row_values = workspace.slice::<f32>(columns);
        // SAFETY: workers code rows of their own, or copies of their own; a barrier stands between coding and reading
        // what others coded.
        unsafe {
            if !task.coded {
                let tape = &task.inputs[0];
                let mut frame = tape.begin(task.run, workspace, columns);
                for row in self.to_code.clone() {
                    let points = row * columns..(row + 1) * columns;
                    tape.load(task.run, &mut frame, points, row_values.as_mut_ptr().cast());
                    let records = std::slice::from_raw_parts_mut(codes.add(row * words), words);
                    layout.quantize_row(row_values, records);
                }
                self.meet();
            }
            let records = std::slice::from_raw_parts(codes, rows * words);
            let acts = Acts::new(layout, records).expect("whole records were made");
            let acts = acts.batch_invariant(task.run.batch_invariant);
            let own = task.worker.split(width, GRAIN);
            if own.is_empty() {
                return;
            }
            let (bytes, output) = (bytes(task, 1), self.output());
            let weights = |bytes| {
                Weights::new(format, bytes, width, columns)
                    .expect("the node was built with whole rows of a format that has a kernel")
            };
            match stack {
                None => matmul_rows(&weights(bytes), &acts, own.clone(), Output::new(output, width)),
                Some((experts, slots)) => {
                    let matrix = bytes.len() / experts;
                    for group in Choices::new(task, workspace, experts, slots).groups() {
                        let weights = weights(&bytes[group.expert * matrix..][..matrix]);
                        let to = Output::new(output, width).rows(group.pairs);
                        matmul_rows(&weights, &acts.rows_of(group.rows), own.clone(), to);
                    }
                }
            }
            self.finish(workspace, own, output);
        }
    }

    /// Rows turned into floats one by one, for formats without an integer product.
    fn by_floats(&self, workspace: &Workspace) {
        let (task, BatchedShape { format, rows, columns, width, stack, .. }) = (self.task, self.problem);
        let x: *mut f32 = self.coded.cast();
        // SAFETY: workers turn rows of their own into floats, or copies of their own; a barrier stands between writing and
        // reading what others wrote.
        unsafe {
            if !task.coded {
                let tape = &task.inputs[0];
                let mut frame = tape.begin(task.run, workspace, columns);
                for row in self.to_code.clone() {
                    let points = row * columns..(row + 1) * columns;
                    tape.load(task.run, &mut frame, points, x.add(row * columns).cast());
                }
                self.meet();
            }
            let own = task.worker.split(width, GRAIN);
            if own.is_empty() {
                return;
            }
            let (weights, output) = (bytes(task, 1), self.output());
            let values = workspace.slice::<f32>(columns);
            // A matrix with the rows that it meets: where each is in x, and where its results go.
            let mut multiply = |matrix: &[u8], met: &mut dyn Iterator<Item = (usize, usize)>| {
                let row_bytes = matrix.len() / width;
                let met: SmallVec<[(usize, usize); 64]> = met.collect();
                for column in own.clone() {
                    dequantize(format, &matrix[column * row_bytes..][..row_bytes], values)
                        .expect("whole blocks, as the node was built");
                    for &(row, to) in &met {
                        let x = std::slice::from_raw_parts(x.add(row * columns), columns);
                        *output.add(to * width + column) = dot(x, values);
                    }
                }
            };
            match stack {
                None => multiply(weights, &mut (0..rows).map(|row| (row, row))),
                Some((experts, slots)) => {
                    let matrix = weights.len() / experts;
                    for group in Choices::new(task, workspace, experts, slots).groups() {
                        let met = group.rows.iter().zip(group.pairs).map(|(&r, &p)| (r as usize, p as usize));
                        multiply(&weights[group.expert * matrix..][..matrix], &mut { met });
                    }
                }
            }
            self.finish(workspace, own, output);
        }
    }
}

crate::isa_fn! {
    /// An inner product with sixteen running sums.
    pub fn dot<I>(x: &[f32], y: &[f32]) -> f32 {
        let mut sums = [0.0f32; 16];
        let (x_chunks, y_chunks) = (x.chunks_exact(16), y.chunks_exact(16));
        let tail: f32 = x_chunks.remainder().iter().zip(y_chunks.remainder()).map(|(a, b)| a * b).sum();
        for (a, b) in x_chunks.zip(y_chunks) {
            for l in 0..16 {
                sums[l] = I::mul_add(a[l], b[l], sums[l]);
            }
        }
        sums.iter().sum::<f32>() + tail
    }
}

pub fn gather(task: &Task<'_>, workspace: &Workspace, format: BlockFormat) {
    let weights = &task.step.input_shapes[0];
    let columns = weights[1] / format.block_bytes() * format.block_len();
    let count = task.inputs[1].len;
    let own = task.worker.split(count, 4);
    if own.is_empty() || columns == 0 {
        return;
    }
    let data = bytes(task, 0);
    let row_bytes = weights[1];
    let values = workspace.slice::<f32>(columns);
    let index = workspace.slice::<i64>(1);
    // SAFETY: points exist, buffers are as long as the ranges, and workers take disjoint rows.
    unsafe {
        let tape = &task.inputs[1];
        let mut frame = tape.begin(task.run, workspace, 1);
        let mut finish = task.epilogue.begin(task.run, workspace, columns);
        for i in own {
            tape.load(task.run, &mut frame, i..i + 1, index.as_mut_ptr().cast());
            let row = resolve(index[0], weights[0]);
            if let Some(coded) = data.get(row * row_bytes..(row + 1) * row_bytes) {
                dequantize(format, coded, values).expect("whole blocks, as the node was built");
            }
            let points = i * columns..(i + 1) * columns;
            task.epilogue.store(task.run, &mut finish, points, values.as_ptr().cast());
        }
    }
}

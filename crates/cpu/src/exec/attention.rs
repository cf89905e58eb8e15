//! Scaled-dot-product attention: passes the operands of a step to the attention kernel.
//!
//! Keys and values in f32, f16, bf16 or f64 are read in place. Operands in an unsupported dtype (half-precision
//! queries, a half-precision cache with f64 queries) are first widened into shared memory.

use super::Task;
use super::tape::{Frame, RunBuffers, Tape};
use super::workspace::Workspace;
use crate::attention::{Attention, AttentionRule, AttentionShape, Heads};
use crate::gemm::LoadAs;
use crate::math::Elementary;
use crate::team::SyncPtr;
use half::{bf16, f16};
use std::cell::UnsafeCell;
use std::ops::Range;
use wootz_ir::op::AttentionSpec;
use wootz_ir::{DType, Layout, ScalarType};
use wootz_plan::{Source, Step};

/// The dtypes that the kernel reads for keys and values, with T for queries.
fn reads(compute: ScalarType, dtype: DType) -> bool {
    match compute {
        ScalarType::F64 => dtype == DType::F64,
        _ => matches!(dtype, DType::F32 | DType::F16 | DType::BF16),
    }
}

/// Whether operand `slot` has to be widened first.
fn is_staged(step: &Step, slot: usize) -> bool {
    let load = step.inputs[slot].plain().expect("attention reads plain operands");
    let compute = step.dtype.compute();
    if slot == 0 { load.dtype != compute.dtype() } else { !reads(compute, load.dtype) }
}

/// Bytes of the widened copy of operand `slot`.
fn staged_bytes(step: &Step, slot: usize) -> usize {
    if !is_staged(step, slot) {
        return 0;
    }
    (step.input_shapes[slot].count() * step.dtype.compute().dtype().size()).next_multiple_of(64)
}

fn shape(step: &Step) -> AttentionShape {
    let (q, k) = (&step.input_shapes[0], &step.input_shapes[1]);
    AttentionShape {
        batch: q[0],
        heads: q[1],
        groups: k[1],
        queries: q[2],
        keys: k[2],
        depth: q[3],
        width: step.shape[3],
    }
}

fn rule(spec: &AttentionSpec, position: Option<i64>) -> AttentionRule {
    AttentionRule {
        scale: spec.scale.get(),
        softcap: spec.softcap.map(|cap| cap.get()),
        position,
        window: spec.window,
    }
}

/// The kernel's working memory, and room for operands that are widened first.
pub fn shared_bytes(step: &Step, workers: usize) -> usize {
    let staged: usize = (0..3).map(|slot| staged_bytes(step, slot)).sum();
    let kernel = match step.dtype.compute() {
        ScalarType::F64 => kernel_bytes::<f64>(step, workers),
        _ => kernel_bytes::<f32>(step, workers),
    };
    staged + kernel
}

fn kernel_bytes<T: Elementary + LoadAs<T>>(step: &Step, workers: usize) -> usize {
    // SAFETY: only the sizes of this problem are asked for; nothing is read through it.
    let nowhere = unsafe { Heads::<T>::new(std::ptr::null(), [0; 4]) };
    let rule = AttentionRule { scale: 1.0, softcap: None, position: None, window: None };
    let problem = Attention {
        shape: shape(step),
        rule,
        q: nowhere,
        k: nowhere,
        v: nowhere,
        mask: None,
        sinks: None,
        batch_invariant: false,
        result: &|_, _| {},
    };
    problem.scratch_bytes(workers)
}

pub fn run(task: &Task<'_>, workspace: &Workspace, spec: &AttentionSpec) {
    let keys = if is_staged(task.step, 1) {
        task.step.dtype.compute().dtype()
    } else {
        task.step.inputs[1].plain().map_or(DType::F32, |load| load.dtype)
    };
    match (task.step.dtype.compute(), keys) {
        (ScalarType::F64, _) => typed::<f64, f64>(task, workspace, spec),
        (_, DType::F16) => typed::<f32, f16>(task, workspace, spec),
        (_, DType::BF16) => typed::<f32, bf16>(task, workspace, spec),
        _ => typed::<f32, f32>(task, workspace, spec),
    }
}

/// Operand `slot` as the kernel reads it: in its buffer, or in the widened copy at `staged`.
fn operand<'a, S>(task: &'a Task<'_>, slot: usize, staged: *mut u8) -> Heads<'a, S> {
    let load = task.step.inputs[slot].plain().expect("attention reads plain operands");
    let Source::Buffer(buffer) = load.source else { unreachable!("operands are in memory") };
    let widened = Layout::contiguous(&task.step.input_shapes[slot]);
    let (start, layout) = if is_staged(task.step, slot) {
        (staged.cast_const(), &widened)
    } else {
        let offset = load.layout.offset * load.dtype.size();
        (task.run.pointers[buffer as usize].wrapping_add(offset).cast_const(), &load.layout)
    };
    let strides = [layout.strides[0], layout.strides[1], layout.strides[2], layout.strides[3]];
    // SAFETY: the plan keeps the operand inside its buffer, the copy is as large as the operand, and nobody writes
    // either while this step runs.
    unsafe { Heads::new(start.cast(), strides) }
}

fn typed<T: Elementary + LoadAs<T> + bytemuck::Pod, S: LoadAs<T>>(
    task: &Task<'_>,
    workspace: &Workspace,
    spec: &AttentionSpec,
) {
    let mut staged = [task.shared.get(); 3];
    for slot in 1..3 {
        staged[slot] = staged[slot - 1].wrapping_add(staged_bytes(task.step, slot - 1));
    }
    let memory = SyncPtr::new(staged[2].wrapping_add(staged_bytes(task.step, 2)));
    if (0..3).any(|slot| is_staged(task.step, slot)) {
        (0..3).for_each(|slot| stage::<T>(task, workspace, slot, staged[slot]));
        task.worker.barrier();
    }
    let position = spec.causal.then(|| first_position(task, workspace));
    let shape = shape(task.step);
    let rows = |[b, h, t]: [usize; 3]| (b * shape.heads + h) * shape.queries + t;
    let finish = OwnTape::new(task.epilogue, task.run, workspace, shape.width);
    let result = |at: [usize; 3], values: &[T]| {
        let first = rows(at) * shape.width;
        finish.store(first..first + shape.width, values);
    };
    let hidden = spec.mask.then(|| OwnTape::new(&task.inputs[3], task.run, workspace, shape.keys));
    let mask = |at: [usize; 3], keys: Range<usize>, out: &mut [T]| {
        if let Some(hidden) = &hidden {
            let first = rows(at) * shape.keys;
            hidden.load(first + keys.start..first + keys.end, out);
        }
    };
    let sinks = workspace.slice::<T>(if spec.sinks { shape.heads } else { 0 });
    if spec.sinks {
        let tape = &task.inputs[3 + usize::from(spec.mask)];
        OwnTape::new(tape, task.run, workspace, shape.heads).load(0..shape.heads, sinks);
    }
    let problem = Attention::<T, S> {
        shape,
        rule: rule(spec, position),
        q: operand(task, 0, staged[0]),
        k: operand(task, 1, staged[1]),
        v: operand(task, 2, staged[2]),
        mask: if spec.mask { Some(&mask) } else { None },
        sinks: if spec.sinks { Some(sinks) } else { None },
        batch_invariant: task.run.batch_invariant,
        result: &result,
    };
    // SAFETY: every worker comes here with equal arguments, and `shared_bytes` reserved the memory.
    unsafe { problem.run(task.worker, memory) };
}

/// Widens this worker's rows of an operand into shared memory, unless it is read in place.
fn stage<T: bytemuck::Pod>(task: &Task<'_>, workspace: &Workspace, slot: usize, to: *mut u8) {
    if !is_staged(task.step, slot) {
        return;
    }
    let shape = &task.step.input_shapes[slot];
    let depth = shape[3].max(1);
    let tape = &task.inputs[slot];
    let widen = super::loops::convert(tape.result_type, task.step.dtype.compute());
    let row = workspace.slice::<f64>(depth);
    // SAFETY: points exist, the copy has room for them, and workers take disjoint rows.
    unsafe {
        let mut frame = tape.begin(task.run, workspace, depth);
        for index in task.worker.split(shape.count() / depth, 8) {
            let points = index * depth..(index + 1) * depth;
            let place = to.cast::<T>().add(points.start).cast();
            match widen {
                Some(widen) if tape.result_type != task.step.dtype.compute() => {
                    tape.load(task.run, &mut frame, points, row.as_mut_ptr().cast());
                    widen(row.as_ptr().cast(), place, depth);
                }
                _ => tape.load(task.run, &mut frame, points, place),
            }
        }
    }
}

/// The position of the first query.
fn first_position(task: &Task<'_>, workspace: &Workspace) -> i64 {
    let mut value = [0i32];
    OwnTape::new(&task.inputs[task.inputs.len() - 1], task.run, workspace, 1).load(0..1, &mut value);
    value[0] as i64
}

/// A tape with a frame, behind a shared reference: the kernel takes closures that may be called from any worker, but each
/// worker makes closures of its own and calls only those.
struct OwnTape<'a> {
    tape: &'a Tape,
    run: &'a RunBuffers<'a>,
    frame: UnsafeCell<Frame>,
}

// SAFETY: as said above, one thread touches the frame.
unsafe impl Sync for OwnTape<'_> {}

impl<'a> OwnTape<'a> {
    fn new(tape: &'a Tape, run: &'a RunBuffers<'a>, workspace: &Workspace, points: usize) -> OwnTape<'a> {
        // SAFETY: the run binds the plan's buffers, and the workspace is this worker's.
        let frame = UnsafeCell::new(unsafe { tape.begin(run, workspace, points) });
        OwnTape { tape, run, frame }
    }

    fn load<T>(&self, range: Range<usize>, out: &mut [T]) {
        assert_eq!(range.len(), out.len());
        // SAFETY: one thread; the points exist, and `out` has room for them.
        unsafe { self.tape.load(self.run, &mut *self.frame.get(), range, out.as_mut_ptr().cast()) }
    }

    fn store<T>(&self, range: Range<usize>, values: &[T]) {
        assert_eq!(range.len(), values.len());
        // SAFETY: one thread; no two workers store the same points.
        unsafe { self.tape.store(self.run, &mut *self.frame.get(), range, values.as_ptr().cast()) }
    }
}

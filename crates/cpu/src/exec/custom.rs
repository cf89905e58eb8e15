//! User-defined kernels, run by a single worker directly on the buffers.

use super::Task;
use smallvec::SmallVec;
use wootz_ir::CustomKernel;
use wootz_ir::custom::HostArray;

/// An error is recorded for the run, which reports the first one at its end: other workers are in the same region.
pub fn run(task: &Task<'_>, kernel: &CustomKernel) {
    let Some(host) = kernel.host().filter(|_| task.worker.index() == 0) else { return };
    let store = &task.step.stores[0];
    let mut operands: SmallVec<[HostArray<'_>; 8]> = SmallVec::new();
    for (input, shape) in task.step.inputs.iter().zip(&task.step.input_shapes) {
        let load = input.plain().expect("the planner gives a user's kernel plain inputs");
        let buffer = input.buffers().next().expect("a plain input is in a buffer");
        let length = shape.count() * load.dtype.size();
        let bytes = match length {
            0 => &[][..],
            // SAFETY: the input is row-major from its buffer's start, and nobody writes it during the step.
            _ => unsafe { std::slice::from_raw_parts(task.run.pointers[buffer as usize], length) },
        };
        operands.push(HostArray { bytes, dtype: load.dtype, shape });
    }
    let length = task.step.shape.count() * store.dtype.size();
    if length > 0 {
        // SAFETY: the store is a buffer of the step's own, written by this worker alone.
        let result =
            unsafe { std::slice::from_raw_parts_mut(task.run.pointers[store.buffer as usize], length) };
        result.fill(0);
        if let Err(error) = host(&operands, result) {
            task.failure.get_or_init(|| error);
        }
    }
}

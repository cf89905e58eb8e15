//! RWKV-7's recurrence. Heads are independent; each worker processes some of them through all steps.

use super::Task;
use super::workspace::Workspace;

pub fn run(task: &Task<'_>, workspace: &Workspace) {
    let [steps, heads, depth] = *task.step.input_shapes[0] else {
        unreachable!("inputs have three axes");
    };
    // Rows of a head's state.
    let height = task.step.input_shapes[3][2];
    let widths = [depth, depth, depth, height, depth, depth];
    let outputs = steps * heads * height;
    let rows: [&mut [f32]; 6] = widths.map(|width| workspace.slice::<f32>(width));
    let state = workspace.slice::<f32>(height * depth);
    let out = workspace.slice::<f32>(height);
    let longest = depth.max(height);
    // SAFETY: points exist, buffers are as long as the ranges, and workers take disjoint heads.
    unsafe {
        let mut frames: Vec<_> = task.inputs.iter().map(|t| t.begin(task.run, workspace, longest)).collect();
        let mut frame = task.epilogue.begin(task.run, workspace, longest);
        for head in task.worker.split(heads, 1) {
            let own = head * height * depth..(head + 1) * height * depth;
            task.inputs[6].load(task.run, &mut frames[6], own.clone(), state.as_mut_ptr().cast());
            for step in 0..steps {
                let at = step * heads + head;
                for (slot, row) in rows.iter().enumerate() {
                    let (to, points) =
                        (row.as_ptr().cast_mut().cast(), at * widths[slot]..(at + 1) * widths[slot]);
                    task.inputs[slot].load(task.run, &mut frames[slot], points, to);
                }
                advance([&*rows[0], &*rows[1], &*rows[2], &*rows[3], &*rows[4], &*rows[5]], state, out);
                let points = at * height..(at + 1) * height;
                task.epilogue.store(task.run, &mut frame, points, out.as_ptr().cast());
            }
            let kept = outputs + own.start..outputs + own.end;
            task.epilogue.store(task.run, &mut frame, kept, state.as_ptr().cast());
        }
    }
}

crate::isa_fn! {
    /// `S ← S·diag(w) + (S·a)·bᵀ + v·kᵀ`, `out = S·r`, for one head.
    fn advance<I>(inputs: [&[f32]; 6], state: &mut [f32], out: &mut [f32]) {
        let [r, w, k, v, a, b] = inputs;
        let depth = r.len();
        for (i, row) in state.chunks_exact_mut(depth).enumerate() {
            let removed = dot::<I>(row, a);
            for j in 0..depth {
                let added = I::mul_add(removed, b[j], v[i] * k[j]);
                row[j] = I::mul_add(row[j], w[j], added);
            }
            out[i] = dot::<I>(row, r);
        }
    }
}

/// A dot product with eight running sums.
#[inline(always)]
fn dot<I: crate::isa::Isa>(x: &[f32], y: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let mut chunks = x.chunks_exact(8).zip(y.chunks_exact(8));
    for (x, y) in &mut chunks {
        for l in 0..8 {
            sums[l] = I::mul_add(x[l], y[l], sums[l]);
        }
    }
    let tail = x.len() / 8 * 8;
    let rest: f32 = x[tail..].iter().zip(&y[tail..]).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

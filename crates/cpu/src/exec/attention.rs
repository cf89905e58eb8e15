//! Scaled-dot-product attention: for each query the visible keys are scored, softened and mixed, in one pass over keys
//! and values (online softmax), so that the scores of a long context are never stored.

use super::Task;
use super::access::{ReadRun, reader};
use super::loops::{self, Loop1};
use super::workspace::Workspace;
use crate::isa::{Isa, Kernel, Real, dispatch};
use crate::math::Elementary;
use std::ops::Range;
use wootz_ir::op::AttentionSpec;
use wootz_ir::{Layout, ScalarType};
use wootz_plan::{Source, Step};

/// Keys that are scored together.
const TILE: usize = 64;

/// Every query is finished by one worker, which needs nothing shared.
pub fn shared_bytes(_: &Step, _: usize) -> usize {
    0
}

pub fn run(task: &Task<'_>, workspace: &mut Workspace, spec: &AttentionSpec) {
    match task.step.dtype.compute() {
        ScalarType::F64 => typed::<f64>(task, workspace, spec),
        _ => typed::<f32>(task, workspace, spec),
    }
}

/// An operand `[b, h, s, d]` in memory, read a row at a time.
struct Rows<'a, T: 'static> {
    start: *const u8,
    layout: &'a Layout,
    size: usize,
    /// Rows that are values of type T already, side by side, need no copy.
    direct: bool,
    read: ReadRun,
    /// From the dtype's compute type to T, where they differ (a half-precision cache under f64 queries).
    widen: Option<(Loop1, &'static mut [f32])>,
    buffer: &'static mut [T],
}

impl<'a, T: bytemuck::Pod> Rows<'a, T> {
    fn new(task: &'a Task<'_>, workspace: &mut Workspace, slot: usize) -> Rows<'a, T> {
        let load = task.step.inputs[slot].plain().expect("attention reads plain operands");
        let Source::Buffer(buffer) = load.source else { unreachable!("operands are in memory") };
        let depth = load.layout.shape[3];
        Rows {
            start: task.run.pointers[buffer as usize].cast_const(),
            layout: &load.layout,
            size: load.dtype.size(),
            direct: load.layout.strides[3] == 1 && load.dtype.size() == size_of::<T>(),
            read: reader(load.dtype),
            widen: (load.dtype.compute().dtype().size() != size_of::<T>()).then(|| {
                let widen = loops::convert(ScalarType::F32, ScalarType::F64).expect("floats convert");
                (widen, workspace.slice::<f32>(depth))
            }),
            buffer: workspace.slice::<T>(depth),
        }
    }

    /// Row `[b, h, s]`.
    fn row(&mut self, b: usize, h: usize, s: usize) -> &[T] {
        let depth = self.layout.shape[3];
        let at = self.layout.position(&[b, h, s, 0]) * self.size;
        // SAFETY: the row lies inside the operand.
        unsafe {
            let row = self.start.add(at);
            if self.direct {
                return std::slice::from_raw_parts(row.cast(), depth);
            }
            let stride = self.layout.strides[3];
            match &mut self.widen {
                None => (self.read)(row, stride, self.buffer.as_mut_ptr().cast(), depth),
                Some((widen, narrow)) => {
                    (self.read)(row, stride, narrow.as_mut_ptr().cast(), depth);
                    widen(narrow.as_ptr().cast(), self.buffer.as_mut_ptr().cast(), depth);
                }
            }
        }
        self.buffer
    }
}

fn typed<T: Elementary + bytemuck::Pod>(task: &Task<'_>, workspace: &mut Workspace, spec: &AttentionSpec) {
    let [batch, heads, queries, _] = *task.step.input_shapes[0] else { unreachable!("q has four axes") };
    let [_, groups, keys, _] = *task.step.input_shapes[1] else { unreachable!("k has four axes") };
    let width = task.step.shape[3];
    if task.step.shape.count() == 0 {
        return;
    }
    let own = task.worker.split(batch * heads * queries, 1);
    if own.is_empty() {
        return;
    }
    let mut q = Rows::<T>::new(task, workspace, 0);
    let mut k = Rows::<T>::new(task, workspace, 1);
    let mut v = Rows::<T>::new(task, workspace, 2);
    let position = if spec.causal { Some(first_position(task, workspace)) } else { None };
    let scores = workspace.slice::<T>(TILE);
    let mask = workspace.slice::<T>(TILE);
    let query = workspace.slice::<T>(q.layout.shape[3]);
    let mut state = Online { max: T::ZERO, sum: T::ZERO, mixed: workspace.slice::<T>(width) };
    // SAFETY: points exist, buffers are as long as the ranges, and workers take disjoint queries.
    unsafe {
        let mask_tape = spec.mask.then(|| &task.inputs[3]);
        let mut mask_frame = mask_tape.map(|tape| tape.begin(task.run, workspace, TILE));
        let mut finish = task.epilogue.begin(task.run, workspace, width);
        for index in own {
            let (t, h, b) = (index % queries, index / queries % heads, index / queries / heads);
            let g = h / (heads / groups);
            query.copy_from_slice(q.row(b, h, t));
            state.reset();
            let visible = visible_keys(position, t, spec.window, keys);
            for start in visible.clone().step_by(TILE) {
                let tile = start..visible.end.min(start + TILE);
                let scores = &mut scores[..tile.len()];
                for (score, s) in scores.iter_mut().zip(tile.clone()) {
                    *score = dispatch(Dot { a: query, b: k.row(b, g, s) }) * T::of(spec.scale.get());
                }
                if let Some(cap) = spec.softcap {
                    soften(scores, T::of(cap.get()));
                }
                if let (Some(tape), Some(frame)) = (mask_tape, &mut mask_frame) {
                    let first = index * keys + start;
                    tape.load(task.run, frame, first..first + tile.len(), mask.as_mut_ptr().cast());
                    scores.iter_mut().zip(mask.iter()).for_each(|(s, &m)| *s += m);
                }
                state.weigh(scores);
                for (&weight, s) in scores.iter().zip(tile) {
                    if weight != T::ZERO {
                        dispatch(Axpy { a: weight, x: v.row(b, g, s), y: state.mixed });
                    }
                }
            }
            state.normalise();
            let points = index * width..(index + 1) * width;
            task.epilogue.store(task.run, &mut finish, points, state.mixed.as_ptr().cast());
        }
    }
}

/// The position of the first query.
fn first_position(task: &Task<'_>, workspace: &mut Workspace) -> i64 {
    let tape = &task.inputs[task.inputs.len() - 1];
    let value = workspace.slice::<i32>(1);
    // SAFETY: the operand has one element.
    unsafe {
        let mut frame = tape.begin(task.run, workspace, 1);
        tape.load(task.run, &mut frame, 0..1, value.as_mut_ptr().cast());
    }
    value[0] as i64
}

/// The keys that query `t` sees.
fn visible_keys(position: Option<i64>, t: usize, window: Option<usize>, keys: usize) -> Range<usize> {
    let Some(position) = position else { return 0..keys };
    let end = (position + t as i64 + 1).clamp(0, keys as i64) as usize;
    let last = position + t as i64 + 1;
    let start = window.map_or(0, |w| (last - w as i64).clamp(0, end as i64) as usize);
    start..end
}

/// A softmax whose elements come in pieces: the largest score so far, the sum and the mix relative to it.
struct Online<T: 'static> {
    max: T,
    sum: T,
    mixed: &'static mut [T],
}

impl<T: Elementary> Online<T> {
    fn reset(&mut self) {
        self.max = -T::of(f64::INFINITY);
        self.sum = T::ZERO;
        self.mixed.fill(T::ZERO);
    }

    /// Turns scores into weights relative to the largest score so far, and what came before with them.
    fn weigh(&mut self, scores: &mut [T]) {
        #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
        let max = scores.iter().fold(self.max, |m, &s| if s > m || s != s { s } else { m });
        if max == -T::of(f64::INFINITY) {
            return scores.fill(T::ZERO);
        }
        let keep = dispatch(Exp(self.max - max));
        self.sum = self.sum * keep;
        self.mixed.iter_mut().for_each(|m| *m = *m * keep);
        self.max = max;
        dispatch(ExpRow { row: scores, shift: max });
        self.sum += scores.iter().fold(T::ZERO, |a, &b| a + b);
    }

    /// Divides by the sum; a query that sees nothing gives zeros.
    fn normalise(&mut self) {
        if self.sum != T::ZERO {
            let scale = T::ONE / self.sum;
            self.mixed.iter_mut().for_each(|m| *m = *m * scale);
        }
    }
}

fn soften<T: Elementary>(scores: &mut [T], cap: T) {
    struct Soften<'a, T>(&'a mut [T], T);
    impl<T: Elementary> Kernel for Soften<'_, T> {
        type Out = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            self.0.iter_mut().for_each(|s| *s = self.1 * (*s / self.1).v_tanh::<I>());
        }
    }
    dispatch(Soften(scores, cap));
}

struct Exp<T>(T);

impl<T: Elementary> Kernel for Exp<T> {
    type Out = T;
    #[inline(always)]
    fn run<I: Isa>(self) -> T {
        self.0.v_exp::<I>()
    }
}

struct ExpRow<'a, T> {
    row: &'a mut [T],
    shift: T,
}

impl<T: Elementary> Kernel for ExpRow<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for x in self.row {
            *x = (*x - self.shift).v_exp::<I>();
        }
    }
}

struct Dot<'a, T> {
    a: &'a [T],
    b: &'a [T],
}

impl<T: Real> Kernel for Dot<'_, T> {
    type Out = T;
    #[inline(always)]
    fn run<I: Isa>(self) -> T {
        let mut sums = [T::ZERO; 16];
        let (a, b) = (self.a.chunks_exact(16), self.b.chunks_exact(16));
        let tail = a.remainder().iter().zip(b.remainder()).fold(T::ZERO, |s, (&x, &y)| I::mul_add(x, y, s));
        for (a, b) in a.zip(b) {
            for l in 0..16 {
                sums[l] = I::mul_add(a[l], b[l], sums[l]);
            }
        }
        sums.iter().fold(tail, |a, &b| a + b)
    }
}

struct Axpy<'a, T> {
    a: T,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Real> Kernel for Axpy<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for (y, &x) in self.y.iter_mut().zip(self.x) {
            *y = I::mul_add(self.a, x, *y);
        }
    }
}

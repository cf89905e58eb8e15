//! Rotary embedding: rotates pairs of elements by an angle of position times frequency.

use super::Task;
use super::workspace::Workspace;
use wootz_ir::ScalarType;
use wootz_ir::op::RopeStyle;

pub fn run(task: &Task<'_>, workspace: &Workspace, style: RopeStyle) {
    match task.inputs[0].result_type {
        ScalarType::F64 => rotate::<f64>(task, workspace, style),
        _ => rotate::<f32>(task, workspace, style),
    }
}

/// The arithmetic of a row; angles are always taken in f64, which costs little beside the sine.
trait Turn: bytemuck::Pod {
    fn turn(a: Self, b: Self, sine: f64, cosine: f64) -> (Self, Self);
}

macro_rules! turn {
    ($($t:ty),*) => {$(
        impl Turn for $t {
            #[inline(always)]
            fn turn(a: $t, b: $t, sine: f64, cosine: f64) -> ($t, $t) {
                let (sine, cosine) = (sine as $t, cosine as $t);
                (a * cosine - b * sine, a * sine + b * cosine)
            }
        }
    )*};
}
turn!(f32, f64);

fn rotate<T: Turn>(task: &Task<'_>, workspace: &Workspace, style: RopeStyle) {
    let width = *task.step.shape.last().expect("rope has at least one axis");
    let half = task.inputs[2].len;
    if task.step.shape.count() == 0 {
        return;
    }
    let rows = task.worker.split(task.step.shape.count() / width, 1024usize.div_ceil(width));
    let row_values = workspace.slice::<T>(width);
    let frequencies = workspace.slice::<f32>(half);
    let angles = workspace.slice::<[f64; 2]>(half);
    let position = workspace.slice::<i32>(1);
    // SAFETY: points exist, buffers are as long as the ranges, and workers take disjoint rows.
    unsafe {
        let (x, p, f) = (&task.inputs[0], &task.inputs[1], &task.inputs[2]);
        let mut x_frame = x.begin(task.run, workspace, width);
        let mut p_frame = p.begin(task.run, workspace, 1);
        let mut f_frame = f.begin(task.run, workspace, half);
        let mut frame = task.epilogue.begin(task.run, workspace, width);
        f.load(task.run, &mut f_frame, 0..half, frequencies.as_mut_ptr().cast());
        let mut known: Option<i32> = None;
        for row in rows {
            let points = row * width..(row + 1) * width;
            x.load(task.run, &mut x_frame, points.clone(), row_values.as_mut_ptr().cast());
            p.load(task.run, &mut p_frame, row..row + 1, position.as_mut_ptr().cast());
            if known != Some(position[0]) {
                known = Some(position[0]);
                for (angle, &frequency) in angles.iter_mut().zip(frequencies.iter()) {
                    *angle = (position[0] as f64 * frequency as f64).sin_cos().into();
                }
            }
            for (i, &[sine, cosine]) in angles.iter().enumerate() {
                let (first, second) = match style {
                    RopeStyle::Half => (i, i + half),
                    RopeStyle::Interleaved => (2 * i, 2 * i + 1),
                };
                let (a, b) = T::turn(row_values[first], row_values[second], sine, cosine);
                (row_values[first], row_values[second]) = (a, b);
            }
            task.epilogue.store(task.run, &mut frame, points, row_values.as_ptr().cast());
        }
    }
}

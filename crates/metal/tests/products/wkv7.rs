//! RWKV-7's recurrence over more steps than a chunk holds, with heads of the usual width and of an odd one.

use crate::rig::{Rig, close, noise};
use wootz_ir::{DType, build};

/// The definition, in f64: outputs, then the state.
fn reference(x: &[Vec<f32>], state: &[f32], (steps, heads, width): (usize, usize, usize)) -> Vec<f64> {
    let mut state: Vec<f64> = state.iter().map(|&v| f64::from(v)).collect();
    let mut out = Vec::new();
    for at in 0..steps * heads {
        let of = |input: usize, i: usize| f64::from(x[input][at * width + i]);
        for i in 0..width {
            let row = &mut state[(at % heads * width + i) * width..][..width];
            let removed: f64 = (0..width).map(|j| row[j] * of(4, j)).sum();
            for (j, s) in row.iter_mut().enumerate() {
                *s = *s * of(1, j) + removed * of(5, j) + of(3, i) * of(2, j);
            }
            out.push((0..width).map(|j| row[j] * of(0, j)).sum());
        }
    }
    out.extend(state);
    out
}

#[test]
fn chunks_follow_each_other() {
    for (rig, shape) in [
        (Rig::checked(), (1, 2, 64)),
        (Rig::checked(), (21, 2, 64)),
        (Rig::checked(), (5, 3, 17)),
        (Rig::mac(), (21, 1, 64)),
    ] {
        let (steps, heads, width) = shape;
        let some = |seed| noise(seed, steps * heads * width).iter().map(|v| v * 0.5).collect::<Vec<_>>();
        let x: Vec<Vec<f32>> = (1..7).map(some).collect();
        let state = noise(9, heads * width * width);
        let nodes: Vec<_> = x.iter().map(|v| rig.floats(v, [steps, heads, width], DType::F32)).collect();
        let inputs = [&nodes[0], &nodes[1], &nodes[2], &nodes[3], &nodes[4], &nodes[5]];
        let start = rig.floats(&state, [heads, width, width], DType::F32);
        let got = rig.run(&build::wkv7(inputs, &start).unwrap()).unwrap();
        close(&format!("{shape:?}"), &got, &reference(&x, &state, shape), 2e-5);
    }
}

//! Quantised products beyond the kit's cases: weights that are not where a kernel wants them, tiles at their edges.

use crate::rig::{Rig, close, noise};
use wootz_blocks::{BlockFormat, dequantize, quantize};
use wootz_ir::layout::Span;
use wootz_ir::op::Activations;
use wootz_ir::{DType, Layout, Shape, build};

/// Quantised rows, and what they stand for.
pub fn weights(format: BlockFormat, n: usize, k: usize) -> (Vec<u8>, Vec<f32>) {
    let mut bytes = vec![0; format.bytes_of(n * k).unwrap()];
    let mut values = vec![0.0; n * k];
    quantize(format, &noise(9, n * k), None, &mut bytes).unwrap();
    dequantize(format, &bytes, &mut values).unwrap();
    (bytes, values)
}

fn reference(x: &[f32], w: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<f64> {
    let at = |i: usize| (0..k).map(|p| f64::from(x[i / n * k + p]) * f64::from(w[i % n * k + p])).sum();
    (0..m * n).map(at).collect()
}

#[test]
fn rows_and_vectors_beyond_a_tile() {
    let rig = Rig::checked();
    for (format, shape) in [
        (BlockFormat::Q4_K, (65, 67, 256)),
        (BlockFormat::Q4_K, (7, 5, 512)),
        (BlockFormat::Q8_0, (33, 65, 96)),
        (BlockFormat::F16, (3, 33, 129)),
        (BlockFormat::BF16, (33, 31, 65)),
    ] {
        let (m, n, k) = shape;
        let (bytes, values) = weights(format, n, k);
        let x = noise(5, m * k);
        let width = format.bytes_of(k).unwrap();
        let w = rig.place(&bytes, Layout::contiguous(&Shape::from([n, width])), DType::U8);
        let node = build::quant_matmul(&rig.floats(&x, [m, k], DType::F32), &w, format, Activations::Precise)
            .unwrap();
        close(&format!("{format} {shape:?}"), &rig.run(&node).unwrap(), &reference(&x, &values, shape), 2e-5);
    }
}

/// Rows that start at an odd byte, and rows taken backwards.
#[test]
fn weights_out_of_place_are_packed() {
    let rig = Rig::checked();
    for format in [BlockFormat::Q4_K, BlockFormat::Q6_K, BlockFormat::F32] {
        for m in [2, 12] {
            let (n, k) = (6, 256);
            let (bytes, values) = weights(format, n, k);
            let width = format.bytes_of(k).unwrap();
            let shifted: Vec<u8> = bytes.chunks(width).flat_map(|row| [&[0xAA][..], row].concat()).collect();
            let padded = rig.place(&shifted, Layout::contiguous(&Shape::from([n, width + 1])), DType::U8);
            let spans = [Span { start: n - 1, step: -1, len: n }, Span { start: 1, step: 1, len: width }];
            let w = build::slice(&padded, &spans).unwrap();
            let x = noise(5, m * k);
            let backwards: Vec<f32> = values.chunks(k).rev().flatten().copied().collect();
            let node =
                build::quant_matmul(&rig.floats(&x, [m, k], DType::F32), &w, format, Activations::Precise)
                    .unwrap();
            let what = format!("{format} with {m} vectors");
            close(&what, &rig.run(&node).unwrap(), &reference(&x, &backwards, (m, n, k)), 2e-5);
        }
    }
}

//! Shapes and values that break products.

use crate::rig::{Rig, close, noise};
use wootz_ir::graph::NodeRef;
use wootz_ir::layout::Span;
use wootz_ir::{DType, Shape, build};

fn reference(a: &[f32], b: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<f64> {
    let at = |i: usize| (0..k).map(|p| f64::from(a[i / n * k + p]) * f64::from(b[p * n + i % n])).sum();
    (0..m * n).map(at).collect()
}

fn check(rig: &Rig, shape: (usize, usize, usize)) {
    let (m, n, k) = shape;
    let (a, b) = (noise(1, m * k), noise(2, k * n));
    let node =
        build::matmul(&rig.floats(&a, [m, k], DType::F32), &rig.floats(&b, [k, n], DType::F32)).unwrap();
    let got = rig.run(&node).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
    close(&format!("{shape:?}"), &got, &reference(&a, &b, shape), 2e-5);
}

/// Every extent that tiles, vectors and splits could get wrong, in each of the three places.
const SHAPES: [(usize, usize, usize); 14] = [
    (1, 1, 1),
    (2, 3, 5),
    (31, 33, 63),
    (65, 127, 129),
    (257, 31, 2),
    (1, 1000, 257),
    (1000, 1, 31),
    (3, 65, 1000),
    (129, 5, 33),
    (63, 257, 1),
    (127, 63, 3),
    (33, 1000, 65),
    (5, 129, 127),
    (9, 9, 1000),
];

#[test]
fn edges_of_tiles() {
    let rig = Rig::checked();
    SHAPES.into_iter().for_each(|shape| check(&rig, shape));
}

#[test]
fn edges_of_tiles_without_matrices() {
    let rig = Rig::mac();
    SHAPES.into_iter().step_by(2).for_each(|shape| check(&rig, shape));
}

#[test]
fn split_sums_are_whole() {
    check(&Rig::checked(), (16, 16, 2050));
    check(&Rig::checked(), (1, 40, 2050));
}

/// 60000 · 1 + 60000 · 1 − 60000 · 1: the sum passes 65504 on its way.
#[test]
fn halves_near_overflow_are_summed_in_float() {
    let rig = Rig::checked();
    for m in [1, 16] {
        let a: Vec<f32> = (0..m).flat_map(|_| [60000.0, 60000.0, -60000.0]).collect();
        let (a, b) = (rig.floats(&a, [m, 3], DType::F16), rig.floats(&[1.0; 48], [3, 16], DType::F16));
        let got = rig.run(&build::matmul(&a, &b).unwrap()).unwrap();
        close("f16", &got, &vec![60000.0; m * 16], 0.0);
    }
}

/// A row of NaN and one of infinities stay what they are: rows, in every tile.
#[test]
fn strange_rows_do_not_leak() {
    for rig in [Rig::checked(), Rig::mac()] {
        let (m, n, k) = (35, 34, 33);
        let mut a = noise(1, m * k);
        let b = noise(2, k * n);
        let wanted = reference(&a, &b, (m, n, k));
        a[34 * k..][..k].fill(f32::NAN);
        a[3 * k..][..k].fill(f32::INFINITY);
        let node =
            build::matmul(&rig.floats(&a, [m, k], DType::F32), &rig.floats(&b, [k, n], DType::F32)).unwrap();
        let got = rig.run(&node).unwrap().to_f64();
        for (i, (&g, &w)) in got.iter().zip(&wanted).enumerate() {
            let fine = if [3, 34].contains(&(i / n)) { !g.is_finite() } else { (g - w).abs() < 1e-4 };
            assert!(fine, "row {}, column {}: {g}, and without the strange rows {w}", i / n, i % n);
        }
    }
}

/// Reversed rows, transposed columns, a broadcast batch.
#[test]
fn any_strides() {
    let rig = Rig::checked();
    let (m, n, k) = (37, 41, 19);
    let (a, b) = (noise(3, m * k), noise(4, n * k));
    let reversed = |node: &NodeRef| {
        let spans = [Span { start: m - 1, step: -1, len: m }, Span::all(k)];
        build::slice(node, &spans).unwrap()
    };
    let left = reversed(&rig.floats(&a, [m, k], DType::F32));
    let right = build::permute(&rig.floats(&b, [n, k], DType::F32), &[1, 0]).unwrap();
    let left = build::expand("matmul", &left, &Shape::from([3, m, k])).unwrap();
    let got = rig.run(&build::matmul(&left, &right).unwrap()).unwrap();
    let one: Vec<f64> = (0..m * n)
        .map(|i| {
            let (row, column) = (m - 1 - i / n, i % n);
            (0..k).map(|p| f64::from(a[row * k + p]) * f64::from(b[column * k + p])).sum()
        })
        .collect();
    close("strides", &got, &one.repeat(3), 2e-5);
}

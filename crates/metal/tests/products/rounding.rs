//! What is fused behind a kernel sees the kernel's result as it would be stored: rounded to f16 or bf16.

use crate::rig::Rig;
use wootz_backend::Backend;
use wootz_ir::graph::{NodeRef, Trace};
use wootz_ir::op::{Axes, ReduceOp};
use wootz_ir::{DType, ElementwiseOp, build};
use wootz_plan::Plan;

/// One more than this needs a bit more than the dtype has, and rounds down to it.
const EDGES: [(DType, f32); 2] = [(DType::F16, 2048.0), (DType::BF16, 256.0)];

/// `result` is `edge + 1` before it is rounded; the difference to `edge` tells whether it was.
fn difference(rig: &Rig, result: &NodeRef, edge: f32) -> Vec<f64> {
    let count = result.shape().count();
    let edges = rig.floats(&vec![edge; count], result.shape().clone(), result.dtype());
    let node = build::elementwise(ElementwiseOp::Sub, &[result, &edges]).unwrap();
    let trace = Trace::of(std::slice::from_ref(&node));
    let plan = Plan::new(&trace.graph, &rig.backend.capabilities());
    assert_eq!(plan.steps.len(), 1, "the subtraction is part of the kernel: {}", plan.explain());
    rig.run(&node).unwrap().to_f64()
}

/// Rows of `edge, 1, 0, 0, …`, whose sum is `edge + 1`.
fn rows(rig: &Rig, count: usize, width: usize, (dtype, edge): (DType, f32)) -> NodeRef {
    let at = |i: usize| if i.is_multiple_of(width) { edge } else { f32::from(i % width == 1) };
    rig.floats(&(0..count * width).map(at).collect::<Vec<_>>(), [count, width], dtype)
}

#[test]
fn products_are_rounded_before_what_follows() {
    for rig in [Rig::checked(), Rig::mac()] {
        for edge in EDGES {
            // A vector, a few rows, tiles, and a sum in parts.
            for (m, n, k) in [(1, 8, 64), (5, 7, 33), (64, 64, 32), (16, 16, 2050)] {
                let ones = rig.floats(&vec![1.0; k * n], [k, n], edge.0);
                let product = build::matmul(&rows(&rig, m, k, edge), &ones).unwrap();
                let got = difference(&rig, &product, edge.1);
                assert!(got.iter().all(|&x| x == 0.0), "{edge:?} {m}×{n}×{k}: {got:?}");
            }
        }
    }
}

#[test]
fn sums_are_rounded_before_what_follows() {
    let rig = Rig::checked();
    for edge in EDGES {
        for (count, width) in [(4, 3), (3, 1000), (1, 20000)] {
            let x = rows(&rig, count, width, edge);
            let sum = build::reduce(ReduceOp::Sum, &x, Axes::default().with(1), false).unwrap();
            let got = difference(&rig, &sum, edge.1);
            assert!(got.iter().all(|&x| x == 0.0), "{edge:?} {count}×{width}: {got:?}");
        }
    }
}

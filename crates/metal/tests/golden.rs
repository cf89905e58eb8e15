//! Generated code for a few graphs, kept in git so that a change of it is seen. `WOOTZ_BLESS=1` writes it anew.

use std::path::Path;
use std::sync::Arc;
use wootz_backend::Backend;
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_ir::op::{Axes, ReduceOp, ScatterMode};
use wootz_ir::{DType, ElementwiseOp, Layout, Result, Shape, build};
use wootz_metal::driver::soft::facts;
use wootz_metal::{MetalBackend, SoftOptions, generated_code};
use wootz_plan::Plan;

fn leaf(shape: impl Into<Shape>, dtype: DType) -> NodeRef {
    let layout = Layout::contiguous(&shape.into());
    Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, dtype)
}

fn op(op: ElementwiseOp, operands: &[&NodeRef]) -> Result<NodeRef> {
    build::elementwise(op, operands)
}

/// Compares the code of a graph with the file of its name.
fn golden(name: &str, output: NodeRef) -> Result<()> {
    let backend = MetalBackend::soft(SoftOptions::default());
    let plan = Plan::new(&Trace::of(&[output]).graph, &backend.capabilities());
    let facts = facts(&SoftOptions::default()).expect("the default device exists");
    let code: Vec<String> = generated_code(&plan, &facts)?
        .into_iter()
        .map(|(title, text)| format!("// {title}\n{text}"))
        .collect();
    let code = code.join("\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/out").join(format!("{name}.metal"));
    if std::env::var_os("WOOTZ_BLESS").is_some() {
        std::fs::write(&path, &code).expect("the folder is there");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == code, "{name}: the generated code changed; look at it, then WOOTZ_BLESS=1\n{code}");
    Ok(())
}

#[test]
fn a_chain_of_halves_by_four() -> Result<()> {
    let (x, y) = (leaf([8, 16], DType::F16), leaf([8, 16], DType::F16));
    let sum = op(ElementwiseOp::Add, &[&x, &y])?;
    golden("chain", op(ElementwiseOp::Silu, &[&sum])?)
}

#[test]
fn a_transposed_integer_quotient_that_can_fault() -> Result<()> {
    let (x, y) = (leaf([3, 5], DType::I32), leaf([5, 3], DType::I32));
    let turned = build::permute(&y, &[1, 0])?;
    golden("quotient", op(ElementwiseOp::FloorDivide, &[&x, &turned])?)
}

#[test]
fn a_sum_of_squares_in_two_passes() -> Result<()> {
    let x = leaf([1 << 20], DType::BF16);
    let squares = op(ElementwiseOp::Square, &[&x])?;
    golden("sum", build::reduce(ReduceOp::Sum, &squares, Axes::default().with(0), false)?)
}

#[test]
fn a_scatter_that_sets() -> Result<()> {
    let (x, index, values) = (leaf([9, 4], DType::U8), leaf([3, 4], DType::I64), leaf([3, 4], DType::U8));
    golden("scatter", build::scatter(&x, &index, &values, 0, ScatterMode::Set)?)
}

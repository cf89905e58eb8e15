//! Graphs whose generated code is checked in, in each shading language, so that changes to it are visible.

use std::path::Path;
use std::sync::Arc;
use wootz_ir::graph::{Leaf, Node, NodeRef};
use wootz_ir::op::{ArgOp, Axes, ReduceOp, RopeStyle, ScatterMode};
use wootz_ir::{DType, ElementwiseOp, Layout, Result, Shape, build};

fn leaf(shape: impl Into<Shape>, dtype: DType) -> NodeRef {
    let layout = Layout::contiguous(&shape.into());
    Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, dtype)
}

fn op(op: ElementwiseOp, operands: &[&NodeRef]) -> Result<NodeRef> {
    build::elementwise(op, operands)
}

/// The graphs, with their file names.
pub fn golden_graphs() -> Result<Vec<(&'static str, NodeRef)>> {
    let halves = [leaf([8, 16], DType::F16), leaf([8, 16], DType::F16)];
    let (x, y) = (leaf([3, 5], DType::I32), leaf([5, 3], DType::I32));
    let (rows, row) = (leaf([6, 64], DType::F32), leaf([64], DType::F32));
    let (target, index, bytes) = (leaf([9, 4], DType::U8), leaf([3, 4], DType::I64), leaf([3, 4], DType::U8));
    let squares = op(ElementwiseOp::Square, &[&leaf([1 << 20], DType::BF16)])?;
    let product = build::matmul(&leaf([32, 64], DType::F32), &leaf([64, 48], DType::F32))?;
    let turned = build::permute(&leaf([2, 3, 4, 5], DType::F32), &[3, 1, 0, 2])?;
    let (positions, frequencies) = (leaf([6], DType::I32), leaf([32], DType::F32));
    Ok(vec![
        // Four halves at a time where the language can.
        ("chain", op(ElementwiseOp::Silu, &[&op(ElementwiseOp::Add, &[&halves[0], &halves[1]])?])?),
        // Integers that can fault, one of them transposed.
        ("quotient", op(ElementwiseOp::FloorDivide, &[&x, &build::permute(&y, &[1, 0])?])?),
        // Two passes.
        ("sum", build::reduce(ReduceOp::Sum, &squares, Axes::default().with(0), false)?),
        ("scatter", build::scatter(&target, &index, &bytes, 0, ScatterMode::Set)?),
        // A row, repeated, behind a kernel that holds rows in registers.
        ("norm", op(ElementwiseOp::Mul, &[&build::rms_norm(&rows, Some(&row), 1e-5)?, &row])?),
        ("product", op(ElementwiseOp::Exp, &[&product])?),
        // Four axes, none of them in order; 64-bit numbers.
        ("cast", build::cast(&turned, DType::I64)),
        ("extreme", build::arg_reduce(ArgOp::Max, &rows, 1)?),
        ("rope", build::rope(&rows, &positions, &frequencies, RopeStyle::Half)?),
    ])
}

/// Compares code with the file of its name in a folder. `WOOTZ_BLESS=1` writes the file.
///
/// # Panics
/// If they differ.
pub fn compare_golden(folder: &Path, file: &str, code: &[(String, String)]) {
    let code: Vec<String> = code.iter().map(|(title, text)| format!("// {title}\n{text}")).collect();
    let (code, path) = (code.join("\n"), folder.join(file));
    if std::env::var_os("WOOTZ_BLESS").is_some() {
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &code));
        written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == code, "{file}: the generated code changed; look at it, then WOOTZ_BLESS=1\n{code}");
}

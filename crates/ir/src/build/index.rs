//! Gather, scatter and binary search.

use super::movement::check_spans;
use super::{cast, elementwise, expand, node, reshape};
use crate::dtype::DType;
use crate::elementwise::ElementwiseOp;
use crate::error::{Error, Result};
use crate::graph::{Node, NodeRef};
use crate::layout::Span;
use crate::op::{Op, ScatterMode};
use crate::shape::Shape;

/// Integers as i64 indices, where negative ones count from the end. Values beyond i64 stay out of range for every
/// extent.
pub fn indices(op: &'static str, index: &NodeRef) -> Result<NodeRef> {
    if !index.dtype().is_integer() {
        return Err(Error::dtype(op, &[index.dtype()], "integer indices"));
    }
    match index.dtype() {
        // Beyond i64::MAX an index would wrap and count from the end; no tensor has that many elements.
        DType::U64 => Ok(cast(&bounded(index, None, i64::MAX)?, DType::I64)),
        _ => Ok(cast(index, DType::I64)),
    }
}

/// Clamps integers to a range.
fn bounded(x: &NodeRef, least: Option<i64>, most: i64) -> Result<NodeRef> {
    let bound = |value: i64| Node::constant(value.into(), x.dtype());
    let below = elementwise(ElementwiseOp::Minimum, &[x, &bound(most)])?;
    match least {
        Some(least) => elementwise(ElementwiseOp::Maximum, &[&below, &bound(least)]),
        None => Ok(below),
    }
}

/// A single integer as an i32. A value that does not fit in an i32 is as invalid as the nearest i32.
pub(super) fn one_index(op: &'static str, x: &NodeRef) -> Result<NodeRef> {
    if x.shape().count() != 1 || !x.dtype().is_integer() {
        return Err(Error::shape(op, &[x.shape()], "a single integer position"));
    }
    let x = match x.dtype() {
        DType::I64 => bounded(x, Some(i32::MIN.into()), i32::MAX.into())?,
        DType::U32 | DType::U64 => bounded(x, None, i32::MAX.into())?,
        _ => x.clone(),
    };
    reshape(&cast(&x, DType::I32), &Shape::from([1]))
}

/// Where each of `values` would be inserted into the vector `sorted`, before its equals or (`right`) behind them. If the
/// vector is not sorted, the places are between 0 and its length, and nothing more is said of them.
pub fn search_sorted(sorted: &NodeRef, values: &NodeRef, right: bool) -> Result<NodeRef> {
    if sorted.shape().rank() != 1 {
        return Err(Error::shape("search_sorted", &[sorted.shape()], "a vector to search"));
    }
    let Some(dtype) = sorted.dtype().promote(values.dtype()) else {
        let dtypes = [sorted.dtype(), values.dtype()];
        return Err(Error::dtype("search_sorted", &dtypes, "a common dtype"));
    };
    let operands = [cast(sorted, dtype), cast(values, dtype)];
    node(Op::SearchSorted { right }, operands, values.shape().clone(), DType::I64)
}

/// `out[…, i, …] = x[…, index[…, i, …], …]` along an axis; the other axes broadcast.
pub fn gather(x: &NodeRef, index: &NodeRef, axis: isize) -> Result<NodeRef> {
    let axis = x.shape().axis("gather", axis)?;
    let index = indices("gather", index)?;
    if index.shape().rank() != x.shape().rank() {
        return Err(Error::shape("gather", &[x.shape(), index.shape()], "an index of the same rank"));
    }
    let shape = x.shape().with(axis, index.shape()[axis]);
    let index = expand("gather", &index, &shape)?;
    if x.shape()[axis] == 0 && shape.count() > 0 {
        return Err(Error::Index { op: "gather", index: 0, axis, shape: x.shape().clone() });
    }
    node(Op::Gather { axis: axis as u8 }, [x.clone(), index], shape, x.dtype())
}

/// `x` with an axis replaced by the axes of `index`: selects rows, columns, … by index.
pub fn take(x: &NodeRef, index: &NodeRef, axis: isize) -> Result<NodeRef> {
    let axis = x.shape().axis("take", axis)?;
    let count = index.shape().count();
    let aligned: Shape = (0..x.shape().rank()).map(|a| if a == axis { count } else { 1 }).collect();
    let flat = gather(x, &reshape(index, &aligned)?, axis as isize)?;
    let shape: Shape =
        x.shape()[..axis].iter().chain(index.shape().iter()).chain(&x.shape()[axis + 1..]).copied().collect();
    reshape(&flat, &shape)
}

/// A copy of `x` with `values` set or added at `index` along an axis.
pub fn scatter(
    x: &NodeRef,
    index: &NodeRef,
    values: &NodeRef,
    axis: isize,
    mode: ScatterMode,
) -> Result<NodeRef> {
    let name = Op::Scatter { axis: 0, mode }.name();
    let axis = x.shape().axis(name, axis)?;
    let index = indices(name, index)?;
    if index.shape().rank() != x.shape().rank() {
        return Err(Error::shape(name, &[x.shape(), index.shape()], "an index of the same rank"));
    }
    if mode == ScatterMode::Add && x.dtype() == DType::Bool {
        return Err(Error::dtype(name, &[x.dtype()], "numbers"));
    }
    let shape = x.shape().with(axis, index.shape()[axis]);
    let index = expand(name, &index, &shape)?;
    let values = expand(name, &cast(values, x.dtype()), &shape)?;
    let operands = [x.clone(), index, values];
    node(Op::Scatter { axis: axis as u8, mode }, operands, x.shape().clone(), x.dtype())
}

/// A copy of `x` with a slice replaced by `values`, which broadcast to it.
pub fn update_slice(x: &NodeRef, spans: &[Span], values: &NodeRef) -> Result<NodeRef> {
    check_spans("update_slice", x.shape(), spans)?;
    let shape: Shape = spans.iter().map(|span| span.len).collect();
    let values = expand("update_slice", &cast(values, x.dtype()), &shape)?;
    node(Op::UpdateSlice(spans.into()), [x.clone(), values], x.shape().clone(), x.dtype())
}

/// `x` with `rows` written along an axis from index `start` on (one integer, known at run time).
pub fn write_at(x: &NodeRef, rows: &NodeRef, start: &NodeRef, axis: isize) -> Result<NodeRef> {
    let axis = x.shape().axis("write_at", axis)?;
    let fits = rows.shape().rank() == x.shape().rank()
        && rows.shape()[axis] <= x.shape()[axis]
        && rows.shape().with(axis, 0) == x.shape().with(axis, 0);
    if !fits {
        let expected = format!("rows matching x on every axis, and at most as many on axis {axis}");
        return Err(Error::shape("write_at", &[x.shape(), rows.shape()], expected));
    }
    let start = one_index("write_at", start)?;
    let operands = [x.clone(), cast(rows, x.dtype()), start];
    node(Op::WriteAt { axis: axis as u8 }, operands, x.shape().clone(), x.dtype())
}

//! Movement ops: views, and concatenation.

use super::{cast, node};
use crate::error::{Error, Result};
use crate::graph::NodeRef;
use crate::layout::{Span, View};
use crate::op::Op;
use crate::shape::Shape;

fn view(view: View, x: &NodeRef) -> Result<NodeRef> {
    let shape = view.shape(x.shape());
    if shape == *x.shape() && !matches!(view, View::Permute(_) | View::Slice(_)) {
        return Ok(x.clone());
    }
    node(Op::View(view), [x.clone()], shape, x.dtype())
}

/// The same elements in another shape.
pub fn reshape(x: &NodeRef, shape: &Shape) -> Result<NodeRef> {
    if shape.checked_count() != Some(x.shape().count()) {
        let expected = format!("a shape of {} elements", x.shape().count());
        return Err(Error::shape("reshape", &[x.shape(), shape], expected));
    }
    view(View::Reshape(shape.clone()), x)
}

/// Permutes the axes: axis `k` of the result is axis `axes[k]` of `x`.
pub fn permute(x: &NodeRef, axes: &[usize]) -> Result<NodeRef> {
    let rank = x.shape().rank();
    let mut seen = vec![false; rank];
    let valid = axes.len() == rank
        && axes.iter().all(|&axis| axis < rank && !std::mem::replace(&mut seen[axis], true));
    if !valid {
        return Err(Error::argument(
            "permute",
            format!("axes {axes:?} are not a permutation of the {rank} axes of {}", x.shape()),
        ));
    }
    if axes.iter().enumerate().all(|(i, &axis)| i == axis) {
        return Ok(x.clone());
    }
    view(View::Permute(axes.iter().map(|&axis| axis as u8).collect()), x)
}

/// Broadcasts to `shape`; new axes come first.
pub fn expand(op: &'static str, x: &NodeRef, shape: &Shape) -> Result<NodeRef> {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    let fits = x.shape().rank() <= shape.rank()
        && x.shape().iter().rev().zip(shape.iter().rev()).all(|(&from, &to)| from == to || from == 1);
    if !fits {
        return Err(Error::Broadcast { op, shapes: vec![x.shape().clone(), shape.clone()] });
    }
    view(View::Expand(shape.clone()), x)
}

/// A slice along each axis.
pub fn slice(x: &NodeRef, spans: &[Span]) -> Result<NodeRef> {
    check_spans("slice", x.shape(), spans)?;
    if spans.iter().zip(x.shape().iter()).all(|(span, &extent)| *span == Span::all(extent)) {
        return Ok(x.clone());
    }
    view(View::Slice(spans.into()), x)
}

pub(super) fn check_spans(op: &'static str, shape: &Shape, spans: &[Span]) -> Result<()> {
    if spans.len() != shape.rank() {
        return Err(Error::argument(op, format!("got {} slices for shape {shape}", spans.len())));
    }
    for (axis, (span, &extent)) in spans.iter().zip(shape.iter()).enumerate() {
        if span.len == 0 {
            continue;
        }
        let last = span.start as i128 + (span.len as i128 - 1) * span.step as i128;
        let outside = [span.start as i128, last].into_iter().find(|i| !(0..extent as i128).contains(i));
        if let Some(index) = outside {
            let index = index.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            return Err(Error::Index { op, index, axis, shape: shape.clone() });
        }
        if span.step == 0 {
            return Err(Error::argument(op, format!("axis {axis}: the step must not be 0")));
        }
    }
    Ok(())
}

/// Joins tensors along an axis.
pub fn concat(operands: &[NodeRef], axis: isize) -> Result<NodeRef> {
    let Some(first) = operands.first() else {
        return Err(Error::argument("concat", "expected at least one tensor"));
    };
    let axis = first.shape().axis("concat", axis)?;
    let mut dtype = first.dtype();
    let mut total = 0usize;
    for x in operands {
        dtype = dtype.promote(x.dtype()).ok_or_else(|| {
            Error::dtype("concat", &[dtype, x.dtype()], "dtypes with a common dtype (cast one of them)")
        })?;
        if x.shape().rank() != first.shape().rank() || x.shape().with(axis, 0) != first.shape().with(axis, 0)
        {
            let expected = format!("equal extents on every axis except {axis}");
            return Err(Error::shape("concat", &[first.shape(), x.shape()], expected));
        }
        total = total.saturating_add(x.shape()[axis]);
    }
    if operands.len() == 1 {
        return Ok(first.clone());
    }
    let shape = first.shape().with(axis, total);
    node(Op::Concat { axis: axis as u8 }, operands.iter().map(|x| cast(x, dtype)), shape, dtype)
}

//! Reductions, scans, sorts, and ops along the last axis.

use super::{cast, expand, node, permute, reshape};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::NodeRef;
use crate::op::{ArgOp, Axes, Bits, Op, ReduceOp, RopeStyle, ScanOp};
use crate::shape::Shape;

/// A reduction over a set of axes, which are kept with extent 1 or dropped.
pub fn reduce(op: ReduceOp, x: &NodeRef, axes: Axes, keepdims: bool) -> Result<NodeRef> {
    let x = match op {
        ReduceOp::Sum | ReduceOp::Prod => cast(x, x.dtype().accumulator()),
        ReduceOp::Any | ReduceOp::All => cast(x, DType::Bool),
        ReduceOp::Min | ReduceOp::Max => x.clone(),
    };
    let shape = x.shape();
    let has_identity = !matches!(op, ReduceOp::Min | ReduceOp::Max);
    let empty_axis = axes.iter().find(|&axis| shape[axis] == 0);
    if let (false, Some(axis)) = (has_identity, empty_axis)
        && (0..shape.rank()).all(|a| axes.contains(a) || shape[a] > 0)
    {
        let expected = format!("a non-empty axis {axis}");
        return Err(Error::shape(op.name(), &[shape], expected));
    }
    let dropped: Shape = (0..shape.rank()).filter(|&a| !axes.contains(a)).map(|a| shape[a]).collect();
    let kept: Shape = (0..shape.rank()).map(|a| if axes.contains(a) { 1 } else { shape[a] }).collect();
    let result = if axes.is_empty() {
        x.clone()
    } else {
        node(Op::Reduce(op, axes), [x.clone()], dropped, x.dtype())?
    };
    if keepdims { reshape(&result, &kept) } else { Ok(result) }
}

/// The position of the minimum or maximum along an axis.
pub fn arg_reduce(op: ArgOp, x: &NodeRef, axis: isize) -> Result<NodeRef> {
    let name = Op::ArgReduce(op, 0).name();
    let axis = x.shape().axis(name, axis)?;
    if x.shape()[axis] == 0 {
        return Err(Error::shape(name, &[x.shape()], format!("a non-empty axis {axis}")));
    }
    node(Op::ArgReduce(op, axis as u8), [x.clone()], x.shape().without(axis), DType::I64)
}

/// Runs `f` with `axis` moved to the end, and moves it back.
pub(super) fn along_last(
    name: &'static str,
    x: &NodeRef,
    axis: isize,
    f: impl Fn(&NodeRef) -> Result<NodeRef>,
) -> Result<NodeRef> {
    let axis = x.shape().axis(name, axis)?;
    let rank = x.shape().rank();
    if axis + 1 == rank {
        return f(x);
    }
    let mut forth: Vec<usize> = (0..rank).filter(|&a| a != axis).collect();
    forth.push(axis);
    let mut back: Vec<usize> = (0..rank - 1).collect();
    back.insert(axis, rank - 1);
    permute(&f(&permute(x, &forth)?)?, &back)
}

/// A cumulative sum or product along an axis.
pub fn scan(op: ScanOp, x: &NodeRef, axis: isize) -> Result<NodeRef> {
    let x = cast(x, x.dtype().accumulator());
    along_last(Op::Scan(op).name(), &x, axis, |x| {
        node(Op::Scan(op), [x.clone()], x.shape().clone(), x.dtype())
    })
}

fn limited(name: &'static str, x: &NodeRef, axis: isize, limit: Option<usize>) -> Result<usize> {
    let extent = x.shape()[x.shape().axis(name, axis)?];
    match limit {
        Some(limit) if limit > extent => {
            Err(Error::shape(name, &[x.shape()], format!("at least {limit} elements along axis {axis}")))
        }
        Some(limit) => Ok(limit),
        None => Ok(extent),
    }
}

/// The elements sorted along an axis, stably; only the first `limit` of them if given.
pub fn sort(x: &NodeRef, axis: isize, descending: bool, limit: Option<usize>) -> Result<NodeRef> {
    let limit = limited("sort", x, axis, limit)?;
    along_last("sort", x, axis, |x| {
        let shape = x.shape().with(x.shape().rank() - 1, limit);
        node(Op::Sort { descending, limit }, [x.clone()], shape, x.dtype())
    })
}

/// The indices that [`sort`] would use.
pub fn argsort(x: &NodeRef, axis: isize, descending: bool, limit: Option<usize>) -> Result<NodeRef> {
    let limit = limited("argsort", x, axis, limit)?;
    along_last("argsort", x, axis, |x| {
        let shape = x.shape().with(x.shape().rank() - 1, limit);
        node(Op::ArgSort { descending, limit }, [x.clone()], shape, DType::I64)
    })
}

/// Softmax, or its logarithm, along an axis.
pub fn softmax(x: &NodeRef, axis: isize, log: bool) -> Result<NodeRef> {
    let x = cast(x, x.dtype().to_float());
    let op = Op::Softmax { log };
    along_last(op.name(), &x, axis, |x| node(op.clone(), [x.clone()], x.shape().clone(), x.dtype()))
}

/// A parameter vector of a norm, cast to the dtype of `x`.
fn norm_parameter(name: &'static str, x: &NodeRef, parameter: &NodeRef) -> Result<NodeRef> {
    let extent = *x.shape().last().expect("norms check the rank first");
    if parameter.shape().as_ref() != [extent] {
        let expected = format!("a weight of shape [{extent}]");
        return Err(Error::shape(name, &[x.shape(), parameter.shape()], expected));
    }
    Ok(cast(parameter, x.dtype()))
}

fn norm(op: Op, x: &NodeRef, parameters: &[Option<&NodeRef>]) -> Result<NodeRef> {
    let name = op.name();
    if !x.dtype().is_float() {
        return Err(Error::dtype(name, &[x.dtype()], "a float"));
    }
    if x.shape().rank() == 0 {
        return Err(Error::shape(name, &[x.shape()], "at least one axis"));
    }
    let mut operands = vec![x.clone()];
    for parameter in parameters.iter().flatten() {
        operands.push(norm_parameter(name, x, parameter)?);
    }
    node(op, operands, x.shape().clone(), x.dtype())
}

/// `x / √(mean(x²) + eps) · weight` along the last axis.
pub fn rms_norm(x: &NodeRef, weight: Option<&NodeRef>, eps: f64) -> Result<NodeRef> {
    norm(Op::RmsNorm { eps: Bits::from(eps) }, x, &[weight])
}

/// `(x − mean) / √(var + eps) · weight + bias` along the last axis.
pub fn layer_norm(
    x: &NodeRef,
    weight: Option<&NodeRef>,
    bias: Option<&NodeRef>,
    eps: f64,
) -> Result<NodeRef> {
    if weight.is_none() && bias.is_some() {
        return Err(Error::argument("layer_norm", "a bias requires a weight"));
    }
    norm(Op::LayerNorm { eps: Bits::from(eps) }, x, &[weight, bias])
}

/// Rotary embedding of `x […, t, d]`: pair `i` of the row at position `p` is rotated by `p·frequencies[i]`.
/// `positions` broadcasts to the shape of `x` without its last axis.
pub fn rope(x: &NodeRef, positions: &NodeRef, frequencies: &NodeRef, style: RopeStyle) -> Result<NodeRef> {
    if !x.dtype().is_float() || !positions.dtype().is_integer() {
        return Err(Error::dtype("rope", &[x.dtype(), positions.dtype()], "a float and integer positions"));
    }
    let rank = x.shape().rank();
    let fits = rank >= 1
        && frequencies.shape().rank() == 1
        && 2 * frequencies.shape()[0] <= *x.shape().last().unwrap_or(&0);
    if !fits {
        let expected = "x […, d] and frequencies [r/2] with r at most d";
        return Err(Error::shape("rope", &[x.shape(), frequencies.shape()], expected));
    }
    let positions = expand("rope", &cast(positions, DType::I32), &x.shape().without(rank - 1))?;
    let frequencies = cast(frequencies, DType::F32);
    node(Op::Rope(style), [x.clone(), positions, frequencies], x.shape().clone(), x.dtype())
}

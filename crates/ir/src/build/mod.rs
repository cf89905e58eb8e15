//! Node construction: all shape and dtype checks happen here, once, for all front ends.
//!
//! Each function takes operands as they are, casts and broadcasts them by the op's rule, and returns a node whose
//! operands fit exactly; the planner and the backends rely on that.

mod index;
mod linear;
mod movement;
mod row;

pub use index::*;
pub use linear::*;
pub use movement::*;
pub use row::*;

use crate::custom::CustomKernel;
use crate::dtype::{DType, Number};
use crate::elementwise::{Accepts, ElementwiseOp, MAX_ARITY};
use crate::error::{Error, Result};
use crate::graph::{Node, NodeRef, Operands, State};
use crate::op::Op;
use crate::shape::Shape;
use smallvec::smallvec;
use std::sync::Arc;

/// Creates a node, after checking the shape of its result.
fn node(op: Op, operands: impl IntoIterator<Item = NodeRef>, shape: Shape, dtype: DType) -> Result<NodeRef> {
    Node::lazy(op, operands.into_iter().collect(), shape, dtype)
}

/// A tensor filled with `value`.
pub fn full(shape: &Shape, value: Number, dtype: DType) -> Result<NodeRef> {
    expand("full", &Node::constant(value, dtype), shape)
}

/// The row-major index of each element, as i64.
pub fn iota(shape: &Shape) -> Result<NodeRef> {
    node(Op::Iota, [], shape.clone(), DType::I64)
}

/// Casts to another dtype: integers wrap, floats to integers truncate and saturate.
pub fn cast(x: &NodeRef, dtype: DType) -> NodeRef {
    if x.dtype() == dtype {
        return x.clone();
    }
    let node = Node::lazy(Op::Cast, smallvec![x.clone()], x.shape().clone(), dtype);
    node.expect("a shape that fits one dtype fits all of them")
}

/// An op of the elementwise table, over operands that are cast and broadcast to match.
pub fn elementwise(op: ElementwiseOp, operands: &[&NodeRef]) -> Result<NodeRef> {
    let row = op.row();
    if operands.len() != row.arity {
        return Err(Error::argument(
            row.name,
            format!("expected {} operands, got {}", row.arity, operands.len()),
        ));
    }
    let mut dtypes = [DType::Bool; MAX_ARITY];
    for (dtype, x) in dtypes.iter_mut().zip(operands) {
        *dtype = x.dtype();
    }
    let resolved = op.resolve(&dtypes[..row.arity])?;
    if op == ElementwiseOp::Pow && is_two(operands[1]) {
        let base = cast(operands[0], resolved.operand);
        return elementwise(ElementwiseOp::Mul, &[&base, &base]);
    }
    let mut shape = operands[0].shape().clone();
    for other in &operands[1..] {
        if *other.shape() != shape {
            shape = Shape::broadcast(row.name, &shape, other.shape()).map_err(|_| Error::Broadcast {
                op: row.name,
                shapes: operands.iter().map(|x| x.shape().clone()).collect(),
            })?;
        }
    }
    let mut fitted = Operands::new();
    for (i, &x) in operands.iter().enumerate() {
        let is_condition = row.accepts == Accepts::Condition && i == 0;
        let dtype = if is_condition { DType::Bool } else { resolved.operand };
        let fits = x.dtype() == dtype && *x.shape() == shape;
        fitted.push(if fits { x.clone() } else { expand(row.name, &cast(x, dtype), &shape)? });
    }
    Node::lazy(Op::Elementwise(op), fitted, shape, resolved.result)
}

/// Whether a node is the constant 2: squares are computed as products.
fn is_two(node: &Node) -> bool {
    matches!(&*node.state.lock(), State::Constant(value) if value.to_f64() == 2.0)
}

/// A user-defined kernel over unchanged operands; the caller specifies the result's shape and dtype.
pub fn custom(
    kernel: &Arc<CustomKernel>,
    operands: &[&NodeRef],
    shape: &Shape,
    dtype: DType,
) -> Result<NodeRef> {
    node(Op::Custom(kernel.clone()), operands.iter().map(|&x| x.clone()), shape.clone(), dtype)
}

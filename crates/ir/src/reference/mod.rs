//! The reference evaluator: computes any graph one element at a time, in the widest type of its kind.
//!
//! It defines the semantics of the engine. Floats are computed in f64 and rounded once per op to the op's dtype;
//! integers are exact and wrap; sums run in index order in f64. It is slow, has no fast path, and shares no code with
//! the planner or a backend except the definitions in the op table.

pub(crate) mod custom;
pub(crate) mod index;
pub(crate) mod linear;
pub(crate) mod map;
pub(crate) mod row;
mod scalar;

pub use row::order;
pub use scalar::{evaluate_binary, evaluate_unary, run};

use crate::dtype::{DType, Number};
use crate::error::{Error, Result};
use crate::graph::{Graph, GraphNode};
use crate::layout::Layout;
use crate::op::Op;
use crate::shape::Shape;

/// A tensor as a plain list of numbers in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    /// Shape.
    pub shape: Shape,
    /// Dtype; every number is exactly representable in it.
    pub dtype: DType,
    /// Elements.
    pub data: Vec<Number>,
}

impl HostTensor {
    /// A tensor whose elements are cast to `dtype`.
    pub fn new(shape: impl Into<Shape>, dtype: DType, data: impl IntoIterator<Item = Number>) -> HostTensor {
        let shape = shape.into();
        let data: Vec<Number> = data.into_iter().map(|n| n.cast(dtype)).collect();
        assert_eq!(data.len(), shape.count(), "a host tensor has as many elements as its shape says");
        HostTensor { shape, dtype, data }
    }

    /// The element at these coordinates.
    pub fn at(&self, coords: &[usize]) -> Number {
        self.data[Layout::contiguous(&self.shape).position(coords)]
    }

    /// Elements as doubles.
    pub fn to_f64(&self) -> Vec<f64> {
        self.data.iter().map(|n| n.to_f64()).collect()
    }

    /// Calls `f` with the coordinates of each element of a shape, in order, and collects the results.
    fn from_coords(shape: &Shape, dtype: DType, mut f: impl FnMut(&[usize]) -> Number) -> HostTensor {
        let data = (0..shape.count()).map(|i| f(&shape.unravel(i)).cast(dtype)).collect();
        HostTensor { shape: shape.clone(), dtype, data }
    }
}

/// Evaluates a graph: `leaves` and `constants` are the values of its leaf and constant nodes, in node order.
pub fn evaluate(graph: &Graph, leaves: &[HostTensor], constants: &[Number]) -> Result<Vec<HostTensor>> {
    let (mut leaves, mut constants) = (leaves.iter(), constants.iter());
    let mut values: Vec<HostTensor> = Vec::with_capacity(graph.nodes.len());
    let missing = || Error::argument("reference", "not enough values for the graph's leaves and constants");
    for node in &graph.nodes {
        let value = match &node.op {
            Op::Leaf { .. } => leaves.next().ok_or_else(missing)?.clone(),
            Op::Constant => HostTensor::new([], node.dtype, [*constants.next().ok_or_else(missing)?]),
            _ => {
                let operands: Vec<&HostTensor> = node.operands.iter().map(|&i| &values[i as usize]).collect();
                evaluate_node(node, &operands)?
            }
        };
        values.push(value);
    }
    Ok(graph.outputs.iter().map(|&i| values[i as usize].clone()).collect())
}

/// Evaluates one node from the values of its operands, as the row of its family says.
pub fn evaluate_node(node: &GraphNode, operands: &[&HostTensor]) -> Result<HostTensor> {
    (node.op.family().reference())(node, operands)
}

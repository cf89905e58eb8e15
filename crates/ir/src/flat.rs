//! One op over values: the commonest thing that small programs evaluate, recognised without walking a graph.

use crate::dtype::{DType, Number};
use crate::graph::{Leaf, Node, NodeRef, State};
use crate::layout::{Layout, View};
use crate::op::Op;
use crate::shape::Shape;
use smallvec::SmallVec;
use std::sync::Arc;

/// What a plan for one op over values depends on. Equal keys have equal [graphs](crate::graph::Graph).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlatKey {
    op: Op,
    shape: Shape,
    dtype: DType,
    operands: SmallVec<[FlatOperand; 3]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum FlatOperand {
    /// A value in memory.
    Leaf { layout: Layout, donated: bool, dtype: DType },
    /// The same node as an earlier operand.
    Same(u8),
    /// A scalar constant.
    Constant(DType),
    /// A scalar constant, repeated to the shape of the result.
    Spread(DType),
}

/// A node whose operands all have values, and those values in the order in which a trace has them.
pub struct Flat {
    /// What its plan depends on.
    pub key: FlatKey,
    /// The values of its leaves.
    pub leaves: Vec<Leaf>,
    /// The value of its constant.
    pub constants: Vec<Number>,
}

impl Flat {
    /// The node as one op over values, if it is that, with at most one constant.
    pub fn of(node: &NodeRef) -> Option<Flat> {
        let state = node.state.lock();
        let State::Lazy(op, operands) = &*state else { return None };
        if operands.is_empty() || operands.len() > 3 {
            return None;
        }
        let mut leaves = Vec::with_capacity(operands.len());
        let mut constants = Vec::new();
        let mut described = SmallVec::new();
        for (i, operand) in operands.iter().enumerate() {
            if let Some(earlier) = operands[..i].iter().position(|e| Arc::ptr_eq(e, operand)) {
                described.push(FlatOperand::Same(earlier as u8));
                continue;
            }
            let spread = match &*operand.state.lock() {
                State::Ready(leaf) => {
                    let layout = leaf.layout.clone();
                    described.push(FlatOperand::Leaf {
                        layout,
                        donated: leaf.donated,
                        dtype: operand.dtype(),
                    });
                    leaves.push(leaf.clone());
                    continue;
                }
                State::Constant(value) => {
                    described.push(FlatOperand::Constant(operand.dtype()));
                    constants.push(*value);
                    continue;
                }
                State::Lazy(Op::View(View::Expand(_)), inner) => inner[0].clone(),
                State::Lazy(..) => return None,
            };
            constants.push(constant(&spread)?);
            if operand.shape() != node.shape() {
                return None;
            }
            described.push(FlatOperand::Spread(operand.dtype()));
        }
        // A trace makes equal constants one: with two of them the structure would depend on their values.
        if constants.len() > 1 {
            return None;
        }
        let key =
            FlatKey { op: op.clone(), shape: node.shape().clone(), dtype: node.dtype(), operands: described };
        Some(Flat { key, leaves, constants })
    }
}

fn constant(node: &Node) -> Option<Number> {
    match &*node.state.lock() {
        State::Constant(value) => Some(*value),
        State::Ready(_) | State::Lazy(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::elementwise::ElementwiseOp;
    use crate::graph::Trace;

    fn leaf(extent: usize, dtype: DType) -> NodeRef {
        let layout = Layout::contiguous(&Shape::from([extent]));
        Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, dtype)
    }

    fn add(a: &NodeRef, b: &NodeRef) -> NodeRef {
        build::elementwise(ElementwiseOp::Add, &[a, b]).unwrap()
    }

    #[test]
    fn equal_keys_are_equal_graphs() {
        let scalar = |v: i64| Node::constant(Number::Int(v), DType::F32);
        let (x, y, long) = (leaf(4, DType::F32), leaf(4, DType::F32), leaf(5, DType::F32));
        let nodes = [
            add(&x, &y),
            add(&y, &x),
            add(&x, &x),
            add(&x, &scalar(1)),
            add(&x, &scalar(2)),
            add(&scalar(1), &x),
            add(&long, &long),
            add(&leaf(4, DType::I32), &leaf(4, DType::I32)),
            build::elementwise(ElementwiseOp::Mul, &[&x, &y]).unwrap(),
            build::elementwise(ElementwiseOp::Neg, &[&x]).unwrap(),
        ];
        for a in &nodes {
            let flat = Flat::of(a).expect("one op over values");
            let trace = Trace::of(std::slice::from_ref(a));
            assert_eq!(flat.leaves.len(), trace.leaves.len());
            assert_eq!(flat.constants, trace.constants);
            for b in &nodes {
                let same = Trace::of(std::slice::from_ref(b)).graph == trace.graph;
                assert_eq!(Flat::of(b).unwrap().key == flat.key, same);
            }
        }
    }

    #[test]
    fn deeper_graphs_are_not_flat() {
        let (x, y) = (leaf(4, DType::F32), leaf(4, DType::F32));
        assert!(Flat::of(&add(&add(&x, &y), &y)).is_none());
        assert!(Flat::of(&add(&x, &leaf(4, DType::I32))).is_none(), "a cast stands between");
        assert!(Flat::of(&x).is_none());
    }
}

//! Small graphs: a few elementwise ops over few elements, run directly from the nodes.
//!
//! Tracing, hashing and looking up a plan costs more than adding sixteen numbers. A graph of elementwise ops only,
//! all of one small shape and of dtypes that are computed as stored, can be run from a list of its steps.

use crate::dtype::{DType, Number};
use crate::elementwise::{ElementwiseOp, MAX_ARITY};
use crate::graph::{Leaf, Node, State};
use crate::layout::View;
use crate::op::Op;
use smallvec::SmallVec;

/// Maximum number of elements per value of a small graph.
pub const MAX_COUNT: usize = 1024;

/// Maximum number of values in a small graph, including operands and constants.
pub const MAX_STEPS: usize = 32;

/// A step of a small graph; its value has the graph's shape. Operands are indices of earlier steps.
#[derive(Clone, Debug, PartialEq)]
pub enum SmallStep<L> {
    /// Contiguous elements of a leaf, from element `offset` on.
    Leaf(L, usize),
    /// The element `offset` of a leaf, broadcast.
    Spread(L, usize),
    /// A number, broadcast.
    Constant(Number),
    /// An op of the elementwise table.
    Elementwise(ElementwiseOp, [u8; MAX_ARITY]),
    /// A cast from the operand's dtype.
    Cast(u8),
}

/// A small graph; the last step is its result.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallGraph<L> {
    /// Number of elements of every value.
    pub count: usize,
    /// The steps, with the dtypes of their values.
    pub steps: SmallVec<[(SmallStep<L>, DType); 6]>,
}

impl<L> SmallGraph<L> {
    /// The graph behind a node, if it is small and `leaf` accepts all of its leaves.
    pub fn of(node: &Node, leaf: impl FnMut(&Leaf) -> Option<L>) -> Option<SmallGraph<L>> {
        let count = node.shape().count();
        if count == 0 || count > MAX_COUNT {
            return None;
        }
        // Graphs that end in anything else are told apart before any room is made.
        if !matches!(&*node.state.lock(), State::Lazy(Op::Elementwise(_) | Op::Cast, _)) {
            return None;
        }
        let graph = SmallGraph { count, steps: SmallVec::new() };
        let mut walk = Walk { graph, seen: SmallVec::new(), depth: 0, leaf };
        walk.visit(node)?;
        let (result, _) = walk.graph.steps.last()?;
        matches!(result, SmallStep::Elementwise(..) | SmallStep::Cast(_)).then_some(walk.graph)
    }
}

struct Walk<L, F> {
    graph: SmallGraph<L>,
    /// The node of each step. All of them are alive: a node keeps its operands until it has a value, and is locked
    /// until they have been visited.
    seen: SmallVec<[*const Node; 6]>,
    /// The depth of the node being visited.
    depth: usize,
    leaf: F,
}

impl<L, F: FnMut(&Leaf) -> Option<L>> Walk<L, F> {
    /// The step of a node. Recursion is no deeper than the maximum number of steps.
    fn visit(&mut self, node: &Node) -> Option<u8> {
        if let Some(known) = self.seen.iter().position(|&seen| std::ptr::eq(seen, node)) {
            return Some(known as u8);
        }
        let dtype = node.dtype();
        if self.depth + self.seen.len() >= MAX_STEPS || dtype.compute().dtype() != dtype {
            return None;
        }
        self.depth += 1;
        let step = match &*node.state.lock() {
            State::Constant(value) => SmallStep::Constant(*value),
            State::Ready(leaf) if leaf.layout.is_contiguous() => {
                SmallStep::Leaf((self.leaf)(leaf)?, leaf.layout.offset)
            }
            State::Lazy(Op::Elementwise(op), operands) => {
                let mut places = [0; MAX_ARITY];
                for (place, operand) in places.iter_mut().zip(operands) {
                    *place = self.visit(operand)?;
                }
                SmallStep::Elementwise(*op, places)
            }
            State::Lazy(Op::Cast, operands) => SmallStep::Cast(self.visit(&operands[0])?),
            State::Lazy(Op::View(View::Expand(_)), operands) => self.spread(&operands[0])?,
            State::Ready(_) | State::Lazy(..) => return None,
        };
        self.depth -= 1;
        self.seen.push(node);
        self.graph.steps.push((step, dtype));
        Some(self.seen.len() as u8 - 1)
    }

    /// A single element that is broadcast.
    fn spread(&mut self, node: &Node) -> Option<SmallStep<L>> {
        match &*node.state.lock() {
            State::Constant(value) => Some(SmallStep::Constant(*value)),
            State::Ready(leaf) if leaf.layout.shape.count() == 1 => {
                Some(SmallStep::Spread((self.leaf)(leaf)?, leaf.layout.offset))
            }
            State::Ready(_) | State::Lazy(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::graph::NodeRef;
    use crate::layout::Layout;
    use crate::shape::Shape;
    use std::sync::Arc;

    fn leaf(extent: usize, dtype: DType) -> NodeRef {
        let layout = Layout::contiguous(&Shape::from([extent]));
        Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, dtype)
    }

    fn add(a: &NodeRef, b: &NodeRef) -> NodeRef {
        build::elementwise(ElementwiseOp::Add, &[a, b]).unwrap()
    }

    fn steps(node: &Node) -> Option<usize> {
        SmallGraph::of(node, |_| Some(())).map(|graph| graph.steps.len())
    }

    #[test]
    fn each_value_is_one_step() {
        let (x, y) = (leaf(4, DType::F32), leaf(4, DType::F32));
        let one = Node::constant(Number::Int(1), DType::F32);
        assert_eq!(steps(&add(&x, &y)), Some(3));
        assert_eq!(steps(&add(&x, &x)), Some(2));
        assert_eq!(steps(&add(&x, &one)), Some(3));
        let sum = add(&x, &y);
        assert_eq!(steps(&add(&sum, &sum)), Some(4));
        assert_eq!(steps(&add(&x, &leaf(1, DType::F32))), Some(3), "one element, repeated");
        assert_eq!(steps(&build::cast(&x, DType::I32)), Some(2));
    }

    #[test]
    fn other_graphs_are_left_to_a_plan() {
        let x = leaf(4, DType::F32);
        let narrow = leaf(4, DType::F16);
        let rows = build::expand("test", &leaf(4, DType::F32), &Shape::from([3, 4])).unwrap();
        let large = leaf(MAX_COUNT + 1, DType::F32);
        let empty = leaf(0, DType::F32);
        for node in
            [&x, &add(&narrow, &narrow), &add(&rows, &rows), &add(&large, &large), &add(&empty, &empty)]
        {
            assert_eq!(steps(node), None);
        }
        assert!(SmallGraph::<()>::of(&add(&x, &x), |_| None).is_none(), "a leaf was refused");
    }

    #[test]
    fn a_long_chain_ends_the_walk_early() {
        let x = leaf(4, DType::F32);
        let mut chain = x.clone();
        for _ in 0..100_000 {
            chain = add(&chain, &x);
        }
        assert_eq!(steps(&chain), None);
    }
}

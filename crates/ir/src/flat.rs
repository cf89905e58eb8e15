//! A single op over values: the most common small program, recognised without walking a graph.

use crate::dtype::{DType, Number};
use crate::graph::{Leaf, Node, NodeRef, Payload, State};
use crate::layout::{Layout, View};
use crate::op::Op;
use crate::shape::Shape;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A cache for nodes that are a single op over values, keyed by everything that a plan for them depends on: nodes
/// with the same entry have equal [graphs](crate::graph::Graph).
pub struct FlatMap<V> {
    entries: FxHashMap<u64, SmallVec<[(Key, V); 1]>>,
}

/// A cache entry found for a node, and the node's values in the order of a trace.
pub struct Found<V> {
    /// The cached item.
    pub value: V,
    /// The values of the leaves.
    pub leaves: SmallVec<[Payload; 3]>,
    /// The values of the constants: at most one.
    pub constants: SmallVec<[Number; 1]>,
}

struct Key {
    op: Op,
    shape: Shape,
    dtype: DType,
    operands: SmallVec<[Operand; 3]>,
}

#[derive(PartialEq)]
enum Operand {
    /// A value in memory.
    Leaf { layout: Layout, donated: bool, dtype: DType },
    /// The same node as an earlier operand.
    Same(usize),
    /// A scalar constant.
    Constant(DType),
    /// A scalar constant, broadcast to the shape of the result.
    Spread(DType),
}

/// An operand during the lookup.
enum Seen<'a> {
    Leaf(&'a Leaf, DType),
    Same(usize),
    Constant(Number, DType),
    Spread(Number, DType),
}

impl Seen<'_> {
    fn hash(&self, hasher: &mut FxHasher) {
        match self {
            Seen::Leaf(leaf, dtype) => (0u8, &leaf.layout, leaf.donated, dtype).hash(hasher),
            Seen::Same(earlier) => (1u8, earlier).hash(hasher),
            Seen::Constant(_, dtype) => (2u8, dtype).hash(hasher),
            Seen::Spread(_, dtype) => (3u8, dtype).hash(hasher),
        }
    }

    fn is(&self, known: &Operand) -> bool {
        match (self, known) {
            (Seen::Leaf(leaf, own), Operand::Leaf { layout, donated, dtype }) => {
                own == dtype && leaf.donated == *donated && leaf.layout == *layout
            }
            (Seen::Same(a), Operand::Same(b)) => a == b,
            (Seen::Constant(_, a), Operand::Constant(b)) | (Seen::Spread(_, a), Operand::Spread(b)) => a == b,
            _ => false,
        }
    }

    fn to_operand(&self) -> Operand {
        match self {
            Seen::Leaf(leaf, dtype) => {
                Operand::Leaf { layout: leaf.layout.clone(), donated: leaf.donated, dtype: *dtype }
            }
            Seen::Same(earlier) => Operand::Same(*earlier),
            Seen::Constant(_, dtype) => Operand::Constant(*dtype),
            Seen::Spread(_, dtype) => Operand::Spread(*dtype),
        }
    }
}

/// Shows the operands of a node one by one; `None` as soon as one has no value or `see` rejects it. A trace merges
/// equal constants, so with two of them the structure would depend on their values: they are rejected too.
fn walk(node: &Node, operands: &[NodeRef], mut see: impl FnMut(usize, Seen<'_>) -> Option<()>) -> Option<()> {
    let mut constants = 0;
    for (i, operand) in operands.iter().enumerate() {
        if let Some(earlier) = operands[..i].iter().position(|e| Arc::ptr_eq(e, operand)) {
            see(i, Seen::Same(earlier))?;
            continue;
        }
        let dtype = operand.dtype();
        match &*operand.state.lock() {
            State::Ready(leaf) => {
                see(i, Seen::Leaf(leaf, dtype))?;
                continue;
            }
            State::Constant(value) => see(i, Seen::Constant(*value, dtype))?,
            State::Lazy(Op::View(View::Expand(_)), inner) if operand.shape() == node.shape() => {
                see(i, Seen::Spread(constant(&inner[0])?, dtype))?;
            }
            State::Lazy(..) => return None,
        }
        constants += 1;
        if constants > 1 {
            return None;
        }
    }
    Some(())
}

fn constant(node: &Node) -> Option<Number> {
    match &*node.state.lock() {
        State::Constant(value) => Some(*value),
        State::Ready(_) | State::Lazy(..) => None,
    }
}

/// The cache key of a node, if it is a single op over values.
fn hash(node: &Node, op: &Op, operands: &[NodeRef]) -> Option<u64> {
    if operands.is_empty() || operands.len() > 3 {
        return None;
    }
    let mut hasher = FxHasher::default();
    (op, node.shape(), node.dtype()).hash(&mut hasher);
    walk(node, operands, |_, seen| {
        seen.hash(&mut hasher);
        Some(())
    })?;
    Some(hasher.finish())
}

impl<V> Default for FlatMap<V> {
    fn default() -> FlatMap<V> {
        FlatMap { entries: FxHashMap::default() }
    }
}

impl<V: Clone> FlatMap<V> {
    /// Looks up the entry for a node.
    pub fn find(&self, node: &Node) -> Option<Found<V>> {
        let state = node.state.lock();
        let State::Lazy(op, operands) = &*state else { return None };
        let entries = self.entries.get(&hash(node, op, operands)?)?;
        entries.iter().find_map(|(key, value)| {
            if key.op != *op || key.dtype != node.dtype() || key.shape != *node.shape() {
                return None;
            }
            let mut found =
                Found { value: value.clone(), leaves: SmallVec::new(), constants: SmallVec::new() };
            walk(node, operands, |i, seen| {
                match &seen {
                    Seen::Leaf(leaf, _) => found.leaves.push(leaf.payload.clone()),
                    Seen::Constant(value, _) | Seen::Spread(value, _) => found.constants.push(*value),
                    Seen::Same(_) => {}
                }
                key.operands.get(i).is_some_and(|known| seen.is(known)).then_some(())
            })?;
            Some(found)
        })
    }

    /// Inserts an entry for nodes like this one, if it is a single op over values.
    pub fn insert(&mut self, node: &Node, value: V) {
        let state = node.state.lock();
        let State::Lazy(op, operands) = &*state else { return };
        let Some(place) = hash(node, op, operands) else { return };
        let mut described = SmallVec::new();
        let complete = walk(node, operands, |_, seen| {
            described.push(seen.to_operand());
            Some(())
        });
        if complete.is_some() {
            let (shape, dtype) = (node.shape().clone(), node.dtype());
            let key = Key { op: op.clone(), shape, dtype, operands: described };
            self.entries.entry(place).or_default().push((key, value));
        }
    }

    /// The number of distinct keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Clears the cache.
    pub fn clear(&mut self) {
        self.entries.clear();
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
            let mut known = FlatMap::default();
            known.insert(a, ());
            let trace = Trace::of(std::slice::from_ref(a));
            for b in &nodes {
                let other = Trace::of(std::slice::from_ref(b));
                let found = known.find(b);
                assert_eq!(found.is_some(), other.graph == trace.graph);
                if let Some(found) = found {
                    assert_eq!(found.leaves.len(), other.leaves.len());
                    let same = |(a, b): (&Payload, &Leaf)| Arc::ptr_eq(a, &b.payload);
                    assert!(found.leaves.iter().zip(&other.leaves).all(same));
                    assert_eq!(found.constants.to_vec(), other.constants);
                }
            }
        }
    }

    #[test]
    fn deeper_graphs_are_not_flat() {
        let (x, y) = (leaf(4, DType::F32), leaf(4, DType::F32));
        let mut known = FlatMap::default();
        for node in [&add(&add(&x, &y), &y), &add(&x, &leaf(4, DType::I32)), &x] {
            known.insert(node, ());
            assert!(known.is_empty() && known.find(node).is_none());
        }
    }
}

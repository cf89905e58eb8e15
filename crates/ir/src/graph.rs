//! The lazy graph: nodes that remember how to compute themselves, and the flat form that the planner takes.

use crate::dtype::{DType, Number};
use crate::error::Result;
use crate::layout::Layout;
use crate::op::Op;
use crate::shape::Shape;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;

/// A shared node.
pub type NodeRef = Arc<Node>;

/// The operands of a node.
pub type Operands = SmallVec<[NodeRef; 3]>;

/// A device's handle to a tensor's elements; only the device layer looks inside.
pub type Payload = Arc<dyn Any + Send + Sync>;

/// A tensor in the graph: a value, or how to compute it.
pub struct Node {
    shape: Shape,
    dtype: DType,
    pub(crate) state: Mutex<State>,
}

pub(crate) enum State {
    Constant(Number),
    Ready(Leaf),
    Lazy(Op, Operands),
}

/// The value of a node, if it has one.
#[derive(Clone)]
pub struct Leaf {
    /// The layout of the elements in the buffer.
    pub layout: Layout,
    /// Whether an op may overwrite the buffer.
    pub donated: bool,
    /// The buffer.
    pub payload: Payload,
}

impl Node {
    /// A node that computes `op`. The caller (see [`crate::build`]) has checked the operands; the shape is checked
    /// here, for every op.
    pub(crate) fn lazy(op: Op, operands: Operands, shape: Shape, dtype: DType) -> Result<NodeRef> {
        shape.check(op.name())?;
        Ok(Arc::new(Node { shape, dtype, state: Mutex::new(State::Lazy(op, operands)) }))
    }

    /// A node for a tensor in memory.
    ///
    /// # Panics
    /// If the layout is invalid: see [`Layout::check`], which a caller that knows the memory has to call first.
    pub fn leaf(leaf: Leaf, dtype: DType) -> NodeRef {
        if let Err(error) = leaf.layout.check("leaf") {
            panic!("leaf with an unchecked layout: {error}");
        }
        Arc::new(Node { shape: leaf.layout.shape.clone(), dtype, state: Mutex::new(State::Ready(leaf)) })
    }

    /// A zero-dimensional constant of a dtype.
    pub fn constant(value: Number, dtype: DType) -> NodeRef {
        Arc::new(Node {
            shape: Shape::scalar(),
            dtype,
            state: Mutex::new(State::Constant(value.cast(dtype))),
        })
    }

    /// The tensor's shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The tensor's dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The value, if the node has one.
    pub fn value(&self) -> Option<Leaf> {
        self.with_value(Leaf::clone)
    }

    /// Passes the value to `look`, if the node has one.
    pub fn with_value<T>(&self, look: impl FnOnce(&Leaf) -> T) -> Option<T> {
        match &*self.state.lock() {
            State::Ready(leaf) => Some(look(leaf)),
            State::Constant(_) | State::Lazy(..) => None,
        }
    }

    /// Mutable access to the value, for the only owner of the node.
    pub fn value_mut(&mut self) -> Option<&mut Leaf> {
        match self.state.get_mut() {
            State::Ready(leaf) => Some(leaf),
            State::Constant(_) | State::Lazy(..) => None,
        }
    }

    /// Whether the node has a value in memory.
    pub fn has_value(&self) -> bool {
        matches!(*self.state.lock(), State::Ready(_))
    }

    /// Sets the node's value; from now on it is a leaf, and its operands are released.
    pub fn fulfil(&self, leaf: Leaf) {
        let old = std::mem::replace(&mut *self.state.lock(), State::Ready(leaf));
        if let State::Lazy(_, operands) = old {
            release(operands);
        }
    }
}

/// Drops operands without recursion, so that a chain of a million nodes needs no deep stack.
fn release(operands: Operands) {
    let mut pending = operands;
    while let Some(node) = pending.pop() {
        // Somebody else's nodes stay, which is the common end: it needs no memory.
        if let Some(mut node) = Arc::into_inner(node)
            && let State::Lazy(_, operands) = node.state.get_mut()
        {
            pending.extend(operands.drain(..));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let State::Lazy(_, operands) = self.state.get_mut()
            && !operands.is_empty()
        {
            release(std::mem::take(operands));
        }
    }
}

/// A node of the flat graph; operands are indices of earlier nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GraphNode {
    /// The op.
    pub op: Op,
    /// The operands.
    pub operands: SmallVec<[u32; 4]>,
    /// Shape of the result.
    pub shape: Shape,
    /// Dtype of the result.
    pub dtype: DType,
}

/// The structure of a computation, without its values: plans are created from it and cached by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Graph {
    /// Nodes in topological order, operands first.
    pub nodes: Vec<GraphNode>,
    /// The outputs.
    pub outputs: Vec<u32>,
    /// Whether a row's result must not depend on the number of rows computed with it. Devices whose kernels for few
    /// rows sum in a different order than those for many then use only one kind.
    pub batch_invariant: bool,
}

/// A graph with its values.
#[derive(Default)]
pub struct Trace {
    /// The structure.
    pub graph: Graph,
    /// The value of each leaf node, in order.
    pub leaves: Vec<Leaf>,
    /// The value of each constant node, in order.
    pub constants: Vec<Number>,
}

impl Trace {
    /// Traces from `outputs` to leaves and constants. Equal constants are merged.
    pub fn of(outputs: &[NodeRef]) -> Trace {
        let mut tracer = Tracer::default();
        for output in outputs {
            let index = tracer.visit(output);
            tracer.trace.graph.outputs.push(index);
        }
        tracer.trace
    }
}

#[derive(Default)]
struct Tracer {
    trace: Trace,
    seen: FxHashMap<*const Node, u32>,
    constants: FxHashMap<(DType, (u8, u64)), u32>,
}

impl Tracer {
    fn visit(&mut self, root: &NodeRef) -> u32 {
        // A frame is a node whose operands are being visited; the nodes live as long as the root.
        let mut stack: Vec<Frame> = Vec::new();
        if let Some(index) = self.enter(root, &mut stack) {
            return index;
        }
        loop {
            let frame = stack.last_mut().expect("the loop returns with the last frame");
            if let Some(next) = frame.operands.get(frame.done.len()).cloned() {
                if let Some(index) = self.enter(&next, &mut stack) {
                    stack.last_mut().expect("enter pushes or resolves").done.push(index);
                }
                continue;
            }
            let frame = stack.pop().expect("just looked at");
            let index = self.push(GraphNode {
                op: frame.op,
                operands: frame.done,
                shape: frame.node.shape.clone(),
                dtype: frame.node.dtype,
            });
            self.seen.insert(Arc::as_ptr(&frame.node), index);
            match stack.last_mut() {
                Some(parent) => parent.done.push(index),
                None => return index,
            }
        }
    }

    /// The index of a node that is known or has no operands to visit; otherwise pushes a frame for it.
    fn enter(&mut self, node: &NodeRef, stack: &mut Vec<Frame>) -> Option<u32> {
        if let Some(&index) = self.seen.get(&Arc::as_ptr(node)) {
            return Some(index);
        }
        let state = node.state.lock();
        let index = match &*state {
            State::Lazy(op, operands) => {
                stack.push(Frame {
                    node: node.clone(),
                    op: op.clone(),
                    operands: operands.clone(),
                    done: SmallVec::new(),
                });
                return None;
            }
            State::Constant(value) => {
                let key = (node.dtype, value.bits());
                if let Some(&index) = self.constants.get(&key) {
                    return Some(index);
                }
                self.trace.constants.push(*value);
                let index = self.push(leaf_node(Op::Constant, node));
                self.constants.insert(key, index);
                index
            }
            State::Ready(leaf) => {
                let op = Op::Leaf { layout: leaf.layout.clone(), donated: leaf.donated };
                self.trace.leaves.push(leaf.clone());
                self.push(leaf_node(op, node))
            }
        };
        self.seen.insert(Arc::as_ptr(node), index);
        Some(index)
    }

    fn push(&mut self, node: GraphNode) -> u32 {
        self.trace.graph.nodes.push(node);
        self.trace.graph.nodes.len() as u32 - 1
    }
}

struct Frame {
    node: NodeRef,
    op: Op,
    operands: Operands,
    done: SmallVec<[u32; 4]>,
}

fn leaf_node(op: Op, node: &Node) -> GraphNode {
    GraphNode { op, operands: SmallVec::new(), shape: node.shape.clone(), dtype: node.dtype }
}

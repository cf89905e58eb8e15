//! Common-subexpression elimination, and use counts for later passes.

use rustc_hash::FxHashMap;
use wootz_ir::graph::{Graph, GraphNode};
use wootz_ir::{Op, Role, View};

/// A graph in which equal nodes are merged.
pub(crate) struct Canonical {
    pub nodes: Vec<GraphNode>,
    pub outputs: Vec<u32>,
    /// For each node, how often it is an operand.
    pub uses: Vec<u32>,
    pub is_output: Vec<bool>,
}

impl Canonical {
    pub fn of(graph: &Graph) -> Canonical {
        let mut canonical = Canonical {
            nodes: Vec::with_capacity(graph.nodes.len()),
            outputs: Vec::new(),
            uses: Vec::new(),
            is_output: Vec::new(),
        };
        let mut renamed: Vec<u32> = Vec::with_capacity(graph.nodes.len());
        let mut known: FxHashMap<GraphNode, u32> = FxHashMap::default();
        for node in &graph.nodes {
            let mut node = node.clone();
            node.operands.iter_mut().for_each(|i| *i = renamed[*i as usize]);
            // Leaves and constants are told apart by their values, which the structure does not have.
            let unique = matches!(node.op, Op::Leaf { .. } | Op::Constant);
            let index = match known.get(&node) {
                Some(&index) if !unique => index,
                _ => {
                    let index = canonical.nodes.len() as u32;
                    canonical.nodes.push(node.clone());
                    if !unique {
                        known.insert(node, index);
                    }
                    index
                }
            };
            renamed.push(index);
        }
        canonical.outputs = graph.outputs.iter().map(|&i| renamed[i as usize]).collect();
        canonical.count_uses();
        canonical
    }

    fn count_uses(&mut self) {
        self.uses = vec![0; self.nodes.len()];
        self.is_output = vec![false; self.nodes.len()];
        for &operand in self.nodes.iter().flat_map(|node| &node.operands) {
            self.uses[operand as usize] += 1;
        }
        for &output in &self.outputs {
            self.is_output[output as usize] = true;
        }
    }

    /// Whether a node is elementwise code.
    pub fn is_code(&self, node: u32) -> bool {
        self.nodes[node as usize].op.role() == Role::Code
    }

    /// Whether a value needs no memory: it is read directly inside any code.
    pub fn is_free(&self, node: u32) -> bool {
        matches!(self.nodes[node as usize].op, Op::Constant | Op::Iota)
    }

    /// Whether a node is a movement op.
    pub fn is_view(&self, node: u32) -> bool {
        self.nodes[node as usize].op.role() == Role::View
    }

    /// Whether a node's value is provided by the caller.
    pub fn is_in_memory(&self, node: u32) -> bool {
        matches!(self.nodes[node as usize].op, Op::Leaf { .. })
    }

    /// Whether a view broadcasts.
    pub fn enlarges(&self, node: u32) -> bool {
        let this = &self.nodes[node as usize];
        match &this.op {
            Op::View(View::Expand(shape)) => {
                shape.count() > self.nodes[this.operands[0] as usize].shape.count()
            }
            _ => false,
        }
    }
}

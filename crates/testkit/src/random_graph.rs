//! Large random graphs: deep and wide, over every kind of op that takes part in fusion or prevents it.
//!
//! Values stay bounded and errors do not grow. Floats stay within ±2, and every float step changes its result by no
//! more than its operands changed, so that a graph of hundreds of ops accumulates at most as many roundings.
//! Discontinuous steps (comparisons, sorting, integer division) work only on integers, which are exact; integers flow
//! into floats, never back.

mod maker;

use maker::Maker;
use wootz_conformance::{LayoutClass, Leaf, Random, Tolerance, epsilon, evaluate, values};
use wootz_ir::graph::NodeRef;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Result};

/// A random graph: leaves to bind, and a function from leaf nodes to output nodes.
pub struct RandomGraph {
    seed: u64,
    size: usize,
    /// Inputs, laid out in various ways.
    pub leaves: Vec<Leaf>,
}

/// The graph of a seed, with about `size` steps (a step is one to six ops).
pub fn random_graph(seed: u64, size: usize) -> RandomGraph {
    let mut random = Random::new(seed ^ 0x1eaf);
    let shapes: [&[usize]; 6] = [&[4, 5], &[3, 4, 2], &[8], &[2, 3, 4], &[6, 6], &[]];
    let mut leaves = Vec::new();
    for shape in shapes {
        for dtype in [DType::F32, DType::I32] {
            let class =
                if shape.is_empty() { LayoutClass::ZeroDim } else { random.pick(&LayoutClass::STRIDED) };
            let tensor = match dtype {
                DType::F32 => values::ordinary(&mut random, shape, dtype, -2.0, 2.0),
                _ => values::whole(&mut random, shape, dtype, -50, 50),
            };
            leaves.push(Leaf::new(tensor, class, 0));
        }
    }
    RandomGraph { seed, size, leaves }
}

impl RandomGraph {
    /// The output nodes over these leaf nodes. Every call builds the same graph.
    pub fn build(&self, leaves: &[NodeRef]) -> Result<Vec<NodeRef>> {
        let mut maker = Maker { random: Random::new(self.seed), floats: vec![], integers: vec![] };
        for leaf in leaves {
            let pool = if leaf.dtype().is_float() { &mut maker.floats } else { &mut maker.integers };
            pool.push(leaf.clone());
        }
        for _ in 0..self.size {
            maker.step()?;
        }
        let last = |pool: &[NodeRef], n: usize| pool[pool.len() - n..].to_vec();
        let rest = [maker.gathered(true)?, maker.gathered(false)?];
        Ok([last(&maker.floats, 4), last(&maker.integers, 2), rest.to_vec()].concat())
    }

    /// The result of the reference evaluator.
    pub fn expected(&self) -> Result<Vec<HostTensor>> {
        let tensors: Vec<HostTensor> = self.leaves.iter().map(|leaf| leaf.tensor.clone()).collect();
        evaluate(&tensors, |nodes| self.build(nodes))
    }

    /// The tolerance for an output of a dtype: a few roundings per step.
    pub fn tolerance(&self, dtype: DType) -> Tolerance {
        if !dtype.is_float() {
            return Tolerance::EXACT;
        }
        Tolerance::EXACT.or_within(16.0 * self.size as f64 * epsilon(DType::F32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wootz_ir::graph::Node;

    /// Nodes that the outputs depend on.
    fn reachable(graph: &RandomGraph) -> Vec<wootz_ir::graph::GraphNode> {
        let leaf = |leaf: &Leaf| {
            let payload = std::sync::Arc::new(());
            let value = wootz_ir::graph::Leaf { layout: leaf.layout.clone(), donated: false, payload };
            Node::leaf(value, leaf.dtype())
        };
        let leaves: Vec<NodeRef> = graph.leaves.iter().map(leaf).collect();
        wootz_ir::graph::Trace::of(&graph.build(&leaves).unwrap()).graph.nodes
    }

    #[test]
    fn graphs_have_empty_values_in_their_middle() {
        let with_empty = (0..40).filter(|&seed| {
            let nodes = reachable(&random_graph(seed, 40));
            nodes.iter().filter(|node| node.shape.count() == 0).count() > 3
        });
        assert!(with_empty.count() > 10);
    }

    #[test]
    fn graphs_are_large_bounded_and_reproducible() {
        for seed in 0..6 {
            let graph = random_graph(seed, 200);
            let first = graph.expected().unwrap();
            assert_eq!(first, graph.expected().unwrap(), "seed {seed}");
            assert_eq!(first.len(), 8);
            assert!(reachable(&graph).len() > 300, "seed {seed}: {} nodes", reachable(&graph).len());
            for output in first.iter().filter(|t| t.dtype.is_float()) {
                assert!(output.to_f64().iter().all(|v| v.abs() <= 2.5), "seed {seed}: {output:?}");
            }
        }
        assert_ne!(random_graph(1, 50).expected().unwrap(), random_graph(2, 50).expected().unwrap());
    }
}

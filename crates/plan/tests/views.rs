//! Different views of one lazy value: what a plan executes, and what it takes to make, grow with the graph and no faster.

use std::sync::Arc;
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_ir::op::{Axes, ReduceOp};
use wootz_ir::{DType, ElementwiseOp, Layout, Shape, Span, build};
use wootz_plan::{Capabilities, Plan};

fn leaf(shape: &[usize]) -> NodeRef {
    let layout = Layout::contiguous(&Shape::from(shape));
    Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, DType::F32)
}

fn apply(op: ElementwiseOp, operands: &[&NodeRef]) -> NodeRef {
    build::elementwise(op, operands).unwrap()
}

fn add(x: &NodeRef, y: &NodeRef) -> NodeRef {
    apply(ElementwiseOp::Add, &[x, y])
}

fn transposed(x: &NodeRef) -> NodeRef {
    build::permute(x, &[1, 0]).unwrap()
}

fn flipped(x: &NodeRef, axis: usize) -> NodeRef {
    let mut spans: Vec<Span> = x.shape().iter().map(|&extent| Span::all(extent)).collect();
    spans[axis] = Span { start: x.shape()[axis] - 1, step: -1, len: x.shape()[axis] };
    build::slice(x, &spans).unwrap()
}

/// `x[starts[0]:…, starts[1]:…, …]`, each axis shorter by `by`.
fn shifted(x: &NodeRef, starts: &[usize], by: usize) -> NodeRef {
    let axes = starts.iter().zip(x.shape().iter());
    let spans: Vec<Span> = axes.map(|(&start, &extent)| Span { start, step: 1, len: extent - by }).collect();
    build::slice(x, &spans).unwrap()
}

fn blurred(x: &NodeRef) -> NodeRef {
    let parts = (0..9).map(|i| shifted(x, &[i / 3, i % 3], 2));
    let sum = parts.reduce(|sum, part| add(&sum, &part)).unwrap();
    apply(ElementwiseOp::Mul, &[&sum, &Node::constant((1.0 / 9.0).into(), DType::F32)])
}

fn repeated(mut x: NodeRef, steps: usize, step: impl Fn(&NodeRef) -> NodeRef) -> Plan {
    for _ in 0..steps {
        x = step(&x);
    }
    plan(&[x], &Capabilities::ALL)
}

fn plan(outputs: &[NodeRef], capabilities: &Capabilities) -> Plan {
    Plan::new(&Trace::of(outputs).graph, capabilities)
}

/// Scalar instructions that running the plan's fused code takes.
fn executed(plan: &Plan) -> usize {
    let fused = plan.steps.iter().flat_map(|step| step.inputs.iter().chain([&step.epilogue]));
    fused.map(|f| f.program.cost() * f.shape.count()).sum()
}

/// What a plan costs per unit of the graph must not depend on how large the graph is.
fn grows_linearly(x: &NodeRef, few: usize, step: impl Fn(&NodeRef) -> NodeRef) -> Plan {
    let small = repeated(x.clone(), few, &step);
    let large = repeated(x.clone(), 8 * few, &step);
    for (what, count) in [
        ("instructions", executed as fn(&Plan) -> usize),
        ("steps", |plan| plan.steps.len()),
        ("visits", |plan| plan.visits),
        ("bytes", |plan| plan.steps.iter().map(|step| plan.step_bytes(step)).sum()),
    ] {
        let (a, b) = (count(&small), count(&large));
        assert!(b <= 9 * a, "{what}: {a} for {few} rounds, {b} for {}\n{}", 8 * few, small.explain());
    }
    large
}

#[test]
fn sums_with_the_transpose_run_one_op_per_round() {
    let x = leaf(&[128, 128]);
    let plan = grows_linearly(&x, 25, |x| add(x, &transposed(x)));
    assert!(executed(&plan) <= 2 * 200 * 128 * 128, "{}", executed(&plan));
    assert!(plan.visits <= 20 * plan.graph_nodes, "{} visits of {} nodes", plan.visits, plan.graph_nodes);
}

#[test]
fn blurs_by_slices_run_ten_ops_per_round() {
    let x = leaf(&[200, 200]);
    let plan = grows_linearly(&x, 6, blurred);
    assert_eq!(plan.steps.len(), 48);
    assert!(executed(&plan) <= 48 * 10 * 200 * 200, "{}", executed(&plan));
    assert!(plan.visits <= 20 * plan.graph_nodes, "{} visits of {} nodes", plan.visits, plan.graph_nodes);
}

#[test]
fn shifts_flips_and_broadcasts_do_not_multiply() {
    grows_linearly(&leaf(&[2000]), 20, |x| add(&shifted(x, &[1], 1), &shifted(x, &[0], 1)));
    grows_linearly(&leaf(&[64]), 20, |x| add(x, &flipped(x, 0)));
    grows_linearly(&leaf(&[32, 32]), 20, |x| {
        let spans = [Span::all(32), Span { start: 0, step: 1, len: 1 }];
        let column = build::expand("expand", &build::slice(x, &spans).unwrap(), x.shape()).unwrap();
        add(&column, &transposed(&column))
    });
    grows_linearly(&leaf(&[24, 16]), 20, |x| {
        let turned = build::reshape(&transposed(x), x.shape()).unwrap();
        add(x, &turned)
    });
}

#[test]
fn cheap_code_under_many_views_is_recomputed_not_stored() {
    let scaled = apply(ElementwiseOp::Mul, &[&leaf(&[64, 64]), &Node::constant(2.0.into(), DType::F32)]);
    assert_eq!(plan(&[blurred(&scaled)], &Capabilities::ALL).steps.len(), 1);
    let costly = apply(ElementwiseOp::Exp, &[&leaf(&[64, 64])]);
    let split = plan(&[blurred(&costly)], &Capabilities::ALL);
    assert_eq!(split.steps.len(), 2, "{}", split.explain());
}

#[test]
fn a_long_chain_of_views_is_walked_once() {
    let plan = grows_linearly(&leaf(&[24, 16]), 1000, transposed);
    assert!(plan.steps.is_empty());
    let moves = |x: &NodeRef| build::reshape(&transposed(x), x.shape()).unwrap();
    let plan = grows_linearly(&leaf(&[24, 16]), 500, moves);
    assert_eq!(plan.steps.len(), 4000, "each reshape of a transpose moves the elements");
    let code = apply(ElementwiseOp::Exp, &[&leaf(&[24, 16])]);
    grows_linearly(&code, 500, moves);
}

#[test]
fn a_sum_of_many_tensors_reads_as_many_per_step_as_fit() {
    for from_the_right in [false, true] {
        let leaves: Vec<NodeRef> = (0..90).map(|_| leaf(&[32])).collect();
        let sum = leaves[1..].iter().fold(leaves[0].clone(), |sum, x| match from_the_right {
            true => add(x, &sum),
            false => add(&sum, x),
        });
        let plan = plan(&[sum], &Capabilities::ALL);
        assert!(plan.steps.len() <= 5, "{}", plan.explain());
        assert_eq!(executed(&plan), 89 * 32);
    }
}

#[test]
fn many_readers_and_many_independent_steps_are_planned_in_linear_time() {
    let wide = |n: usize| {
        let shared = apply(ElementwiseOp::Exp, &[&leaf(&[16])]);
        let rows: Vec<NodeRef> = (0..n)
            .map(|i| apply(ElementwiseOp::Mul, &[&shared, &Node::constant((i as f64).into(), DType::F32)]))
            .map(|row| build::softmax(&row, 0, false).unwrap())
            .collect();
        plan(&[build::concat(&rows, 0).unwrap()], &Capabilities::ALL)
    };
    let (small, large) = (wide(500), wide(4000));
    assert!(large.visits <= 9 * small.visits, "{} and {}", small.visits, large.visits);
}

/// Numbers for tests.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }
}

/// A view of a square matrix that is one again.
fn view(x: &NodeRef, random: &mut Random) -> NodeRef {
    let extent = x.shape()[0];
    match random.below(6) {
        0 => transposed(x),
        1 => flipped(x, 0),
        2 => flipped(x, 1),
        3 => build::reshape(
            &transposed(&build::reshape(x, &[extent * 2, extent / 2].into()).unwrap()),
            x.shape(),
        )
        .unwrap(),
        4 => {
            let row = [Span { start: random.below(extent), step: 1, len: 1 }, Span::all(extent)];
            build::expand("expand", &build::slice(x, &row).unwrap(), x.shape()).unwrap()
        }
        _ => {
            let start = random.below(extent);
            let part = |start, len| [Span { start, step: 1, len }, Span::all(extent)];
            let low = build::slice(x, &part(0, start)).unwrap();
            let high = build::slice(x, &part(start, extent - start)).unwrap();
            build::concat(&[high, low], 0).unwrap()
        }
    }
}

fn view_heavy(seed: u64, steps: usize) -> Vec<NodeRef> {
    use ElementwiseOp::*;
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut pool: Vec<NodeRef> = (0..3).map(|_| leaf(&[12, 12])).collect();
    for _ in 0..steps {
        let pick = |random: &mut Random, pool: &[NodeRef]| {
            let recent = pool.len().min(if random.below(4) == 0 { 40 } else { 3 });
            let x = pool[pool.len() - 1 - random.below(recent)].clone();
            if random.below(3) == 0 { x } else { view(&x, random) }
        };
        let (a, b) = (pick(&mut random, &pool), pick(&mut random, &pool));
        pool.push(match random.below(12) {
            0 => apply(Exp, &[&a]),
            1 => apply(Neg, &[&a]),
            2 => apply(Where, &[&apply(Less, &[&a, &b]), &b, &a]),
            3 => build::matmul(&a, &b).unwrap(),
            4 => {
                let row = build::reduce(ReduceOp::Sum, &a, Axes::default().with(1), true).unwrap();
                add(&row, &b)
            }
            5 | 6 => apply(Mul, &[&a, &b]),
            7 => apply(Maximum, &[&a, &b]),
            _ => add(&a, &b),
        });
    }
    pool.split_off(pool.len() - 2)
}

#[test]
fn random_graphs_of_views_cost_a_bounded_amount_per_node() {
    let few_loads = Capabilities { max_loads: 4, ..Capabilities::ALL };
    for seed in 1..=120 {
        let outputs = view_heavy(seed, 20 + (seed as usize % 12) * 40);
        let unfused = executed(&plan(&outputs, &Capabilities::UNFUSED));
        for capabilities in [Capabilities::ALL, few_loads] {
            let plan = plan(&outputs, &capabilities);
            let cost = executed(&plan);
            assert!(cost <= 3 * unfused, "seed {seed}: {cost} instructions instead of {unfused}");
            assert!(
                plan.visits <= 40 * plan.graph_nodes,
                "seed {seed}: {} visits of {} nodes",
                plan.visits,
                plan.graph_nodes
            );
        }
    }
}

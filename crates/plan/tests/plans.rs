//! What plans look like: what fuses, what is stored, what reuses memory.

use std::sync::Arc;
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_ir::op::{Axes, ReduceOp};
use wootz_ir::{DType, ElementwiseOp, Layout, Shape, build};
use wootz_plan::{Capabilities, Kernel, Place, Plan, Source};

fn leaf(shape: &[usize]) -> NodeRef {
    let layout = Layout::contiguous(&Shape::from(shape));
    Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, DType::F32)
}

fn unary(op: ElementwiseOp, x: &NodeRef) -> NodeRef {
    build::elementwise(op, &[x]).unwrap()
}

fn binary(op: ElementwiseOp, x: &NodeRef, y: &NodeRef) -> NodeRef {
    build::elementwise(op, &[x, y]).unwrap()
}

fn plan(outputs: &[NodeRef]) -> Plan {
    Plan::new(&Trace::of(outputs).graph, &Capabilities::ALL)
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|s| s.label.as_str()).collect()
}

#[test]
fn a_chain_is_one_step_that_reads_each_leaf_once() {
    let (x, y) = (leaf(&[64, 64]), leaf(&[64, 64]));
    let sum = binary(ElementwiseOp::Add, &x, &y);
    let out = binary(ElementwiseOp::Mul, &unary(ElementwiseOp::Exp, &sum), &x);
    let plan = plan(&[out]);
    assert_eq!(labels(&plan), ["add·exp·mul"]);
    assert_eq!(plan.steps[0].epilogue.loads.len(), 2);
    assert_eq!(plan.scratch, 0);
    assert_eq!(plan.step_bytes(&plan.steps[0]), 3 * 64 * 64 * 4);
}

#[test]
fn equal_subexpressions_are_computed_once() {
    let x = leaf(&[16]);
    let a = unary(ElementwiseOp::Exp, &x);
    let b = unary(ElementwiseOp::Exp, &x);
    let plan = plan(&[binary(ElementwiseOp::Add, &a, &b)]);
    assert_eq!(labels(&plan), ["exp·add"]);
    assert_eq!(plan.steps[0].epilogue.program.instrs.len(), 3);
}

#[test]
fn code_fuses_in_front_of_and_behind_kernels() {
    let x = leaf(&[8, 32]);
    let shifted = unary(ElementwiseOp::Exp, &x);
    let sum = build::reduce(ReduceOp::Sum, &shifted, Axes::default().with(1), false).unwrap();
    let sum_plan = plan(&[unary(ElementwiseOp::Log, &sum)]);
    assert_eq!(labels(&sum_plan), ["exp → sum → log"]);
    let (a, b, bias) = (leaf(&[4, 5]), leaf(&[5, 6]), leaf(&[6]));
    let product = build::matmul(&unary(ElementwiseOp::Neg, &a), &b).unwrap();
    let biased = binary(ElementwiseOp::Add, &product, &bias);
    let product_plan = plan(&[unary(ElementwiseOp::Relu, &biased)]);
    assert_eq!(labels(&product_plan), ["neg → matmul → add·relu"]);
}

#[test]
fn expensive_code_is_not_repeated_by_a_broadcast() {
    let x = leaf(&[64, 1]);
    let y = leaf(&[64, 64]);
    let plan = plan(&[binary(ElementwiseOp::Mul, &unary(ElementwiseOp::Exp, &x), &y)]);
    assert_eq!(labels(&plan), ["exp", "mul"]);
    assert!(plan.steps[1].barrier, "the second reads what the first wrote");
}

#[test]
fn views_cost_nothing_and_reshapes_copy_only_where_they_must() {
    let x = leaf(&[4, 6]);
    let transposed = build::permute(&x, &[1, 0]).unwrap();
    let as_view = plan(std::slice::from_ref(&transposed));
    assert!(as_view.steps.is_empty());
    assert_eq!(as_view.outputs[0].layout.strides.as_slice(), [1, 6]);
    let flat = build::reshape(&transposed, &Shape::from([24])).unwrap();
    let moved = plan(&[unary(ElementwiseOp::Neg, &flat)]);
    assert_eq!(labels(&moved), ["copy", "neg"]);
}

#[test]
fn scratch_is_shared_by_values_that_never_meet() {
    let mut x = leaf(&[256, 256]);
    for _ in 0..6 {
        x = build::softmax(&x, -1, false).unwrap();
    }
    let plan = plan(&[x]);
    assert_eq!(plan.steps.len(), 6);
    assert_eq!(plan.scratch, 2 * 256 * 256 * 4);
    assert_eq!(plan.scratch_without_reuse, 5 * 256 * 256 * 4);
    let mut live: Vec<(usize, usize)> = Vec::new();
    for step in &plan.steps {
        for id in step.writes() {
            if let Place::Scratch(offset) = plan.buffers[id as usize].place {
                live.push((offset, plan.buffers[id as usize].bytes));
            }
        }
    }
    assert!(live.windows(2).all(|w| w[0].0 != w[1].0), "a step never writes over its own input");
}

#[test]
fn independent_steps_have_no_barrier_between_them() {
    let (x, y) = (leaf(&[8, 8]), leaf(&[8, 8]));
    let a = build::softmax(&x, -1, false).unwrap();
    let b = build::softmax(&y, -1, false).unwrap();
    let joined = build::concat(&[a.clone(), b.clone()], 0).unwrap();
    let plan = plan(&[a, b, joined]);
    assert_eq!(plan.steps.iter().map(|s| s.barrier).collect::<Vec<_>>()[..2], [false, false]);
    assert!(plan.steps[2].barrier);
}

#[test]
fn a_donated_state_is_written_in_place() {
    let layout = Layout::contiguous(&Shape::from([8, 4]));
    let state = Node::leaf(Leaf { layout, donated: true, payload: Arc::new(()) }, DType::F32);
    let layout = Layout::contiguous(&Shape::from([1]));
    let start = Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, DType::I32);
    let written = build::write_at(&state, &leaf(&[1, 4]), &start, 0).unwrap();
    let in_place = plan(std::slice::from_ref(&written));
    assert_eq!(labels(&in_place), ["write_at"]);
    assert!(matches!(in_place.buffers[in_place.outputs[0].buffer as usize].place, Place::Leaf(_)));
    let also_read = plan(&[written, unary(ElementwiseOp::Neg, &state)]);
    assert!(labels(&also_read).contains(&"copy"), "the old value is asked for too");
}

#[test]
fn iota_is_a_load_without_memory() {
    let row = build::iota(&Shape::from([8, 1])).unwrap();
    let column = build::iota(&Shape::from([1, 8])).unwrap();
    let plan = plan(&[binary(ElementwiseOp::Equal, &row, &column)]);
    assert_eq!(labels(&plan), ["equal"]);
    assert!(plan.steps[0].epilogue.loads.iter().all(|l| l.source == Source::Iota));
}

#[test]
fn positions_beyond_31_bits_are_marked() {
    let x = leaf(&[1 << 20, 1 << 12]);
    let wide = plan(&[unary(ElementwiseOp::Neg, &x)]);
    assert!(wide.steps[0].wide);
    let narrow = plan(&[unary(ElementwiseOp::Neg, &leaf(&[1 << 10, 1 << 12]))]);
    assert!(!narrow.steps[0].wide);
}

#[test]
fn limits_of_a_device_split_steps() {
    let leaves: Vec<NodeRef> = (0..10).map(|_| leaf(&[32])).collect();
    let sum = leaves[1..].iter().fold(leaves[0].clone(), |a, b| binary(ElementwiseOp::Add, &a, b));
    let limits = Capabilities { max_loads: 4, ..Capabilities::ALL };
    let split = Plan::new(&Trace::of(std::slice::from_ref(&sum)).graph, &limits);
    assert!(split.steps.len() > 1);
    assert!(split.steps.iter().all(|s| s.epilogue.loads.len() <= 4));
    let unfused = Plan::new(&Trace::of(&[sum]).graph, &Capabilities::UNFUSED);
    assert_eq!(unfused.steps.len(), 9);
}

#[test]
fn an_op_with_three_operands_fits_however_few_loads_a_device_takes() {
    let condition = binary(ElementwiseOp::Less, &leaf(&[32]), &leaf(&[32]));
    let out = build::elementwise(ElementwiseOp::Where, &[&condition, &leaf(&[32]), &leaf(&[32])]).unwrap();
    let limits = Capabilities { max_loads: 1, ..Capabilities::ALL };
    let plan = Plan::new(&Trace::of(&[out]).graph, &limits);
    assert!(
        plan.steps.iter().all(|s| s.epilogue.loads.len() <= Capabilities::LEAST_LOADS),
        "{}",
        plan.explain()
    );
}

#[test]
fn explanations_name_steps_shapes_and_bytes() {
    let x = leaf(&[8, 32]);
    let out = build::softmax(&unary(ElementwiseOp::Exp, &x), -1, false).unwrap();
    let plan = plan(&[out]);
    let text = plan.explain();
    assert!(
        text.contains("exp → softmax") && text.contains("f32[8, 32]") && text.contains("2.0 KiB"),
        "{text}"
    );
    assert!(text.contains("1 steps"), "{text}");
    let dot = plan.to_dot();
    assert!(dot.starts_with("digraph") && dot.contains("exp → softmax") && dot.contains("leaf 0"), "{dot}");
    assert!(matches!(plan.steps[0].kernel, Kernel::Softmax { log: false }));
}

#[test]
fn nothing_runs_over_empty_values() {
    let empty = leaf(&[2, 0]);
    let sorted = build::sort(&unary(ElementwiseOp::Exp, &empty), 1, false, None).unwrap();
    assert!(plan(std::slice::from_ref(&sorted)).steps.is_empty());
    let sum = build::reduce(ReduceOp::Prod, &sorted, Axes::default().with(1), false).unwrap();
    let filled = plan(&[unary(ElementwiseOp::Neg, &sum)]);
    assert_eq!(labels(&filled), ["prod of nothing", "neg"]);
    assert!(filled.steps.iter().all(|step| step.kernel == Kernel::Map && step.inputs.is_empty()));
    let product = build::matmul(&sorted, &build::permute(&sorted, &[1, 0]).unwrap()).unwrap();
    assert_eq!(labels(&plan(&[product])), ["matmul of nothing"]);
}

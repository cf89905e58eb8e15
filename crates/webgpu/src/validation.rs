//! Every shader that the conformance cases lead to, parsed and validated by naga: no adapter is needed.

use crate::backend::fusion;
use crate::codegen::{Target, Task};
use crate::exec;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_plan::Plan;
use wootz_testkit::{Case, Level, cases};

/// The least that WebGPU promises.
const LEAST: Target =
    Target { max_binding: 128 << 20, max_bindings: 8, max_groups: 65535, subgroups: None, cpu: false };

/// What a GPU of today has, and what a CPU has that plays one.
const GPU: Target = Target { max_bindings: 32, subgroups: Some((32, 64)), ..LEAST };
const CPU: Target = Target { max_bindings: 32, subgroups: Some((8, 8)), cpu: true, ..LEAST };

fn plan(case: &Case, target: &Target) -> Option<Plan> {
    let leaf = |leaf: &wootz_testkit::Leaf| {
        let payload = Arc::new(());
        Node::leaf(Leaf { layout: leaf.layout.clone(), donated: leaf.donated, payload }, leaf.dtype())
    };
    let nodes: Vec<NodeRef> = case.leaves.iter().map(leaf).collect();
    let trace = Trace::of(&[(case.build)(&nodes).expect("cases are well-formed")]);
    let plan = Plan::new(&trace.graph, &fusion(target.max_bindings));
    exec::refused(&plan).is_none().then_some(plan)
}

/// Validates what is new among the shaders of the cases, with the features of the target and no other.
fn validate_all(level: Level, target: &Target) -> usize {
    let mut seen = FxHashSet::default();
    // Families whose variants depend on the adapter and on sizes are tried at all of these.
    let varied = |case: &Case| {
        ["matmul", "attention", "softmax", "rms_norm", "layer_norm", "reduce"].contains(&case.family)
    };
    let full = cases(Level::Full).into_iter().filter(varied);
    for case in cases(level).into_iter().chain(full) {
        let Some(plan) = plan(&case, target) else { continue };
        for (number, step) in plan.steps.iter().enumerate() {
            let task = Task { plan: &plan, step, number, target };
            for dispatch in exec::lower(&task).unwrap_or_else(|e| panic!("{}: {e}", case.name)) {
                if seen.insert(dispatch.source.clone()) {
                    validate(&case.name, &dispatch.source, target);
                }
            }
        }
    }
    seen.len()
}

fn validate(name: &str, source: &str, target: &Target) {
    let module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|e| panic!("{name}: {}\n{source}", e.emit_to_string(source)));
    let flags = naga::valid::ValidationFlags::all();
    let mut allowed = naga::valid::Capabilities::empty();
    allowed.set(naga::valid::Capabilities::SUBGROUP, target.subgroups.is_some());
    let mut validator = naga::valid::Validator::new(flags, allowed);
    if let Err(e) = validator.validate(&module) {
        panic!("{name}: {}\n{source}", e.emit_to_string(source));
    }
}

#[test]
fn shaders_are_valid_without_any_optional_feature() {
    let count = validate_all(Level::Quick, &LEAST);
    assert!(count > 300, "{count}");
}

#[test]
fn shaders_are_valid_with_every_optional_feature() {
    for target in [GPU, CPU] {
        let count = validate_all(Level::Quick, &target);
        assert!(count > 300, "{count}");
    }
}

#[test]
fn shaders_are_valid_with_split_bindings() {
    let target = Target { max_binding: 256, max_bindings: 4096, max_groups: 3, ..LEAST };
    let count = validate_all(Level::Quick, &target);
    assert!(count > 300, "{count}");
}

#[test]
fn shapes_are_data_and_not_text() {
    // The same op over other extents and strides of the same rank makes no new shader.
    let all = cases(Level::Full);
    let mut sources = FxHashSet::default();
    let adds = all.iter().filter(|c| c.name.starts_with("map/add/f32/contiguous/n"));
    let mut shapes = 0;
    for case in adds {
        let plan = plan(case, &LEAST).expect("f32");
        let task = Task { plan: &plan, step: &plan.steps[0], number: 0, target: &LEAST };
        sources.extend(exec::lower(&task).expect("an add").into_iter().map(|d| d.source));
        shapes += 1;
    }
    assert!(shapes > 10, "{shapes}");
    // One element is a rank of its own, and so are whole quads.
    assert!(sources.len() <= 3, "{}", sources.len());
}

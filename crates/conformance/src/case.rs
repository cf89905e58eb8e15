//! A test case: leaves, a graph over them, and the tolerance for its result.

use crate::compare::{Mismatch, compare_scaled};
use crate::leaf::{LayoutClass, Leaf};
use crate::tolerance::Tolerance;
use crate::values::Values;
use std::sync::Arc;
use wootz_ir::graph::{self, Node, NodeRef, Trace};
use wootz_ir::reference::{self, HostTensor};
use wootz_ir::{DType, Layout, Number, Result};

/// Makes an output node from leaf nodes.
pub type Build = Box<dyn Fn(&[NodeRef]) -> Result<NodeRef> + Send + Sync>;

/// The NumPy equivalent, for the oracle.
#[derive(Clone, Debug)]
pub struct Numpy {
    /// An expression over the leaves `a`, `b`, `c`, …
    pub expression: String,
    /// The dtype that leaves are cast to first, except bool conditions.
    pub operands: Option<DType>,
}

/// A conformance case.
pub struct Case {
    /// Unique: `family/op/dtype/layout/…`.
    pub name: String,
    /// The kernel family under test, as the planner names it.
    pub family: &'static str,
    /// The op.
    pub op: &'static str,
    /// The dtype of the most important operand.
    pub dtype: DType,
    /// The memory layout of the leaves.
    pub layout: LayoutClass,
    /// The kind of values in the leaves.
    pub values: Values,
    /// Inputs.
    pub leaves: Vec<Leaf>,
    /// Builds the output node from leaf nodes.
    pub build: Build,
    /// The tolerance for comparing the result with the reference.
    pub tolerance: Tolerance,
    /// Computes the magnitude that [`Tolerance::relative`] is a fraction of, from the absolute values of the float
    /// leaves in f64.
    pub magnitude: Option<Build>,
    /// The NumPy equivalent, if there is one.
    pub numpy: Option<Numpy>,
}

impl Case {
    /// The result of the reference evaluator.
    pub fn expected(&self) -> Result<HostTensor> {
        let tensors: Vec<HostTensor> = self.leaves.iter().map(|leaf| leaf.tensor.clone()).collect();
        Ok(evaluate(&tensors, |nodes| Ok(vec![(self.build)(nodes)?]))?.remove(0))
    }

    /// The magnitude of each element of the result, if the case defines one.
    pub fn magnitudes(&self) -> Result<Option<Vec<f64>>> {
        let Some(build) = &self.magnitude else { return Ok(None) };
        let tensors: Vec<HostTensor> = self.leaves.iter().map(|leaf| absolute(&leaf.tensor)).collect();
        Ok(Some(evaluate(&tensors, |nodes| Ok(vec![build(nodes)?]))?.remove(0).to_f64()))
    }

    /// Compares a device's result with the reference.
    pub fn check(&self, got: &HostTensor) -> std::result::Result<(), Mismatch> {
        self.check_with(got, Leeway::default())
    }

    /// Compares the result of a device with known general differences.
    pub fn check_with(&self, got: &HostTensor, leeway: Leeway) -> std::result::Result<(), Mismatch> {
        let failed = |e: wootz_ir::Error| Mismatch::Failed(format!("the reference: {e}"));
        let mut expected = self.expected().map_err(failed)?;
        if leeway.flushes_subnormals && expected.shape == got.shape {
            flush(&mut expected, got);
        }
        let magnitudes = self.magnitudes().map_err(failed)?;
        compare_scaled(&expected, got, &self.tolerance, magnitudes.as_deref())
    }
}

/// General differences that a device may have wherever it computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leeway {
    /// Results too small for a normal f32 may be zero. (The effects of subnormal operands are a matter of
    /// [exceptions](crate::exceptions): cases with such operands have [`Values::Subnormal`].)
    pub flushes_subnormals: bool,
}

/// Where a device returned zero for a number that is subnormal in f32, expect zero.
fn flush(expected: &mut HostTensor, got: &HostTensor) {
    if !matches!(expected.dtype, DType::F32 | DType::BF16) {
        return;
    }
    for (e, g) in expected.data.iter_mut().zip(&got.data) {
        if g.to_f64() == 0.0 && e.to_f64().abs() < f32::MIN_POSITIVE as f64 {
            *e = *g;
        }
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

fn absolute(tensor: &HostTensor) -> HostTensor {
    if !tensor.dtype.is_float() {
        return tensor.clone();
    }
    let data = tensor.data.iter().map(|n| Number::Float(n.to_f64().abs())).collect();
    HostTensor { shape: tensor.shape.clone(), dtype: DType::F64, data }
}

/// Evaluates a graph over host tensors with the reference evaluator.
pub fn evaluate(
    tensors: &[HostTensor],
    build: impl Fn(&[NodeRef]) -> Result<Vec<NodeRef>>,
) -> Result<Vec<HostTensor>> {
    let nodes: Vec<NodeRef> = tensors
        .iter()
        .map(|tensor| {
            let layout = Layout::contiguous(&tensor.shape);
            Node::leaf(
                graph::Leaf { layout, donated: false, payload: Arc::new(tensor.clone()) },
                tensor.dtype,
            )
        })
        .collect();
    let trace = Trace::of(&build(&nodes)?);
    let leaves: Vec<HostTensor> = trace
        .leaves
        .iter()
        .map(|leaf| leaf.payload.downcast_ref::<HostTensor>().expect("the leaves made above").clone())
        .collect();
    reference::evaluate(&trace.graph, &leaves, &trace.constants)
}

//! Small graphs are computed immediately: no trace, no cache lookup, no plan.
//!
//! The usual checks still hold: nodes were checked when they were built, a device that does not support this
//! declines, leaves are on the device, and an evaluation that faults is repeated with a plan, which reports the step.

use crate::program::injected;
use crate::tensor::Tensor;
use crate::tiny::Tiny;
use crate::value::{Value, value_of};
use std::sync::Arc;
use wootz_backend::Buffer;
use wootz_backend::inject::Point;
use wootz_ir::graph::Leaf;
use wootz_ir::{ElementwiseOp, Layout, Result, SmallGraph, SmallStep};

impl Tensor {
    /// The value of `op` of two tensors that have values; `None` if it needs a plan.
    pub fn binary_now(op: ElementwiseOp, a: &Tensor, b: &Tensor) -> Option<Tensor> {
        if !Tiny::takes(op, a, b) {
            return None;
        }
        let (device, dtype) = (&a.device, a.dtype());
        let step = |tensor: &Tensor| {
            let leaf = |leaf: &Leaf| {
                let buffer = value_of(leaf).ok()?.settled_on(device)?.clone();
                leaf.layout.is_contiguous().then_some(SmallStep::Leaf(buffer, leaf.layout.offset))
            };
            Some((tensor.node.with_value(leaf)??, dtype))
        };
        let steps = [step(a)?, step(b)?, (SmallStep::Elementwise(op, [0, 1, 0]), dtype)];
        let graph = SmallGraph { count: a.count(), steps: steps.into_iter().collect() };
        let buffer = device.backend().run_small(&graph).ok()??;
        device.traffic().add_submit();
        let layout = Layout::contiguous(a.shape());
        Some(Tensor::from_value(Value::new(device.clone(), buffer), layout, dtype, device))
    }
}

/// Computes a tensor if it is small and its device computes such tensors without a plan; returns whether it did.
pub(crate) fn run(tensor: &Tensor) -> Result<bool> {
    let device = &tensor.device;
    // An automatic device chooses by cost, for which it takes a plan.
    if device.candidates().is_some() {
        return Ok(false);
    }
    let bound = |leaf: &Leaf| -> Option<Buffer> {
        let value = value_of(leaf).ok()?;
        (value.device == *device && value.pending().is_none()).then(|| value.bind().clone())
    };
    let Some(graph) = SmallGraph::of(&tensor.node, bound) else { return Ok(false) };
    let Some(buffer) = device.backend().run_small(&graph)? else { return Ok(false) };
    injected(Point::Submit, device)?;
    device.traffic().add_submit();
    let payload = Arc::new(Value::new(device.clone(), buffer));
    tensor.node.fulfil(Leaf { layout: Layout::contiguous(tensor.shape()), donated: false, payload });
    Ok(true)
}

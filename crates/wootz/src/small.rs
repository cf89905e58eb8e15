//! Small graphs are computed at once: no trace, no look into a cache, no plan.
//!
//! The same checks hold as on the road: nodes were checked when they were built, a device without the means declines, leaves are
//! on the device, and what faults is left to the plan, which says where.

use crate::program::injected;
use crate::tensor::Tensor;
use crate::value::{Value, value_of};
use std::sync::Arc;
use wootz_backend::Buffer;
use wootz_backend::inject::Point;
use wootz_ir::graph::Leaf;
use wootz_ir::{Layout, Result, SmallGraph};

/// Gives a tensor its value, if it is small and its device computes such tensors without a plan; returns whether it did.
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

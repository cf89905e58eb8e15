//! Automatic dispatch: choosing the device that runs a graph.
//!
//! A device may run an op family only after the family's cases have passed on it (see [`crate::standing`]). Among the
//! devices that can run the entire plan and have the memory for it, the one with the lowest estimated time wins: a
//! measured cost per submission, per step, per byte, per operation, and per byte of leaves that would have to be
//! moved there first.

use crate::device::Device;
use crate::program::Residence;
use crate::standing::OnProgress;
use std::collections::BTreeSet;
use wootz_ir::graph::Graph;
use wootz_ir::{Error, Result};
use wootz_plan::{Kernel, Plan, Step};

/// The costs of work on a device, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// Per submission.
    pub submit: f64,
    /// Per step.
    pub step: f64,
    /// Per byte that a step reads or writes.
    pub byte: f64,
    /// Per floating-point operation of a matrix product.
    pub flop: f64,
    /// Per byte transferred from or to the host.
    pub transfer: f64,
}

impl CostModel {
    /// The estimated time of a plan whose leaves are in place.
    pub fn estimate(&self, plan: &Plan) -> f64 {
        let step = |step: &Step| {
            let memory = plan.step_bytes(step) as f64 * self.byte;
            self.step + memory.max(step.flops() * self.flop)
        };
        self.submit + plan.steps.iter().map(step).sum::<f64>()
    }
}

/// The estimated cost of a graph on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quote {
    /// Estimated seconds, with leaves in place.
    pub seconds: f64,
    /// Bytes of results and scratch buffers.
    pub bytes: usize,
}

/// The best of `candidates` for a graph with leaves in these locations.
pub(crate) fn choose(candidates: &[Device], graph: &Graph, leaves: &[Residence]) -> Result<Device> {
    let mut best: Option<(f64, &Device)> = None;
    let mut refusals = Vec::new();
    for device in candidates {
        let elsewhere = leaves.iter().filter(|leaf| leaf.device != *device);
        let moved: usize = elsewhere.map(|leaf| leaf.bytes).sum();
        let price = quote(device, graph, moved, &mut |_| {}).and_then(|quote| {
            let costs = device.costs().ok_or("its speed could not be measured")?;
            Ok(quote.seconds + moved as f64 * costs.transfer)
        });
        match price {
            Ok(cost) if best.is_none_or(|(least, _)| cost < least) => best = Some((cost, device)),
            Ok(_) => {}
            Err(reason) => refusals.push(format!("{device}: {reason}")),
        }
    }
    best.map(|(_, device)| device.clone()).ok_or_else(|| {
        Error::device("auto", format!("no device can run this graph ({})", refusals.join("; ")))
    })
}

/// The cost of a graph on a device that has all of its leaves except for `moved` bytes, or why the device cannot run
/// it.
pub(crate) fn quote(
    device: &Device,
    graph: &Graph,
    moved: usize,
    on_progress: &mut OnProgress<'_>,
) -> std::result::Result<Quote, String> {
    let plan = &*device.programs().plan(device, graph).map_err(|error| error.to_string())?;
    let mut families: BTreeSet<&'static str> = BTreeSet::new();
    for step in &plan.steps {
        match &step.kernel {
            // Only its author knows what a custom kernel should compute.
            Kernel::Custom(kernel) if device.backend().runs_custom(kernel) => {}
            Kernel::Custom(kernel) => return Err(format!("{} has no implementation for it", kernel.name())),
            kernel => {
                families.insert(kernel.name());
            }
        }
    }
    for family in families {
        device.prove(family, on_progress)?;
    }
    let bytes = plan.results.iter().sum::<usize>() + plan.scratch;
    let free = device.info().memory_limit.saturating_sub(device.memory().live);
    if bytes.saturating_add(moved) > free {
        let mib = |bytes: usize| bytes.div_ceil(1 << 20);
        return Err(format!("{} MiB are needed, but only {} MiB are free", mib(bytes + moved), mib(free)));
    }
    let costs = device.costs().ok_or("its speed could not be measured")?;
    Ok(Quote { seconds: costs.estimate(plan), bytes })
}

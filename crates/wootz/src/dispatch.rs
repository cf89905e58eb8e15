//! Automatic dispatch: which device runs a plan.
//!
//! A device may run an op family only after the family's cases passed on it (the quick level of [`crate::check`], run at first
//! use). Among the devices that may run the whole plan, the one with the least estimated time wins: a measured cost for each
//! submission, each step, each byte, each operation, and each byte of leaves that would have to be moved there first.

use crate::calibrate::Calibration;
use crate::check::{CheckReport, Level, check};
use crate::device::Device;
use crate::eval::{Value, value_of};
use std::collections::BTreeSet;
use wootz_ir::graph::{Leaf, Trace};
use wootz_ir::{Error, Result};
use wootz_plan::{Kernel, Plan, Step};

/// What work costs on a device, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// Per submission.
    pub submit: f64,
    /// Per step.
    pub step: f64,
    /// Per byte that a step reads or writes.
    pub byte: f64,
    /// Per floating-point operation of a product.
    pub flop: f64,
    /// Per byte brought from or to the host.
    pub transfer: f64,
}

impl CostModel {
    /// The estimated time of a plan whose leaves are in place.
    pub fn estimate(&self, plan: &Plan) -> f64 {
        let step = |step: &Step| {
            let memory = plan.step_bytes(step) as f64 * self.byte;
            self.step + memory.max(flops(step) * self.flop)
        };
        self.submit + plan.steps.iter().map(step).sum::<f64>()
    }
}

/// Multiply-adds of products, counted twice each; other kernels are bound by memory.
pub(crate) fn flops(step: &Step) -> f64 {
    match step.kernel {
        Kernel::Matmul { batch, m, n, k } => 2.0 * (batch * m * n) as f64 * k as f64,
        Kernel::QuantMatmul { .. } => {
            2.0 * step.input_shapes[0].count() as f64
                * step.input_shapes[1].first().copied().unwrap_or(0) as f64
        }
        Kernel::Attention(_) => 4.0 * step.shape.count() as f64 * step.input_shapes[1][2] as f64,
        _ => 0.0,
    }
}

/// What a device has proven and costs, found out at first need.
#[derive(Default)]
pub(crate) struct Standing {
    report: std::sync::OnceLock<CheckReport>,
    costs: std::sync::OnceLock<Option<CostModel>>,
}

impl Standing {
    /// A device whose costs are known beforehand.
    pub fn with_costs(costs: CostModel) -> Standing {
        let standing = Standing::default();
        let _ = standing.costs.set(Some(costs));
        standing
    }

    pub fn report(&self, device: &Device) -> &CheckReport {
        self.report.get_or_init(|| check(device, Level::Quick, |_, _| {}))
    }

    pub fn costs(&self, device: &Device) -> Option<&CostModel> {
        self.costs.get_or_init(|| Calibration::of(device).ok().map(|c| c.costs)).as_ref()
    }
}

/// The best of `candidates` for a graph and where its leaves are.
pub(crate) fn choose(candidates: &[Device], trace: &Trace) -> Result<Device> {
    let mut best: Option<(f64, &Device)> = None;
    let mut refusals = Vec::new();
    for device in candidates {
        match price(device, trace)? {
            Ok(cost) if best.is_none_or(|(least, _)| cost < least) => best = Some((cost, device)),
            Ok(_) => {}
            Err(reason) => refusals.push(format!("{device}: {reason}")),
        }
    }
    best.map(|(_, device)| device.clone()).ok_or_else(|| Error::Device {
        device: "auto".into(),
        detail: format!("no device can run this graph ({})", refusals.join("; ")),
    })
}

/// The estimated time on a device with all transfers, or why it may not run the graph.
fn price(device: &Device, trace: &Trace) -> Result<std::result::Result<f64, String>> {
    let backend = device.backend();
    for node in &trace.graph.nodes {
        if let Some(reason) = backend.refuses(node.dtype) {
            return Ok(Err(format!("{} is not available ({reason})", node.dtype)));
        }
    }
    let plan = &*device.cache().plan(device, &trace.graph);
    let standing = device.standing();
    let report = standing.report(device);
    let mut families: BTreeSet<&str> = plan.steps.iter().map(|s| s.kernel.name()).collect();
    // Nobody but its writer can say what a user's kernel should give.
    families.remove("custom");
    for step in &plan.steps {
        if let Kernel::Custom(kernel) = &step.kernel
            && !backend.runs_custom(kernel)
        {
            return Ok(Err(format!("{} is not written for it", kernel.name())));
        }
    }
    if let Some(family) = families.into_iter().find(|family| !report.is_valid(family)) {
        return Ok(Err(format!("{family} did not pass its checks")));
    }
    let Some(costs) = standing.costs(device) else {
        return Ok(Err("its speed could not be measured".into()));
    };
    let mut moved = 0;
    for leaf in &trace.leaves {
        moved += if is_on(leaf, device)? { 0 } else { value_of(leaf)?.buffer.len() };
    }
    Ok(Ok(costs.estimate(plan) + moved as f64 * costs.transfer))
}

fn is_on(leaf: &Leaf, device: &Device) -> Result<bool> {
    let Value { device: home, .. } = value_of(leaf)?;
    Ok(home == device)
}

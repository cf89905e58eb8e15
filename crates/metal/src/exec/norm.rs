//! RMS and layer norm along rows.

use super::{Launches, rows};
use crate::driver::Facts;
use crate::source::kernels;
use wootz_ir::Result;
use wootz_ir::op::Bits;
use wootz_plan::Step;

pub fn launches(step: &Step, facts: &Facts, eps: Bits, layer: bool) -> Result<Launches> {
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let mut launch = rows::launch(step, facts, kernels!("lanes", "norm"), ("norm_held", "norm_walked"))?;
    launch.dims.push(u64::from((eps.get() as f32).to_bits()));
    let switches = [("LAYER", layer), ("WEIGHT", step.inputs.len() > 1), ("BIAS", step.inputs.len() > 2)];
    for (name, _) in switches.into_iter().filter(|(_, on)| *on) {
        launch = launch.define(name, 1);
    }
    Ok(launch.alone())
}

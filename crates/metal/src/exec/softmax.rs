//! Softmax and its logarithm along rows.

use super::{Launches, rows};
use crate::driver::Facts;
use crate::source::kernels;
use wootz_ir::Result;
use wootz_plan::Step;

pub fn launches(step: &Step, facts: &Facts, log: bool) -> Result<Launches> {
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let launch = rows::launch(step, facts, kernels!("lanes", "softmax"), ("softmax_held", "softmax_walked"))?;
    Ok(if log { launch.define("LOG", 1) } else { launch }.alone())
}

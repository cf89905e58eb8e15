//! User-defined MSL: operands at buffers 0, 1, …, the result after them.

use super::{Launch, Launches, refuse};
use crate::driver::{Constant, ConstantKey, Facts};
use std::sync::Arc;
use wootz_ir::custom::Language;
use wootz_ir::{CustomKernel, Number, Result};
use wootz_plan::Step;

pub fn launches(step: &Step, facts: &Facts, kernel: &Arc<CustomKernel>) -> Result<Launches> {
    let Some(source) = kernel.source(Language::Msl) else {
        return Err(kernel.unavailable("metal", step.dtype));
    };
    if step.shape.count() == 0 || source.grid.contains(&0) {
        return Ok(Launches::default());
    }
    let mut launch = Launch::new(&[], "custom");
    let limit = facts.max_threads as usize;
    if source.group.contains(&0) || source.group.iter().product::<usize>() > limit {
        let reason = format!("threadgroups of {:?} threads; must be 1 to {limit}", source.group);
        return refuse(step, facts, &reason);
    }
    if source.grid.iter().any(|&n| n > u32::MAX as usize) {
        return refuse(step, facts, &format!("a grid of {:?} threads is too large", source.grid));
    }
    launch.groups = source.grid.map(|n| n as u32);
    launch.threads = source.group.map(|n| n as u32);
    launch.constants =
        source.constants.iter().map(|(name, n)| (ConstantKey::Name(name.clone()), constant(*n))).collect();
    launch.custom = Some(kernel.clone());
    Ok(launch.alone())
}

/// A number as a function constant of its kind: `bool`, `int`, `uint` or `float`.
fn constant(n: Number) -> Constant {
    match n {
        Number::Bool(b) => Constant::Bool(b),
        Number::Int(i) => Constant::Int(i as i32),
        Number::Uint(u) => Constant::Uint(u as u32),
        Number::Float(f) => Constant::Float(f as f32),
    }
}

//! User-defined kernels: their text unchanged, bindings in the order of the operands, the result last.

use super::Launches;
use crate::codegen::{Launch, StorageBinding, Task, UserKernel};
use crate::device::failure;
use wootz_gpu::{Access, Bound};
use wootz_ir::Result;
use wootz_ir::custom::{CustomKernel, Language};
use wootz_plan::Source;

pub fn launches(task: &Task<'_>, kernel: &CustomKernel) -> Result<Launches> {
    let step = task.step;
    let source = kernel.source(Language::Wgsl).ok_or_else(|| kernel.unavailable(crate::NAME, step.dtype))?;
    if step.shape.count() == 0 {
        return Ok(Launches::default());
    }
    let mut bindings = Vec::with_capacity(step.inputs.len() + 1);
    for input in &step.inputs {
        let Source::Buffer(id) = input.loads[0].source else {
            unreachable!("inputs of a user's kernel are plain")
        };
        bindings.push(bind(task, id, Access::Read)?);
    }
    bindings.push(bind(task, step.stores[0].buffer, Access::Write)?);
    let groups: [usize; 3] =
        std::array::from_fn(|axis| source.grid[axis].div_ceil(source.group[axis].max(1)));
    let (most, limit) = (groups.iter().max().copied().unwrap_or(0), task.facts.max_groups);
    if most > limit as usize {
        let name = kernel.name();
        return Err(failure(format!(
            "{name}: a grid of {most} workgroups along an axis exceeds the limit of {limit}"
        )));
    }
    let constants = source.constants.iter().map(|(name, value)| (name.clone(), value.to_f64())).collect();
    Ok(Launch {
        source: source.text.clone(),
        entry: source.entry.clone().into(),
        bindings,
        uniform: vec![],
        params: vec![],
        groups: groups.map(|g| g as u32),
        user: Some(UserKernel { constants }),
    }
    .into())
}

fn bind(task: &Task<'_>, id: u32, access: Access) -> Result<StorageBinding> {
    let bytes = task.plan.buffers[id as usize].bytes.next_multiple_of(4).max(4);
    if bytes > task.facts.max_binding {
        let limit = task.facts.max_binding;
        let detail =
            format!("{}: an operand of {bytes} bytes exceeds the binding limit of {limit}", task.step.label);
        return Err(failure(detail));
    }
    Ok(StorageBinding { bound: Bound::Plan(id), offset: 0, bytes, read_only: access == Access::Read })
}

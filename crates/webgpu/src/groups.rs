//! Bind groups by what they bind. A plan that runs again mostly gets the same memory from the pool, and then needs no new
//! group. (Command buffers are for one submission only: WebGPU has no way to keep those.)

use crate::device::{Gpu, failure};
use crate::memory::GpuMemory;
use crate::pipelines::Pipeline;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use wootz_ir::Result;

/// Groups kept at most; beyond it all are forgotten, which costs what the first run cost.
const MOST: usize = 8192;

/// A range of memory at a binding.
pub(crate) struct Slot<'a> {
    pub binding: usize,
    pub memory: &'a GpuMemory,
    pub offset: usize,
    pub bytes: usize,
}

/// The groups of a device. A group keeps the buffers that it binds alive: when any block of memory is freed all groups are
/// forgotten, so that freed memory is free.
#[derive(Default)]
pub(crate) struct Groups {
    kept: Mutex<FxHashMap<Vec<u64>, wgpu::BindGroup>>,
}

impl Groups {
    /// Forgets every group.
    pub fn forget(&self) {
        let forgotten = std::mem::take(&mut *self.kept.lock());
        drop(forgotten);
    }

    /// How many are kept.
    pub fn count(&self) -> usize {
        self.kept.lock().len()
    }

    /// The groups of launches, each a pipeline and what it is bound to.
    pub fn get(
        &self,
        gpu: &Gpu,
        launches: &[(&Arc<Pipeline>, Vec<Slot<'_>>)],
    ) -> Result<Vec<wgpu::BindGroup>> {
        let keys: Vec<Vec<u64>> = launches.iter().map(|(pipeline, slots)| key(pipeline, slots)).collect();
        let mut found: Vec<Option<wgpu::BindGroup>> = {
            let kept = self.kept.lock();
            keys.iter().map(|key| kept.get(key).cloned()).collect()
        };
        if found.iter().any(Option::is_none) {
            for (_, slots) in launches {
                slots.iter().try_for_each(check)?;
            }
            gpu.guarded("binding buffers", || {
                for (group, (pipeline, slots)) in found.iter_mut().zip(launches) {
                    group.get_or_insert_with(|| make(&gpu.device, pipeline, slots));
                }
            })?;
            let mut kept = self.kept.lock();
            if kept.len() + keys.len() > MOST {
                kept.clear();
            }
            kept.extend(keys.into_iter().zip(&found).filter_map(|(key, group)| Some((key, group.clone()?))));
        }
        Ok(found.into_iter().flatten().collect())
    }
}

fn key(pipeline: &Pipeline, slots: &[Slot<'_>]) -> Vec<u64> {
    let mut key = Vec::with_capacity(1 + 4 * slots.len());
    key.push(pipeline.id);
    for slot in slots {
        key.extend([slot.binding as u64, slot.memory.id(), slot.offset as u64, slot.bytes as u64]);
    }
    key
}

fn check(slot: &Slot<'_>) -> Result<()> {
    let size = slot.memory.raw().size() as usize;
    let (offset, bytes) = (slot.offset, slot.bytes);
    if offset + bytes > size {
        return Err(failure(format!("cannot bind {bytes} bytes at offset {offset} of a buffer of {size}")));
    }
    Ok(())
}

fn make(device: &wgpu::Device, pipeline: &Pipeline, slots: &[Slot<'_>]) -> wgpu::BindGroup {
    let entries: Vec<wgpu::BindGroupEntry<'_>> = slots
        .iter()
        .map(|slot| wgpu::BindGroupEntry {
            binding: slot.binding as u32,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: slot.memory.raw(),
                offset: slot.offset as u64,
                size: NonZeroU64::new(slot.bytes as u64),
            }),
        })
        .collect();
    let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &pipeline.layout, entries: &entries };
    device.create_bind_group(&descriptor)
}
